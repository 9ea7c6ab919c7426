#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages, builds, runs every test, checks the configs and the determinism of
# results over compilers.
#   tools/test.sh [CTEST-OPTION...]     for example: tools/test.sh -R mmu
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

tools/deps.sh --tests
tools/build.sh release -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON -- all
hvsim=build/release/tools/hvsim

echo "== tests"
ctest --test-dir build/release --no-tests=error --output-on-failure --parallel "$(nproc)" \
  "$@" </dev/null 2>&1 | tee build/ctest.log

if [ $# -eq 0 ]; then
  echo "== configs"
  "$hvsim" validate configs
  if [ -d configs/examples ]; then
    "$hvsim" --progress never check configs/examples
  fi
  echo "== determinism"
  tools/determinism.sh
fi

grep -E 'tests passed|Total Test time' build/ctest.log
