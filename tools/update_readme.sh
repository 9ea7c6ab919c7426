#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites the figures of the README from real runs: tables, plots, what limits, what-ifs.
#   tools/update_readme.sh [DIR]     DIR: what `hvsim reproduce stage2-parallel-faults` wrote with
#                                    --output DIR; without it tools/reproduce.sh runs first
# HVSIM names the program for the what-ifs (default: build/release/tools/hvsim). README names a copy
# to rewrite instead, which may be made from runs of a reduced size; plots then stay as they are.
# Needs python3.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${1:-$root/out}
if [ $# -eq 0 ]; then
  "$root/tools/reproduce.sh" >/dev/null
fi
hvsim=${HVSIM:-$root/build/release/tools/hvsim}

readme=${README:-$root/README.md}

what_if() {
  local scenario=$1 vcpus=$2
  shift 2
  "$hvsim" --progress never compare "published/scenarios/$scenario" --format csv \
    --set workload.bytes_per_vcpu=256MiB --set "hypervisor.kernel=linux-5.18-rc2+parallel-rfc" \
    --vary "vm.vcpus=$vcpus" --metric time.dirty2 "$@"
}
answers=$(mktemp -d)
trap 'rm -rf "$answers"' EXIT
for pass in stage2-parallel-faults:1,16,48 permission-fast-path:1,16,64; do
  scenario=${pass%%:*}
  vcpus=${pass##*:}
  what_if "$scenario" "$vcpus" --vary hypervisor.mmap_lock=true,false \
    >"$answers/$scenario.mmap_lock.csv"
  what_if "$scenario" "$vcpus" --vary hypervisor.relax_tlbi=broadcast,local \
    >"$answers/$scenario.relax_tlbi.csv"
done

python3 "$root/tools/update_readme.py" "$readme" "$dir" "$answers"
if [ "$readme" -ef "$root/README.md" ]; then
  mkdir -p "$root/docs/img"
  cp "$dir/dirty_log_time_s.svg" "$root/docs/img/dirty_log.svg"
  cp "$dir/prefault_time_s.svg" "$root/docs/img/prefault.svg"
fi
