#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that hvsim is built from, if any is missing.
#   tools/deps.sh [--tests]     --tests: also what the tests need
set -euo pipefail

packages=(
  g++ cmake ninja-build
  libboost-context-dev libcli11-dev libfmt-dev libspdlog-dev libyaml-cpp-dev
  librandom123-dev nlohmann-json3-dev
)
case "${1-}" in
  "") ;;
  --tests) packages+=(catch2 clang) ;;
  *)
    echo "usage: tools/deps.sh [--tests]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "tools/deps.sh: not a Debian system; expecting these or their like: ${packages[*]}" >&2
  exit 0
fi

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -ne 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "tools/deps.sh: neither root nor sudo; please install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing ${missing[*]}" >&2
{
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
} </dev/null >&2
