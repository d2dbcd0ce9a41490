#!/usr/bin/env bash
# Every C++ file is as clang-format 14 leaves it. `tests/repo/format.sh --fix` makes it so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || mode=(-i)
find vxlan dataplane hns control bench tests \( -name '*.h' -o -name '*.cc' \) -print0 2>/dev/null |
  xargs -0 -r -P 2 -n 40 clang-format-14 "${mode[@]}"
