#!/usr/bin/env python3
"""tests/run.sh on a small tree, whose suites print what a row says: each kind of defect, and what the run comes to."""
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ("tests/run.sh", "tests/repo/chance.py", "tests/repo/ctest_results.py")
LATE = "late: waited 5 s, came after 7.2 s: the route"
PEER = "peer: waited 30 s in vain: etcd answers"
# Prints the file NAME.RUN beside it, RUN counted from 0 (the last one again), and exits with its first line.
SUITE = """#!/usr/bin/env bash
cd "$(dirname "$0")" || exit 1
run=$(cat {name}.runs 2>/dev/null || echo 0)
echo $((run + 1)) >{name}.runs
while [ ! -f {name}.$run ]; do run=$((run - 1)); done
tail -n +2 {name}.$run
exit "$(head -n 1 {name}.$run)"
"""


def netns(*reasons):
    """A run of two tests; of the first one alone where it is repeated."""
    bad = [reason for reason in reasons if reason]
    lines = [f"not ok lease.{name}: {reason}" if reason else f"ok lease.{name} (1.0 s)" for name, reason in zip(("kept", "new"), reasons)]
    return "\n".join([str(int(bool(bad))), *lines, f"{len(reasons) - len(bad)} passed, {len(bad)} failed"])


def ctest(*failures, ended="[  FAILED  ] A.One (7 ms)", after=()):
    """A run of one GoogleTest program with one case."""
    lines = ["[==========] Running 1 test from 1 test suite.", "[ RUN      ] A.One", *failures, ended if failures else "[       OK ] A.One (7 ms)", *after]
    bad = failures or after
    verdict = "***Failed  " if bad else "   Passed  "
    return "\n".join([str(8 if bad else 0), *(f"1: {line}" for line in lines if line), f" 1/1 Test #1: a_test .........{verdict}  0.01 sec",
                      "0% tests passed, 1 tests failed out of 1" if bad else "100% tests passed, 0 tests failed out of 1"])


def skipping(program):
    """A run of one GoogleTest program whose first case skips itself."""
    return "\n".join(["0", "[==========] Running 2 tests from 1 test suite.", "[ RUN      ] B.One", "[  SKIPPED ] B.One (0 ms)",
                      "[ RUN      ] B.Two", "[       OK ] B.Two (0 ms)", f" 1/1 Test #1: {program} .........   Passed  0.01 sec",
                      "100% tests passed, 0 tests failed out of 1"]).replace("\n[", "\n1: [")


def failure(*message):
    return ("tests/a_test.cc:7: Failure", *message, "")


