#!/usr/bin/env bash
# Builds and proves everything; ends with one line: N passed, N failed.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: tests/run.sh [--all | --nightly [PART] | --soak [NAME | all] | --flaky [NAME...] [--count N] | --help]

  (nothing)     bootstrap, dev build, ctest, tests/netns      (< 12 min on a bare machine)
  --all         the gate: what a change must pass             (< 30 min when built, < 60 min on a bare machine)
  --nightly     all that exists, in parts (tests/parts.tsv): those that have not passed on these files; with a name that part
  --soak        lists the soak tests; with a name runs one, with `all` each of them
  --flaky       runs what depends on time N times (100) beside a CPU load, and prints each test's failures per thousand;
                NAME: netns:FILE.TEST, e2e:FILE.TEST or ctest:PROGRAM, or the first part of some. WEFT_BUILD: the build folder

Needs Debian 12 or 13 and root. Logs: build/logs.
A stage that cannot run, and a test that skips itself without a line in tests/skips.txt, have failed. A late test, and one that
only a peer failed, is repeated at the end (CONTRIBUTING.md, Chance). Exit status 0: nothing failed.
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export WEFT_DEPS=${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}
logs=$PWD/build/logs
results=$logs/results.tsv    # a line a test that ran: verdict, suite:test, stage, seconds, text
commands=$logs/commands.tsv  # a line a stage of tests that can be repeated: name, suite, command
times=$logs/times            # a line a stage: seconds, name
failures=$logs/failures      # a line a stage that failed: name, why
export WEFT_WINE_RERUNS=$logs/wine-reruns  # a line a program that Wine did not start, and that was started once more
stage_limit=1800 whole_limit=0  # seconds; 0: none
running= ahead= beside=

say() { printf '[%4ds] %s\n' $SECONDS "$*"; }

# record VERDICT TEST STAGE
record() { printf '%s\t%s\t%s\t0\t\n' "$@" >>"$results"; }

# repeatable STAGE SUITE COMMAND...: how its tests are run again.
repeatable() { printf '%s\t%s\tenv WEFT_BUILD=%q%s\n' "$1" "$2" "${WEFT_BUILD:-build/dev}" "$(printf ' %q' "${@:3}")" >>"$commands"; }

# failed_stage NAME WHY
failed_stage() {
  say "$1: FAILED: $2"
  record failed "stage:$1" "$1"
  echo "$1: $2" >>"$failures"
}

# limited NAME COMMAND...: ends it when its time is over. 124: it was.
limited() {
  local name=$1 limit=$stage_limit left status began=$SECONDS
  shift
  if [ "$whole_limit" != 0 ]; then
    left=$((whole_limit - SECONDS))
    [ "$left" -gt 0 ] || return 124
    [ "$limit" != 0 ] && [ "$limit" -lt "$left" ] || limit=$left
  fi
  # In the background, so that a signal to this script ends it, too.
  timeout -k 30 "$limit" "$@" </dev/null &
  running=$!
  wait "$running"
  status=$?
  running=
  echo "$((SECONDS - began)) $name" >>"$times"
  [ $status != 137 ] || status=124
  return $status
}

# logged NAME COMMAND...: a stage, its output in build/logs/NAME.log.
logged() {
  say "$1 ..."
  limited "$@" >"$logs/$1.log" 2>&1
}

# A counted stage's failed tests with their reasons; otherwise its log's end.
show_failed() {
  grep -q '^not ok ' "$logs/$1.log" || show_tail "$1"
  awk '/^(ok|left out) |^[0-9]+ passed, /{ shown = 0 } /^not ok /{ shown = 40 } shown-- > 0' "$logs/$1.log"
}

show_tail() {
  echo "---- end of $logs/$1.log"
  tail -n 30 "$logs/$1.log"
  echo "----"
}

why() {
  case $1 in
    124) echo "no end within its time${2:+; under way: $2}" ;;
    *) echo "exit status $1" ;;
  esac
}

