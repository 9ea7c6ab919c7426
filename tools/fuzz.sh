#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets with clang, AddressSanitizer and UBSan and runs each for some seconds.
#   tools/fuzz.sh [SECONDS [TARGET...]]     for example: tools/fuzz.sh 60 scenario units
# New inputs go to build/fuzz/corpus; a find is printed with the file that shows it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  targets=(scenario machine sets units trace ftrace published baseline)
fi

CXX=clang++ tools/build.sh fuzz -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=-O1 -g1" \
  -DHVSIM_FUZZ=ON -DHVSIM_SANITIZE=address,undefined -DBUILD_TESTING=ON \
  -- "${targets[@]/#/fuzz_}"

declare -A more=([scenario]=tests/scenario/bad [published]=configs/published
  [baseline]=tests/baseline [trace]=configs/examples)
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target" build/fuzz/finds
  seeds=("tests/fuzz/corpus/$target")
  if [ -n "${more[$target]-}" ]; then seeds+=("${more[$target]}"); fi
  echo "== $target"
  "build/fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=16384 -timeout=20 \
    -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="build/fuzz/finds/$target-" "build/fuzz/corpus/$target" "${seeds[@]}" \
    </dev/null
done
