#!/usr/bin/env bash
# What the packages link, beside the newest source packages of the distribution with its security updates: none of it is older
#   tests/soak/security.sh [SPDX]        SPDX: the bill of materials of packages made before; else they are made here
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d "${TMPDIR:-/var/tmp}/weft-security-XXXXXX")
trap 'rm -rf "$work"' EXIT
bill=${1:-}
if [ -z "$bill" ]; then
  deploy/package.sh --output="$work/dist" >&2
  bill=$(echo "$work"/dist/*.spdx.json)
fi
python3 - "$bill" >"$work/linked" <<'PYTHON'
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    packages = json.load(file)["packages"]
print(*sorted({found[1] for each in packages if (found := re.search(r"source package (\S+ \S+)$", each["sourceInfo"]))}), sep="\n")
PYTHON
[ -s "$work/linked" ] || { echo "tests/soak/security: $bill names no source package" >&2; exit 1; }
cut -d' ' -f1 "$work/linked" | xargs cmake/bootstrap.sh --newest >"$work/newest"
passed=0 failed=0
while read -r name version; do
  newest=$(awk -v name="$name" '$1 == name { print $2 }' "$work/newest")
  if [ -n "$newest" ] && dpkg --compare-versions "$version" ge "$newest"; then
    passed=$((passed + 1))
    echo "ok $name"
  else
    failed=$((failed + 1))
    echo "not ok $name: $version is linked, and ${newest:-no version} is the distribution's newest; apt-get upgrade, build the packages, release"
  fi
done <"$work/linked"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
