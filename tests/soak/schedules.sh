#!/usr/bin/env bash
# 10,000 random schedules of a cluster and an API server that misbehave: the lease table comes to equal the truth
#   tests/soak/schedules.sh        WEFT_SEED: the first one's seed (4096); WEFT_BUILD: a build folder that has the test (else build/dev, built here)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

total=10000 first=${WEFT_SEED:-4096} workers=$(nproc)
[ "$first" != random ] || first=$((RANDOM << 15 | RANDOM))
if [ -z "${WEFT_BUILD:-}" ]; then
  cmake/bootstrap.sh build test && cmake --preset dev >/dev/null &&
    cmake --build --preset dev --target list_watch_schedules_test || exit 1
fi
program=${WEFT_BUILD:-build/dev}/bin/list_watch_schedules_test

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# share FROM COUNT: continues after a schedule that fails; prints "PASSED FAILED" last.
share() {
  local from=$1 left=$2 passed=0 failed=0 seed log
  while [ "$left" -gt 0 ]; do
    if log=$(WEFT_SCHEDULES=$left WEFT_SEED=$from "$program" 2>&1); then
      passed=$((passed + left))
      break
    fi
    failed=$((failed + 1))
    seed=$(grep -o -m1 'WEFT_SEED=[0-9]*' <<<"$log")
    seed=${seed#*=}
    echo "not ok: ${seed:+WEFT_SCHEDULES=1 WEFT_SEED=$seed }$program" >&2
    head -n 40 <<<"$log" >&2
    [ -n "$seed" ] || break  # it died at an unknown schedule
    passed=$((passed + seed - from))
    left=$((left - (seed - from) - 1))
    from=$((seed + 1))
  done
  echo "$passed $failed"
}

echo "$total schedules from seed $first, $workers at a time"
for ((i = 0; i < workers; ++i)); do
  begin=$((total * i / workers)) end=$((total * (i + 1) / workers))
  share $((first + begin)) $((end - begin)) >"$results/$i" &
done
wait
passed=0 failed=0
for ((i = 0; i < workers; ++i)); do
  read -r good bad <"$results/$i" || { good=0 bad=1; }
  passed=$((passed + good)) failed=$((failed + bad))
done
# One test, however many schedules it has.
if [ "$failed" = 0 ] && [ "$passed" = "$total" ]; then
  echo "ok schedules ($passed)"
  echo "1 passed, 0 failed"
else
  echo "not ok schedules: $failed failed, $passed of $total passed"
  echo "0 passed, 1 failed"
  failed=1
fi
[ "$failed" = 0 ]