# must NAME COMMAND...: a stage that counts nothing: silent when it passes.
must() {
  local status
  logged "$@" && return
  status=$?
  show_tail "$1"
  failed_stage "$1" "$(why $status)"
  return 1
}

# counted SUITE STAGE COMMAND...: prints `ok TEST (SECONDS s)` or `not ok TEST: REASON` for each of its tests, and at last
# `N passed, N failed`. A reason that begins with `late: ` or `peer: ` is all that is wrong with the test.
counted() {
  local suite=$1 name=$2 status sum
  shift 2
  repeatable "$name" "$suite" "$@"
  logged "$name" "$@"
  status=$?
  sed -nE "s/^ok ([^ :]+)( \(([0-9.]+) s.*)?.*/passed\t$suite:\1\t$name\t0\3\t/p
    s/^not ok ([^ :]+): (late|peer): (.*)/\2\t$suite:\1\t$name\t0\t\2: \3/p; t
    s/^not ok ([^ :]+)(: (.*))?.*/failed\t$suite:\1\t$name\t0\t\3/p" "$logs/$name.log" >"$logs/$name.tsv"
  tally "$name" $status "the one after: $(grep -E '^(not )?ok ' "$logs/$name.log" | tail -n 1 | cut -c1-80)"
  sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$logs/$name.log" | tail -n 1)
  [ "$status" != 0 ] || [ "$sum" = "$(grep -c '^passed' "$logs/$name.tsv") passed, $(grep -vc '^passed' "$logs/$name.tsv") failed" ] ||
    failed_stage "$name" "it says '$sum', and its tests do not add up to that"
}

# ctest_suite STAGE PRESET [ARGUMENT...]
ctest_suite() {
  local name=$1 preset=$2 status verdict test rest
  shift 2
  repeatable "$name" ctest ctest --preset "$preset" --verbose "$@"
  logged "$name" ctest --preset "$preset" --verbose "$@"
  status=$?
  # A test that skipped itself is ignored if tests/skips.txt lists it, and runs elsewhere if it says so.
  tests/repo/ctest_results.py "$logs/$name.log" | while IFS=$'\t' read -r verdict test rest; do
    [ "$verdict" != skipped ] || verdict=$(known_skip "$test")
    printf '%s\tctest:%s\t%s\t%s\n' "$verdict" "$test" "$name" "$rest"
  done >"$logs/$name.tsv"
  tally "$name" $status "$(unfinished "$logs/$name.log")"
  grep -q '^failed' "$logs/$name.tsv" || return 0
  echo "---- from $logs/$name.log"
  tests/repo/ctest_results.py --failed "$logs/$name.log"
}

# The ctests that began and did not end.
unfinished() {
  sed -nE 's/^ *Start +[0-9]+: (.*)$/\1/p' "$1" | while read -r test; do
    grep -qF -- ": $test .." "$1" || echo "$test"
  done | paste -sd ' '
}

