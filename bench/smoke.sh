#!/usr/bin/env bash
# Runs every benchmark for a moment: none may fail, crash or allocate on the packet path. Says nothing about speed.
# usage: bench/smoke.sh BUILD_DIR      e.g. build/bench
set -euo pipefail

build=${1:?usage: bench/smoke.sh BUILD_DIR}
failed=0
found=0
for program in "$build"/bin/*_bench; do
  [ -x "$program" ] || continue
  found=1
  if ! output=$("$program" --benchmark_min_time=0.01 2>&1) || grep -q 'ERROR OCCURRED' <<<"$output"; then
    echo "FAILED: $program" >&2
    grep -E 'ERROR OCCURRED' <<<"$output" >&2 || tail -n 5 <<<"$output" >&2
    failed=1
  fi
done
[ "$found" = 1 ] || { echo "no benchmarks in $build/bin; configure with: cmake --preset bench" >&2; exit 2; }
[ "$failed" = 0 ] && echo "every benchmark ran"
exit "$failed"
