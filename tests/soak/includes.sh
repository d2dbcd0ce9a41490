#!/usr/bin/env bash
# Compiles each header and each source file alone: each includes what it uses; a quarter of an hour
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
cmake/bootstrap.sh build test windows || exit 1
passed=0 failed=0
part() {
  local name=$1
  shift
  if "$@" >"build/logs/includes-$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "ok $name"
  else
    failed=$((failed + 1))
    echo "not ok $name: build/logs/includes-$name.log"
    grep -m 20 -E 'error:' "build/logs/includes-$name.log"
  fi
}
mkdir -p build/logs
cmake --preset dev >/dev/null && part headers cmake --build --preset dev --target all_verify_interface_header_sets -- -k 0
for preset in dev windows; do
  folder=build/$preset-by-file
  cmake --preset "$preset" -B "$folder" -DWEFT_UNITY=OFF >/dev/null && part "$preset" cmake --build "$folder" -- -k 0
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" = 3 ]