# known_skip TEST: its verdict. `elsewhere`: another stage must run it.
known_skip() {
  local line
  while read -r line; do
    # shellcheck disable=SC2053  # a pattern, then two spaces and the reason
    [[ $line != \#* && $line == *"  "?* && $1 == ${line%%  *} ]] || continue
    [[ $line == *"; on Linux it runs" ]] && echo elsewhere || echo skipped
    return
  done <tests/skips.txt
  say "$1 skipped itself, and tests/skips.txt does not list it" >&2
  echo failed
}

# tally STAGE STATUS UNDER-WAY: adds build/logs/STAGE.tsv to the results.
tally() {
  local name=$1 status=$2 good bad late skipped
  cat "$logs/$name.tsv" >>"$results"
  good=$(grep -c '^passed' "$logs/$name.tsv") bad=$(grep -c '^failed' "$logs/$name.tsv")
  late=$(grep -cE '^(late|peer)' "$logs/$name.tsv") skipped=$(grep -cE '^(skipped|elsewhere)' "$logs/$name.tsv")
  say "$name: $good passed, $bad failed$([ "$late" = 0 ] || echo ", $late to repeat")$([ "$skipped" = 0 ] ||
    echo ", $skipped skipped as tests/skips.txt says")"
  [ "$bad" = 0 ] && { [ "$status" = 0 ] || [ "$late" != 0 ]; } || show_failed "$name"
  sed -nE 's/^(failed|late|peer)\t([^\t]+).*/\1: \2/p' "$logs/$name.tsv"
  if [ "$status" = 124 ]; then
    failed_stage "$name" "$(why 124 "$3")"
  elif [ "$status" != 0 ] && [ "$((bad + late))" = 0 ]; then
    failed_stage "$name" "$(why "$status")"
  elif [ "$((good + bad + late + skipped))" = 0 ]; then
    failed_stage "$name" "it ran no test"
  fi
}

bootstrap() {
  say "bootstrap $* ..."
  limited "bootstrap $*" cmake/bootstrap.sh "$@" && return
  failed_stage "bootstrap $*" "see above"
  return 1
}

compile() {
  must "configure-$1" cmake --preset "$1" && must "build-$1" cmake --build --preset "$@"
}

# build_ahead NAME...: presets and `peers`, one after the other, at low priority, next to tests that mostly wait.
build_ahead() {
  local name
  for name; do rm -rf "$logs/ahead-$name."* "$logs/claimed-$name"; done
  setsid nice -n 10 bash -c '
    logs=$1 parent=$2
    shift 2
    for name; do
      kill -0 "$parent" 2>/dev/null || exit
      SECONDS=0
      {
        case $name in asan) ;; *) cmake/bootstrap.sh "$name" ;; esac &&
          case $name in
            peers) ;;
            asan) cmake --preset asan -DWEFT_TESTS_ONLY=MEMORY && cmake --build --preset asan ;;
            *) cmake --preset "$name" && cmake --build --preset "$name" ;;
          esac
      } >"$logs/ahead-$name.log" 2>&1
      echo $? >"$logs/ahead-$name.new"
      echo "$SECONDS $name, built ahead" >>"$logs/times"
      mv "$logs/ahead-$name.new" "$logs/ahead-$name.status"
    done' - "$logs" $$ "$@" </dev/null &
  ahead=$!
}

# built NAME: waits until that was built ahead, or the builder is gone.
built() {
  local name=$1 status
  say "$name, built ahead ..."
  stage_limit=0 limited "waiting for $name" sh -c 'until [ -f "$1" ] || ! kill -0 "$2" 2>/dev/null; do sleep 0.2; done' - \
    "$logs/ahead-$name.status" "$ahead"
  status=$?
  [ $status != 0 ] || status=$(cat "$logs/ahead-$name.status" || echo 137)
  [ "$status" != 0 ] || return 0
  show_tail "ahead-$name"
  failed_stage "$name" "$(why "$status")"
  return 1
}

everyday() {
  bootstrap build test netns && compile dev --target flanneld flannelctl node_stream traffic || return
  start_beside counted netns netns tests/netns/run.sh
  must build-tests nice -n 10 cmake --build --preset dev && ctest_suite ctest-dev dev
  end_beside
}

# start_beside FUNCTION [ARGUMENT...]: runs it next to what follows, up to end_beside: for stages that mostly wait.
start_beside() {
  (
    trap '[ -z "$running" ] || kill "$running"; exit' TERM
    "$@"
  ) >"$logs/beside.log" 2>&1 &
  beside=$!
}

end_beside() {
  [ -n "$beside" ] || return 0
  wait "$beside"
  beside=
  cat "$logs/beside.log"
}

# ---- The gate

