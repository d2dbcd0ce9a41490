#!/usr/bin/env bash
# An hour of fuzzing, shared by the targets; a finding fails, and its input is kept
#   tests/soak/fuzz.sh [--short]        WEFT_FUZZ_TOTAL: seconds for all targets together (3600)
#                                       WEFT_SEED: a number, or random (random)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

total=${WEFT_FUZZ_TOTAL:-3600}
[ "${1:-}" != --short ] || total=60
cmake/bootstrap.sh build fuzz && cmake --preset fuzz >/dev/null && cmake --build --preset fuzz || exit 1

list=build/fuzz/fuzz-targets.txt
count=$(wc -l <"$list") || exit 1
[ "$count" -gt 0 ] || { echo "no fuzz targets"; exit 1; }
workers=$(nproc)
seed=()
[ "${WEFT_SEED:-random}" = random ] || seed=(-seed="$WEFT_SEED")
seconds=$((total * workers / count))
echo "$count targets, $workers at a time, $seconds s each"

passed=0 failed=0
one() {
  local name=$1 corpus=$2 folder=build/fuzz/found
  mkdir -p "$folder/$name"
  # New inputs go to the build folder; the committed corpus is only read.
  build/fuzz/bin/"$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 "${seed[@]}" -print_final_stats=1 \
    -artifact_prefix="$folder/$name-" "$folder/$name" "$corpus" >"$folder/$name.log" 2>&1
}

running=()
reap() {  # waits for the oldest
  local pid=${running[0]%% *} name=${running[0]#* }
  running=("${running[@]:1}")
  if wait "$pid"; then
    passed=$((passed + 1))
    echo "ok $name ($(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/found/$name.log") inputs)"
  else
    failed=$((failed + 1))
    echo "not ok $name: $(grep -m1 -E 'ERROR|SUMMARY|ALARM' "build/fuzz/found/$name.log"), log build/fuzz/found/$name.log"
    # Of a machine that is gone afterwards, this is all that is left.
    for input in build/fuzz/found/"$name"-*; do echo "$input, in base64: $(base64 -w0 "$input")"; done
  fi
}
trap 'for each in "${running[@]}"; do kill "${each%% *}" 2>/dev/null; done' EXIT

while read -r name corpus; do
  [ ${#running[@]} -lt "$workers" ] || reap
  one "$name" "$corpus" &
  running+=("$! $name")
done <"$list"
while [ ${#running[@]} -gt 0 ]; do reap; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
