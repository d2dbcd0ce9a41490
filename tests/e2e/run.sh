#!/usr/bin/env bash
# A real cluster on one machine: weft's flanneld among upstream's, all behind a real API server.
#   tests/e2e/run.sh [--list] [--subject=weft|upstream] [NAME...]      WEFT_BUILD: the build folder, default build/dev
# Logs: build/logs/e2e.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [[ " $* " != *" --list "* ]]; then
  [ "$(id -u)" = 0 ] || { echo "tests/e2e: needs root (network namespaces)" >&2; exit 1; }
  "$here/../../cmake/bootstrap.sh" netns peers windows
  cd "$here/../.."
  [ -f build/windows/build.ninja ] || cmake --preset windows >/dev/null  # for the programs under Wine
  cmake --build --preset windows --target hns_dlls flanneld | tail -n 1
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/suite.py" "$@"