# What ships is what is proven: namespaces and clusters have the release build. What mostly waits runs next to what computes.
# Of the unit tests each runs in what ships for Windows, and under one sanitizer: TSan where there are threads, ASan where there
# is memory.
gate() {
  whole_limit=$((SECONDS + 5040))
  bootstrap build test netns &&
    must configure-release cmake --preset release -DWEFT_TESTS=ON -DWEFT_TESTS_ONLY=UNSANITIZED &&
    must build-release cmake --build --preset release --target flanneld flannelctl node_stream traffic unsanitized_tests || return
  build_ahead windows peers asan tsan bench
  ctest_suite ctest-release release
  export WEFT_BUILD=build/release
  start_beside waiting
  built windows && windows
  built asan && ctest_suite ctest-asan asan -LE repo
  built tsan && ctest_suite ctest-tsan tsan -LE repo
  sanitized
  end_beside
  if built bench; then
    must sync bench/sync --nodes 200 --smoke --no-build
    must instructions bench/instructions
    must hns bench/hns --peers 2000 --no-build
    must bench bench/run --smoke --no-build --json build/bench/results.json --html build/bench/report.html &&
      sed -n '/^| | what/,/^$/p' "$logs/bench.log"
  fi
}

# What mostly waits, in the order in which it is built.
waiting() {
  must demo deploy/demo.sh --no-build
  counted netns netns-release tests/netns/run.sh
  counted soak soak-transfer tests/soak/transfer.sh --short
  counted soak soak-load tests/soak/load.sh --short
  if built peers; then
    counted e2e e2e tests/e2e/run.sh
    counted soak soak-churn tests/soak/churn.sh --short
  fi
  sanitized
}

# For the stream that comes first: where nothing was built before, that is the one with the clusters.
sanitized() {
  local name
  for name in asan tsan; do
    built $name && mkdir "$logs/claimed-$name" 2>/dev/null &&
      counted netns "netns-$name" env WEFT_BUILD="build/$name" tests/netns/run.sh --sanitized=$name
  done
}

windows() {
  ctest_suite ctest-windows windows
  counted soak soak-package tests/soak/package.sh --short
}

# ---- Parts: what --nightly runs. part_NAME, or tests/soak/NAME.sh; each builds what it needs.

part_gate() { gate; }

part_sanitizers() {
  bootstrap build test netns tsan && compile ubsan || return
  ctest_suite ctest-ubsan ubsan -LE repo
  counted netns netns-ubsan env WEFT_BUILD=build/ubsan tests/netns/run.sh
  compile tsan && counted netns netns-tsan env WEFT_BUILD=build/tsan tests/netns/run.sh
}

part_labs() {
  bootstrap build test netns peers windows && compile_release || return
  counted netns-of-the-kernel netns-kernel tests/netns/run.sh --subject=kernel
  counted e2e-of-upstream e2e-upstream tests/e2e/run.sh --subject=upstream --tier=all
}

part_tidy() {
  bootstrap build test windows tidy && compile dev && must configure-windows cmake --preset windows &&
    one_test tidy tests/repo/tidy.py
}

part_sizes() {
  bootstrap build test netns peers || return
  one_test sizes-sync-10000 bench/sync --nodes 10000 --turns 3 --limits
  one_test sizes-sync-65000 bench/sync --nodes 65000 --turns 3 --limits
  one_test sizes-sync-100000 bench/sync --nodes 100000 --turns 3 --limits
  one_test sizes-hns-5000 bench/hns --peers 5000 --limits
}

# one_test NAME COMMAND...: a stage that is one test.
one_test() { must "$@" && record passed "stage:$1" "$1"; }

part_fuzz() {
  counted fuzz fuzz env WEFT_SEED="${WEFT_SEED:-1}" tests/soak/fuzz.sh
  counted soak soak-fuzz tests/soak/fuzz.sh
}

part_clusters() {
  bootstrap build test netns windows && compile_release || return
  counted e2e e2e-nightly tests/e2e/run.sh --tier=nightly
}

part_oldest() {
  bootstrap build test netns windows && compile_release || return
  counted e2e-with-the-oldest e2e-oldest env WEFT_PEERS=oldest tests/e2e/run.sh
}

