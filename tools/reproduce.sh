#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a clean machine to the published comparison: installs missing packages, builds, runs every
# cell for both placements with five seeds, prints the tables and writes out/.
#   tools/reproduce.sh [OPTION...]     options go to `hvsim reproduce` and win over the defaults,
#                                      for example: --seeds 1 --placement compact
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

given() {
  local name=$1 word
  shift
  for word in "$@"; do
    case "$word" in "$name" | "$name"=*) return 0 ;; esac
  done
  return 1
}

# One seed leaves nothing to compare at another size.
one_seed() {
  case " $* " in *" --seeds 1 "* | *" --seeds=1 "*) return 0 ;; esac
  return 1
}

defaults=()
given --placement "$@" || defaults+=(--placement "compact,spread")
given --seeds "$@" || defaults+=(--seeds 5)
one_seed "$@" || given --seed-scale "$@" || defaults+=(--seed-scale 64)
given -o "$@" || given --output "$@" || defaults+=(--output out)

tools/deps.sh
tools/build.sh release -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -- hvsim
exec build/release/tools/hvsim -v reproduce stage2-parallel-faults "${defaults[@]}" "$@"