GOOD, GOOD_CASE = netns("", ""), ctest()
# description, runs of the namespaces, runs of ctest, exit status, lines of the output, how often each suite ran
ROWS = [
    ("nothing", [GOOD], [GOOD_CASE], 0, ["3 passed, 0 failed"], (1, 1)),
    ("late once", [netns(LATE, ""), netns("")], [GOOD_CASE], 0, [f"flaky: netns:lease.kept (netns): {LATE}", "3 passed, 0 failed"], (3, 1)),
    ("late once, with a tab in its reason", [netns(LATE + "\t7", ""), netns("")], [GOOD_CASE], 0,
     [f"flaky: netns:lease.kept (netns): {LATE}\t7", "3 passed, 0 failed"], (3, 1)),
    ("late each time", [netns(LATE, ""), netns(LATE)], [GOOD_CASE], 1, ["2 passed, 1 failed"], (2, 1)),
    ("never", [netns("waited 50 s in vain: the route", "")], [GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("a peer late once", [netns(PEER, ""), netns("")], [GOOD_CASE], 0, [f"flaky: netns:lease.kept (netns): {PEER}", "3 passed, 0 failed"], (3, 1)),
    ("a wrong byte once", [netns("byte 7: got 1, expected 2", ""), netns("")], [GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("a ping lost once", [netns("1 of 50 pings without an answer", ""), netns("")], [GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("a crash once", [netns("its process ended with -11", ""), netns("")], [GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("late and without a line", [netns("", LATE), "0\nok lease.new (1.0 s)\n1 passed, 0 failed"], [GOOD_CASE], 1, ["2 passed, 1 failed"], (3, 1)),
    ("a suite that lost a test", [GOOD.replace("ok lease.new", "lease.new")], [GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("a suite that ran no test", ["0\n0 passed, 0 failed"], [GOOD_CASE], 1, ["1 passed, 1 failed"], (1, 1)),
    ("a case late once", [GOOD], [ctest(*failure("Failed", LATE)), GOOD_CASE], 0, [f"flaky: ctest:a_test:A.One (ctest-dev): {LATE}",
                                                                                   "3 passed, 0 failed"], (1, 3)),
    ("a case late and wrong once", [GOOD], [ctest(*failure("Failed", LATE), *failure("Expected equality", "1", "2")), GOOD_CASE], 1,
     ["2 passed, 1 failed"], (1, 1)),
    ("a case that crashed once", [GOOD], [ctest("late: no end", ended=""), GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("a sanitizer's report once, at the end", [GOOD], [ctest(after=("==7==ERROR: LeakSanitizer: detected memory leaks",)), GOOD_CASE], 1,
     ["3 passed, 1 failed"], (1, 1)),
    ("a sanitizer's report once, in a late case", [GOOD],
     [ctest(*failure("Failed", LATE), "WARNING: ThreadSanitizer: data race (pid=7)"), GOOD_CASE], 1, ["2 passed, 1 failed"], (1, 1)),
    ("a case that the machine cannot run", [GOOD], [skipping("b_test")], 0,
     ["skipped wherever they were tried: ctest:b_test:B.One", "3 passed, 0 failed"], (1, 1)),
    ("a case that Linux runs, and no stage ran", [GOOD], [skipping("c_test")], 1,
     ["failed: ctest:c_test:B.One: no stage ran it, and tests/skips.txt says that Linux does", "3 passed, 1 failed"], (1, 1)),
    ("a case that skips itself without a line", [GOOD], [skipping("d_test")], 1, ["failed: ctest:d_test:B.One", "3 passed, 1 failed"], (1, 1)),
]


# What a change does to the part `leases` of --nightly, which reads tests/leases: description, changed files, committed, whether it runs, what is missing.
PARTS = "=LEASES\ttests/leases\nleases\tLEASES tests/soak/leases.sh\tleases\nother\t.\tall\n"
NIGHTLY = [
    ("the first time", {}, True, True, "other"),
    ("again", {}, True, False, "other"),
    ("another file", {"tests/hns/a": "1"}, True, False, "other"),
    ("a file that it reads", {"tests/leases/a": "1"}, True, True, "other"),
    ("a file that is not committed", {"tests/leases/a": "2"}, False, True, "leases other"),
    ("then committed", {}, True, True, "other"),
    ("and failed", {"tests/leases/fails": ""}, True, True, "leases other"),
    ("it is not recorded as passed", {}, True, True, "leases other"),
]


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def make_tree(tree):
    for name in RUNNER:
        write(tree / name, (ROOT / name).read_text(), 0o755)
    today = datetime.date.today()
    write(tree / "tests/flaky.tsv", f"netns:lease.kept\tbusy\t{today}\nctest:a_test:A.One\tbusy\t{today}\n")
    write(tree / "tests/times.tsv", "# never\n")
    write(tree / "tests/skips.txt", "# none\nb_test:B.One  no AVX-512\nc_test:*  no links under Wine; on Linux it runs\n")
    write(tree / "tests/parts.tsv", PARTS)
    write(tree / "tests/soak/leases.sh", """#!/bin/sh
[ -e tests/leases/fails ] && { echo "not ok leases: x"; echo "0 passed, 1 failed"; exit 1; }
echo "ok leases (1.0 s)"; echo "1 passed, 0 failed"
""", 0o755)
    write(tree / "tests/a_test.cc", "TEST(A, One) {}\n")
    write(tree / "tests/netns/lease_test.py", "")
    write(tree / "tests/netns/run.sh", SUITE.format(name="netns"), 0o755)
    write(tree / "bin/ctest", SUITE.format(name="ctest"), 0o755)
    for name in ("bin/cmake", "cmake/bootstrap.sh"):
        write(tree / name, "#!/bin/sh\n", 0o755)
    write(tree / ".gitignore", "build/\n*.runs\nnetns.*\nctest.*\n__pycache__/\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], *[["commit", "-q", "--allow-empty", "-m", "later"]] * 30):
        git(tree, *words)


def git(tree, *words):
    subprocess.run(["git", "-C", tree, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True)


def run_tests(tree, *words):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("WEFT_", "GTEST_"))}
    environment |= {"PATH": f"{tree}/bin:{os.environ['PATH']}", "WEFT_DEPS": str(tree / "build/deps")}
    done = subprocess.run([tree / "tests/run.sh", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=100)
    return done.returncode, done.stdout


def run(tree, netns_runs, ctest_runs):
    for folder, name, runs in ((tree / "tests/netns", "netns", netns_runs), (tree / "bin", "ctest", ctest_runs)):
        for old in folder.glob(f"{name}.*"):
            old.unlink()
        for number, text in enumerate(runs):
            (folder / f"{name}.{number}").write_text(text + "\n")
    status, text = run_tests(tree)
    counts = tuple(int((folder / f"{name}.runs").read_text()) for folder, name in ((tree / "tests/netns", "netns"), (tree / "bin", "ctest")))
    return status, text, counts


failed = 0
with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder)
    make_tree(tree)
    for description, netns_runs, ctest_runs, status, lines, counts in ROWS:
        got, text, ran = run(tree, netns_runs, ctest_runs)
        if (got, ran) != (status, counts) or not all(line in text.splitlines() for line in lines) or text.splitlines()[-1] != lines[-1]:
            failed += 1
            print(f"{description}: exit status {got}, suites ran {ran} times; expected {status}, {counts}, {lines}:\n{text}")
    for description, files, committed, runs, missing in NIGHTLY:
        for name, text in files.items():
            write(tree / name, text)
        if committed:
            git(tree, "add", "-A")
            git(tree, "commit", "-q", "--allow-empty", "-m", description)
        _, text = run_tests(tree, "--nightly", "leases")
        found = " ".join(line.split()[0] for line in text.splitlines() if line.endswith(" missing"))
        if ("soak-leases ..." in text, found) != (runs, missing):
            failed += 1
            print(f"{description}: expected {'a run' if runs else 'no run'}, missing: {missing}; got:\n{text}")
    # What builds ahead is killed: each that waits for it ends.
    write(tree / "bin/cmake", "#!/bin/sh\n[ \"$*\" != '--build --preset windows' ] || kill -KILL 0\n", 0o755)
    status, text = run_tests(tree, "--all")
    if status != 1 or not {f"failed: {name}: exit status 137" for name in ("windows", "peers", "asan", "tsan", "bench")} <= set(text.splitlines()):
        failed += 1
        print(f"a builder that was killed: exit status {status}:\n{text}")
print(f"{len(ROWS) + len(NIGHTLY) + 1 - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
