#!/usr/bin/env bash
# An hour of fuzzing, shared by the targets; a finding fails, and its input is kept
#   tests/soak/fuzz.sh [--short]        WEFT_FUZZ_TOTAL: seconds for all targets together (3600)
#                                       WEFT_SEED: random (the default) continues from what earlier runs found;
#                                       a number repeats itself exactly: the runs that tests/fuzz/CMakeLists.txt
#                                       gives each target, from the committed corpus only; seconds are a limit
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

total=${WEFT_FUZZ_TOTAL:-3600}
[ "${1:-}" != --short ] || total=60
cmake/bootstrap.sh build fuzz && cmake --preset fuzz >/dev/null && cmake --build --preset fuzz || exit 1

list=build/fuzz/fuzz-targets.txt
count=$(wc -l <"$list") || exit 1
[ "$count" -gt 0 ] || { echo "no fuzz targets"; exit 1; }
workers=$(nproc)
seed=${WEFT_SEED:-random}
seconds=$((total * workers / count))
folder=build/fuzz/found
if [ "$seed" = random ]; then
  echo "$count targets, $workers at a time, $seconds s each"
else
  # Kept for reading only: what one run finds must not change the next.
  folder=build/fuzz/repeated
  rm -rf "$folder"
  echo "$count targets, $workers at a time, from seed $seed, at most $seconds s each"
  # libFuzzer mutates with values that were compared, and pointers are among them: only at fixed addresses does a
  # seed repeat itself. The environment lies on the stack, and moves what is behind it.
  fixed=(env -i PATH="$PATH" setarch -R)
  if ! "${fixed[@]}" true 2>/dev/null; then
    fixed=()
    echo "setarch -R is refused here: addresses are random, and the seed repeats itself only roughly"
  fi
fi

passed=0 failed=0
# New inputs go to the build folder; the committed corpus is only read.
one() {
  local name=$1 corpus=${2#"$PWD"/} runs=$3 inputs
  mkdir -p "$folder/$name"
  local command=(build/fuzz/bin/"$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
    -artifact_prefix="$folder/$name-")
  if [ "$seed" = random ]; then
    command+=("$folder/$name" "$corpus")
  else
    # Listed by name: a folder's own order differs between clones. -reload would read the folder back every second.
    inputs=$(find "$corpus" -type f | LC_ALL=C sort | paste -sd,)
    command=("${fixed[@]}" "${command[@]}" -seed="$seed" -runs="$runs" -reload=0 -seed_inputs="$inputs" "$folder/$name")
  fi
  exec "${command[@]}" >"$folder/$name.log" 2>&1
}

running=()
reap() {  # waits for the oldest
  local each=${running[0]} pid name runs units log
  read -r pid name runs <<<"$each"
  log=$folder/$name.log
  running=("${running[@]:1}")
  if wait "$pid"; then
    passed=$((passed + 1))
    units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "ok $name ($units inputs, $(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -n 1))"
    [ "$seed" = random ] || [ "$units" -ge "$runs" ] || echo "   $runs were to be run: $seconds s were over"
  else
    failed=$((failed + 1))
    echo "not ok $name: $(grep -m1 -E 'does not hold|ERROR|SUMMARY|ALARM' "$log"), log $log"
    # In CI the machine is deleted afterwards: only this output remains.
    for input in "$folder/$name"-*; do [ -f "$input" ] && echo "$input, in base64: $(base64 -w0 "$input")"; done
  fi
}
trap 'for each in "${running[@]}"; do kill "${each%% *}" 2>/dev/null; done' EXIT

while read -r name corpus runs; do
  [ ${#running[@]} -lt "$workers" ] || reap
  one "$name" "$corpus" "$runs" &
  running+=("$! $name $runs")
done <"$list"
while [ ${#running[@]} -gt 0 ]; do reap; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