compile_release() {
  must configure-release cmake --preset release &&
    must build-release cmake --build --preset release --target flanneld flannelctl node_stream traffic || return
  export WEFT_BUILD=build/release
}

part() {
  unset WEFT_BUILD
  if declare -F "part_$1" >/dev/null; then
    "part_$1"
    return
  fi
  case $1 in
    churn | fairness | load | transfer) bootstrap build test netns && compile_release || return ;;  # the others build for themselves
  esac
  counted soak "soak-$1" "tests/soak/$1.sh"
}

part_names() { sed -nE 's/^([a-z][^\t]*)\t.*/\1/p' tests/parts.tsv; }

# part_key NAME: of all that the part builds or reads, in HEAD. Fails where one of these files is not committed.
part_key() {
  local paths group
  paths=$(sed -nE "s/^$1\t([^\t]*)\t.*/\1/p" tests/parts.tsv)
  for group in $(sed -nE 's/^=([A-Z]*)\t.*/\1/p' tests/parts.tsv); do
    paths=" $paths "
    paths=${paths/ $group / $(sed -nE "s/^=$group\t//p" tests/parts.tsv) }
  done
  # shellcheck disable=SC2086  # paths
  set -- tests/run.sh tests/repo/chance.py tests/repo/ctest_results.py $paths
  [ -z "$(git status --porcelain -- "$@")" ] || return
  git ls-tree -r HEAD -- "$@" | sha256sum | cut -c1-16
}

# nightly [PART]: a part that passed on these very files is not repeated.
nightly() {
  local name key began bad store=$WEFT_DEPS/nightly chosen
  mapfile -t chosen < <(part_names)
  if [ -n "${1:-}" ]; then
    part_names | grep -qxF -- "$1" || { echo "tests/run.sh: no part $1; there are:" $(part_names) >&2; exit 2; }
    chosen=("$1")
  fi
  mkdir -p "$store"
  for name in "${chosen[@]}"; do
    key=$(part_key "$name") || { key=; say "$name: a file that it reads is not committed, so its result is not recorded"; }
    if [ -n "$key" ] && [ -f "$store/$name-$key" ]; then
      say "$name: passed $(cat "$store/$name-$key")"
      record passed "part:$name" nightly
      continue
    fi
    say "part $name ..."
    began=$SECONDS bad=$(grep -c '^failed' "$results") stage_limit=0 whole_limit=$((SECONDS + 7200))
    part "$name"
    whole_limit=0
    settle
    if [ "$(grep -c '^failed' "$results")" = "$bad" ]; then
      record passed "part:$name" nightly
      [ -z "$key" ] || echo "on $(git rev-parse --short HEAD), $(date -u +%F), in $((SECONDS - began)) s" >"$store/$name-$key"
    else
      record failed "part:$name" nightly
    fi
  done
  echo "parts on these files:"
  for name in $(part_names); do
    key=$(part_key "$name") || key=none
    printf '  %-12s %s\n' "$name" "$([ -f "$store/$name-$key" ] && echo "passed $(cat "$store/$name-$key")" || echo missing)"
  done
}

