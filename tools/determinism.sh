#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what decides results with several compilers and levels of optimisation, runs small
# scenarios with each, and fails unless all results are byte-identical. Then the same for one run
# and two runs at a time.
#   tools/determinism.sh [--all]     --all: every compiler at -O0 and -O3; otherwise gcc at -O3 and
#                                    clang at -O0, or gcc at both where clang is not installed
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
results=build/determinism
mkdir -p "$results"

if ! command -v clang++ >/dev/null; then
  kinds=(g++:-O3 g++:-O0)
elif [ "${1-}" = --all ]; then
  kinds=(g++:-O3 g++:-O0 clang++:-O3 clang++:-O0)
else
  kinds=(g++:-O3 clang++:-O0)
fi
kernels=(linux-5.17 linux-5.18-rc2 linux-5.18-rc2+parallel-rfc linux-6.1 linux-6.2 linux-6.12)

failed=0
for kind in "${kinds[@]}"; do
  compiler=${kind%%:*}
  level=${kind##*:}
  if [ "$kind" = g++:-O3 ] && [ -z "${CXX-}" ]; then
    # Release is -O3: the folder that the tests use.
    folder=release
    tools/build.sh "$folder" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON -- hvsim_run_scenario
  else
    folder=$compiler$level
    CXX=$compiler tools/build.sh "$folder" -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=$level" \
      -DBUILD_TESTING=ON -- hvsim_run_scenario
  fi
  for kernel in "${kernels[@]}"; do
    "build/$folder/tests/hvsim_run_scenario" configs tests/baseline/determinism.yaml \
      "hypervisor.kernel=$kernel" >"$results/$kind.$kernel.json"
    cmp "$results/${kinds[0]}.$kernel.json" "$results/$kind.$kernel.json" || failed=1
  done
  echo "$compiler $level: $(grep -h '"fingerprint"' "$results/$kind".*.json | tr -d ' \n')"
done

tools/build.sh release -DCMAKE_BUILD_TYPE=Release -- hvsim
for jobs in 1 2; do
  build/release/tools/hvsim --progress never compare tests/baseline/determinism.yaml \
    --vary vm.vcpus=1,4 --vary "hypervisor.kernel=$(IFS=, && echo "${kernels[*]}")" \
    --metric total_time,faults,fault_latency.p99,lock.mmu_lock.total_wait \
    --jobs "$jobs" --format json >"$results/jobs$jobs.json"
done
cmp "$results/jobs1.json" "$results/jobs2.json" || failed=1
[ "$failed" -ne 0 ] || echo "identical: ${kinds[*]}, jobs 1 and 2"
exit "$failed"
