#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds into a folder of its own below build/.
#   tools/build.sh NAME [CMAKE-OPTION...] -- TARGET...
# CXX picks the compiler; ccache is used where it is installed, precompiled headers where it is not.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
name=${1:?usage: tools/build.sh NAME [CMAKE-OPTION...] -- TARGET...}
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  options+=("$1")
  shift
done
[ "${1-}" != -- ] || shift
if command -v ccache >/dev/null && [ -z "${CCACHE_DISABLE-}" ]; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
else
  options+=(-DHVSIM_PCH=ON)
fi

folder=$root/build/$name
mkdir -p "$folder"
if ! cmake -S "$root" -B "$folder" -G Ninja "${options[@]}" >"$folder/configure.log" 2>&1 </dev/null; then
  cat "$folder/configure.log" >&2
  exit 1
fi
cmake --build "$folder" --parallel "$(nproc)" --target "$@" </dev/null >&2
