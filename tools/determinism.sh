#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds hvsim by several compilers and optimisation levels, runs a small scenario with each, alone
# and two at a time, and fails unless every result is byte-identical outside its provenance block.
#   tools/determinism.sh [--all]     --all: every compiler at -O0 and -O3; otherwise gcc at both,
#                                    clang (where installed) at -O3
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scenario=tests/baseline/determinism.yaml
results=build/determinism
mkdir -p "$results"

kinds=(g++:-O0 g++:-O3)
if command -v clang++ >/dev/null; then
  kinds+=(clang++:-O3)
  [ "${1-}" != --all ] || kinds+=(clang++:-O0)
fi

# The provenance block is the last member of the document, so what precedes it is all the rest.
without_provenance() {
  sed -e '/^ *"provenance": {$/,$d' "$1"
}

failed=0
reference=
compare() {
  local name=$1
  without_provenance "$results/$name.json" >"$results/$name.bare"
  if [ ! -s "$results/$name.bare" ]; then
    echo "$name: no result" >&2
    failed=1
  elif [ -z "$reference" ]; then
    reference=$results/$name.bare
    echo "$name: reference ($(grep -o '0x[0-9a-f]*' "$reference" | head -n 1))"
  elif cmp "$reference" "$results/$name.bare"; then
    echo "$name: identical"
  else
    failed=1
  fi
}

for kind in "${kinds[@]}"; do
  compiler=${kind%%:*}
  level=${kind##*:}
  name=$compiler$level
  # Release is -O3: the folder that the tests use.
  if [ "$name" = g++-O3 ] && [ -z "${CXX-}" ]; then
    folder=release
    tools/build.sh release -DCMAKE_BUILD_TYPE=Release -- hvsim
  else
    folder=$name
    CXX=$compiler tools/build.sh "$folder" -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=$level" \
      -DBUILD_TESTING=OFF -- hvsim
  fi
  hvsim=build/$folder/tools/hvsim
  "$hvsim" run "$scenario" --format json >"$results/$name.json"
  compare "$name"
  # The same runs one after the other and two at a time.
  for jobs in 1 2; do
    "$hvsim" --progress never compare "$scenario" --vary vm.vcpus=1,4 \
      --vary hypervisor.kernel=linux-5.18-rc2,linux-5.18-rc2+parallel-rfc,linux-6.12 \
      --metric total_time,faults,fault_latency.p99,lock.mmu_lock.total_wait \
      --jobs "$jobs" --format json >"$results/$name.jobs$jobs.json"
  done
  if ! cmp "$results/$name.jobs1.json" "$results/$name.jobs2.json" ||
    ! cmp "$results/${kinds[0]%%:*}${kinds[0]##*:}.jobs1.json" "$results/$name.jobs1.json"; then
    failed=1
  fi
done
exit "$failed"
