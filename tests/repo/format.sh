#!/usr/bin/env bash
# Every C++ file is as clang-format 14 leaves it. `tests/repo/format.sh --fix` makes it so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

sources() { find vxlan dataplane hns control bench tests \( -name '*.h' -o -name '*.cc' \) -print0 2>/dev/null || true; }

if [ "${1:-}" = --fix ]; then
  sources | xargs -0 -r clang-format-14 -i
  exit
fi
# Debian 13 has no clang-format 14, and another formats otherwise: there it is skipped, as tests/skips.txt says.
! grep -q '^VERSION_CODENAME=trixie$' /etc/os-release || exit 77
command -v clang-format-14 >/dev/null || { echo "clang-format-14 not found; run: cmake/bootstrap.sh test" >&2; exit 1; }
unformatted=$(sources | xargs -0 -r -P 2 -n 40 clang-format-14 --dry-run 2>&1 | sed -nE 's/^([^:]+):[0-9]+:.*/\1/p' | uniq -c | sort -k2)
[ -n "$unformatted" ] || exit 0
echo "$unformatted"
echo "places that clang-format would change; run: tests/repo/format.sh --fix"
exit 1
