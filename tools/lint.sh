#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks how the sources are written: clang-format 14 and shellcheck, where they are installed.
#   tools/lint.sh [--fix]            --fix: reformat instead of complaining
#   tools/lint.sh --tidy FILE...     clang-tidy 14 on some files (needs build/release)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Versions of clang-format disagree, so only this one counts.
formatter=
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
    formatter=$candidate
    break
  fi
done

if [ "${1-}" = --tidy ]; then
  shift
  tools/build.sh release -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -- hvsim
  exec clang-tidy -p build/release --quiet "$@"
fi

mapfile -t sources < <(find guest_workloads mmu sim tests tools vcpu -name '*.[ch]pp' | sort)
failed=0
if [ -z "$formatter" ]; then
  echo "clang-format 14 is not installed: formatting not checked"
elif [ "${1-}" = --fix ]; then
  "$formatter" -i "${sources[@]}"
else
  "$formatter" --dry-run --Werror "${sources[@]}" || failed=1
fi
if command -v shellcheck >/dev/null; then
  shellcheck -x tools/*.sh .ci/run || failed=1
else
  echo "shellcheck is not installed: scripts not checked"
fi
exit "$failed"