soak() {
  local name
  stage_limit=0
  case ${1:-} in
    "") for name in tests/soak/*.sh; do printf '%-24s %s\n' "$(basename "$name" .sh)" "$(sed -n '2s/^# *//p' "$name")"; done
      exit 0 ;;
    all) for name in tests/soak/*.sh; do counted soak "soak-$(basename "$name" .sh)" "$name"; done ;;
    *) counted soak "soak-$1" "tests/soak/$1.sh" ;;
  esac
}

# flaky [NAME...] [--count N]
flaky() {
  local count=100 names=() preset=${WEFT_BUILD:-build/dev}
  while [ $# -gt 0 ]; do
    case $1 in
      --count) count=${2:?--count needs a number}; shift ;;
      *) names+=("$1") ;;
    esac
    shift
  done
  repeatable netns netns tests/netns/run.sh
  repeatable e2e e2e tests/e2e/run.sh
  repeatable ctest ctest ctest --preset "$(basename "$preset")" --verbose -L threads
  exec tests/repo/chance.py measure "$count" "$commands" "${names[@]}"
}

# What was late, and what only a peer failed, once more: no other test runs any more.
settle() { tests/repo/chance.py settle "$results" "$commands" || failed_stage settle "$(why $?)"; }

# Times of this run beside those of the recorded one, tests/times.tsv: seconds, stage or test; the first line says where and when.
# A copy of build/logs/times.tsv records this run.
show_times() {
  echo "# $(git rev-parse --short HEAD), $(date -u +%F), $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" >"$logs/times.tsv"
  tr ' ' '\t' <"$times" | sed 's/\t/ /2g' >>"$logs/times.tsv"
  echo "time of each stage and of the ten slowest tests, seconds; then as in $(head -n 1 tests/times.tsv | cut -c3-)"
  sort -t $'\t' -k4,4nr "$results" | head -n 10 | awk -F '\t' '{ printf "%.0f\t%s (%s)\n", $4, $2, $3 }' >>"$logs/times.tsv"
  awk -F '\t' '/^#/ { next } NR == FNR { recorded[$2] = $1; next } { printf "%6d %6s  %s\n", $1, recorded[$2], $2 }' tests/times.tsv "$logs/times.tsv"
}

# What a flanneld without flags of folders would use: no test may.
machines_own() { find /var/lib/weft /run/flannel /etc/cni -printf '%p, changed %Tc\n' 2>/dev/null | sort; }

finish() {
  [ -z "$ahead" ] || kill -- -"$ahead" 2>/dev/null
  settle
  [ "$own" = "$(machines_own)" ] || failed_stage machine "a test used this machine's own folders: $(machines_own | paste -sd ';')"
  show_times
  [ ! -s "$WEFT_WINE_RERUNS" ] || { echo "started once more under Wine:"; cat "$WEFT_WINE_RERUNS"; }
  sed 's/^/failed: /' "$failures"
  awk -F '\t' '
    $1 == "passed" || $1 == "flaky" { runs++; ran[$2] = 1; by[$3]++ }
    $1 == "failed" { runs++; bad[$2] = 1; by[$3]++ }
    $1 == "skipped" || $1 == "elsewhere" { skipped[$2] = $1 }
    END {
      for (test in skipped) if (!(test in ran) && !(test in bad)) {
        never = never " " test
        if (skipped[test] == "elsewhere") { bad[test] = 1; print "failed: " test ": no stage ran it, and tests/skips.txt says that Linux does" }
      }
      for (test in bad) failed++
      for (test in ran) if (!(test in bad)) passed++
      for (stage in by) each = each (each ? ", " : "") stage " " by[stage]
      printf "%d distinct tests in %d runs (%s)\n", passed + failed, runs, each
      if (never) print "skipped wherever they were tried:" never
      printf "%d passed, %d failed\n", passed, failed
      exit !(passed > 0 && failed == 0)
    }' "$results"
  exit
}

interrupted() {
  trap '' TERM INT
  echo "interrupted by SIG$1" >>"$failures"
  record failed "stage:interrupted" interrupted
  [ -z "$running" ] || kill "$running" 2>/dev/null
  [ -z "$beside" ] || kill "$beside" 2>/dev/null
  end_beside
  finish
}

mkdir -p "$logs"
own=$(machines_own)
: >"$results" >"$commands" >"$times" >"$failures" >"$WEFT_WINE_RERUNS"
trap 'interrupted TERM' TERM
trap 'interrupted INT' INT
case ${1:-} in
  "") everyday ;;
  --all) gate ;;
  --nightly) nightly "${2:-}" ;;
  --soak) soak "${2:-}" ;;
  --flaky) flaky "${@:2}" ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
finish
