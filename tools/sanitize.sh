#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds test programs with sanitizers and the checks of HVSIM_CHECKED, and runs them.
#   tools/sanitize.sh address [ROOM[=CATCH-FILTER]...]   AddressSanitizer, UBSan, leaks
#   tools/sanitize.sh thread [ROOM[=CATCH-FILTER]...]    ThreadSanitizer
# Without rooms: all test programs that belong to the sanitizer.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
kind=${1:?usage: tools/sanitize.sh address|thread [ROOM[=FILTER]...]}
shift
case $kind in
  address)
    flags=address,undefined
    rooms=(engine sync machine sched mmu check guest hypervisor workloads scenario report experiment golden)
    ;;
  thread)
    # Host threads run engines of their own; what a fiber does is one host thread's business.
    flags=thread
    rooms=(engine check='[threads]' experiment)
    ;;
  *)
    echo "sanitize.sh: no sanitizer '$kind'" >&2
    exit 2
    ;;
esac
if [ $# -gt 0 ]; then rooms=("$@"); fi

# gcc 12 with sanitizers has false alarms about strings, so a warning is no error here.
names=("${rooms[@]%%=*}")
tools/build.sh "sanitize-$kind" -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=-O1 -g1" \
  "-DHVSIM_SANITIZE=$flags" -DHVSIM_CHECKED=ON -DHVSIM_WERROR=OFF -DBUILD_TESTING=ON \
  -- "${names[@]/#/hvsim_test_}"

# Fibers end while frames of theirs still stand, so frames must not move to the heap.
export ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
for room in "${rooms[@]}"; do
  program=build/sanitize-$kind/tests/hvsim_test_${room%%=*}
  echo "== $kind: $room"
  if [ "${room%%=*}" = "$room" ]; then
    "$program" </dev/null
  else
    "$program" "${room#*=}" </dev/null
  fi
done
