#!/usr/bin/env bash
# Packages made twice, from two clones in different folders, once without the compiler cache: the same bytes; then what is in them
#   tests/soak/package.sh [--short]     --short: packs what build/release and build/windows hold, twice
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake/bootstrap.sh build windows package image >&2
work=$(mktemp -d "${TMPDIR:-/var/tmp}/weft-package-XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ "${1:-}" = --short ]; then
  linux=$PWD/build/release windows=$PWD/build/windows
  deploy/package.sh --no-build --output="$work/one/dist" >&2
  (umask 077 && TZ=Asia/Kolkata LC_ALL=C.UTF-8 deploy/package.sh --no-build --output="$work/two/dist" >&2)
else
  # In folders of different depth. ccache gives the compiler other names of the same files.
  git clone -q --no-hardlinks . "$work/one"
  git clone -q --no-hardlinks . "$work/two/below"
  "$work/one/deploy/package.sh" >&2
  CCACHE_DISABLE=1 "$work/two/below/deploy/package.sh" >&2
  mv "$work/two/below/dist" "$work/two/dist"
  linux=$work/one/build/release windows=$work/one/build/windows
fi
PYTHONDONTWRITEBYTECODE=1 python3 tests/soak/package_checks.py "$work/one/dist" "$work/two/dist" "$linux" "$windows"
