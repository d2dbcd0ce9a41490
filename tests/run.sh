#!/usr/bin/env bash
# Builds and proves everything; ends with one line: N passed, N failed.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: tests/run.sh [--all | --tidy | --soak [NAME | all] | --help]

  (nothing)     bootstrap, dev build, ctest, tests/netns      (< 3 min when built, < 20 min on a bare machine)
  --all         and: header self-sufficiency, asan, tsan, Windows under Wine, short fuzzing, end to end, bench smoke
  --tidy        clang-tidy over what compiles on Linux
  --soak        lists the soak tests; with a name runs one, with `all` each of them

Needs Debian 12 and root. Logs: build/logs.
A stage that cannot run has failed. Exit status 0: nothing failed.
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export WEFT_DEPS=${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}
logs=$PWD/build/logs
began=$SECONDS
stage_limit=30m
passed=0 failed=0
declare -a failures=()

say() { printf '[%4ds] %s\n' $((SECONDS - began)) "$*"; }

# count PASSED FAILED NAME: one stage's verdict.
count() {
  passed=$((passed + $1)) failed=$((failed + $2))
  [ "$2" = 0 ] || failures+=("$3 ($2)")
}

# logged NAME COMMAND...: runs a stage, output in build/logs/NAME.log.
logged() {
  local name=$1
  shift
  say "$name ..."
  "$@" >"$logs/$name.log" 2>&1 </dev/null
}

show_tail() {
  echo "---- end of $logs/$1.log"
  tail -n 30 "$logs/$1.log"
  echo "----"
}

# must NAME COMMAND...: a stage without counts of its own: silent when it passes, one failure when not.
must() {
  logged "$@" && return
  say "$1: FAILED"
  show_tail "$1"
  count 0 1 "$1"
  return 1
}

# counted NAME COMMAND...: a suite that ends with the line "N passed, N failed". One that hangs is ended.
counted() {
  local name=$1 status line
  shift
  logged "$name" timeout -k 30 "$stage_limit" "$@"
  status=$?
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$logs/$name.log" | tail -n 1)
  tally "$name" $status "${line%% *}" "$(sed -E 's/.*, ([0-9]+) failed/\1/' <<<"$line")"
}

# ctest_suite NAME PRESET [ARGUMENT...]
ctest_suite() {
  local name=$1 preset=$2 status total bad skipped
  shift 2
  logged "$name" ctest --preset "$preset" "$@"
  status=$?
  read -r bad total < <(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$logs/$name.log")
  skipped=$(grep -c '(Skipped)$' "$logs/$name.log")
  [ "$skipped" = 0 ] || say "$name: $skipped skipped themselves, counted neither way"
  tally "$name" $status "${total:+$((total - bad - skipped))}" "${bad:-}"
}

# tally NAME STATUS PASSED FAILED: a suite that died before it could count is one failure.
tally() {
  local name=$1 status=$2 good=${3:-0} bad=${4:-0}
  [ "$status" = 0 ] && [ "$good" -gt 0 ] || [ "$bad" -gt 0 ] || bad=1
  say "$name: $good passed, $bad failed"
  [ "$bad" = 0 ] || show_tail "$name"
  count "$good" "$bad" "$name"
}

compile() {
  cmake --preset "$1" && cmake --build --preset "$1"
}

bootstrap() {
  say "bootstrap $* ..."
  cmake/bootstrap.sh "$@" && return
  count 0 1 "bootstrap $*"
  return 1
}

# Twenty seconds for each target, by the script that also fuzzes for an hour; from one seed, as all
# tests do, so that a change is blamed for nothing that it did not bring.
fuzz() {
  bootstrap fuzz && must build-fuzz compile fuzz || return
  counted fuzz env WEFT_SEED="${WEFT_SEED:-1}" WEFT_FUZZ_TOTAL=$(($(wc -l <build/fuzz/fuzz-targets.txt) * 20 / $(nproc))) tests/soak/fuzz.sh
}

# It wants a command for each file.
tidy() {
  bootstrap build test tidy && must configure-tidy cmake --preset dev -B build/tidy -DWEFT_UNITY=OFF || return
  if must tidy nice run-clang-tidy-14 -quiet -p build/tidy -j "$(nproc)" "^$PWD/(vxlan|dataplane|hns|control)/.*\\.cc\$"; then
    count 1 0 tidy
  fi
}

soak() {
  local name
  stage_limit=0  # none
  case ${1:-} in
    "") for name in tests/soak/*.sh; do printf '%-24s %s\n' "$(basename "$name" .sh)" "$(sed -n '2s/^# *//p' "$name")"; done
      exit 0 ;;
    all) for name in tests/soak/*.sh; do counted "soak-$(basename "$name" .sh)" "$name"; done ;;
    *) counted "soak-$1" "tests/soak/$1.sh" ;;
  esac
}

everyday() {
  bootstrap build test netns && must build-dev compile dev || return
  ctest_suite ctest-dev dev
  counted netns tests/netns/run.sh
}

everything() {
  everyday
  must headers cmake --build --preset dev --target all_verify_interface_header_sets
  bootstrap windows && must build-windows compile windows && ctest_suite ctest-windows windows
  must build-asan compile asan && ctest_suite ctest-asan asan -LE repo &&
    counted netns-asan env WEFT_BUILD=build/asan tests/netns/run.sh
  bootstrap tsan && must build-tsan compile tsan && ctest_suite ctest-tsan tsan -LE repo
  fuzz
  counted soak-transfer tests/soak/transfer.sh --short
  counted e2e tests/e2e/run.sh
  bootstrap bench && must build-bench compile bench || return
  counted sync bench/sync --nodes 200 --smoke --no-build
  counted hns bench/hns --peers 2000 --smoke --no-build
  counted soak-churn tests/soak/churn.sh --short
  counted bench bench/run --smoke --no-build
}

finish() {
  local line
  for line in "${failures[@]+"${failures[@]}"}"; do echo "failed: $line"; done
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit
}

mkdir -p "$logs"
case ${1:-} in
  "") everyday ;;
  --all) everything ;;
  --tidy) tidy ;;
  --soak) soak "${2:-}" ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
finish
