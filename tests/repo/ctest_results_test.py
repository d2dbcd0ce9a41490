#!/usr/bin/env python3
"""tests/repo/ctest_results.py: a log of CTest, and the verdicts that tests/run.sh counts."""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ctest_results  # noqa: E402

SUM = "100% tests passed, 0 tests failed out of 1"


def ended(name, verdict):
    return f" 1/1 Test #1: {name} .........{verdict:>9}    0.01 sec"


def whole(*lines, announced, verdict="   Passed"):
    return [f"1: [==========] Running {announced} tests from 1 test suite.", *(f"1: {line}" for line in lines),
            f" 1/1 Test #1: a_test .........{verdict}    0.01 sec", SUM]


OK, FAILED = "[       OK ] A.One (0 ms)", "[  FAILED  ] A.Two, where GetParam() = 7 (1 ms)"

# given, its lines, the rows
LOGS = [
    ("a case by itself", [ended("a_test:A.One", "Passed"), SUM], [("passed", "a_test:A.One")]),
    ("a failed one", [ended("a_test:A.One", "***Failed"), SUM], [("failed", "a_test:A.One")]),
    ("one without an end", [ended("a_test:A.One", "***Timeout"), SUM], [("failed", "a_test:A.One")]),
    ("a skipped one", [ended("a_test:A.One", "***Skipped"), SUM], [("skipped", "a_test:A.One")]),
    ("Wine leaves the remark", [ended('a_test:A.One/x  # GetParam() = "x"', "Passed"), SUM], [("passed", "a_test:A.One/x")]),
    ("no GoogleTest", [ended("b_replay", "Passed"), SUM], [("passed", "b_replay")]),
    ("a program", whole(OK, "[  SKIPPED ] A.Three/0 (0 ms)", announced=2), [("passed", "a_test:A.One"), ("skipped", "a_test:A.Three/0")]),
    ("a shard of a program", [line.replace("a_test", "a_test#1") for line in whole(OK, announced=1)], [("passed", "a_test:A.One")]),
    ("a program that aborted", [ended("a_test:A.One", "Subprocess aborted***Exception:"), SUM], [("failed", "a_test:A.One")]),
    ("a program with a failed case", whole(OK, FAILED, "[  FAILED  ] A.Two", announced=2, verdict="***Failed"),
     [("passed", "a_test:A.One"), ("failed", "a_test:A.Two")]),
    ("a case that printed half a line", whole("half" + OK, announced=1), [("passed", "a_test:A.One")]),
    ("a program that died during a case", whole(OK, "[ RUN      ] A.Two", announced=2, verdict="***Failed"),
     [("passed", "a_test:A.One"), ("failed", "a_test")]),
    ("one that died after its cases", whole(OK, announced=1, verdict="***Failed"), [("passed", "a_test:A.One"), ("failed", "a_test")]),
    ("one that left early with success", whole(OK, announced=2), [("passed", "a_test:A.One"), ("failed", "a_test")]),
    ("two programs at a time", ["2: [==========] Running 1 test from 1 test suite.", *whole(OK, "2: not ours", announced=1)[:-1],
                                "2: [       OK ] B.One (0 ms)", " 2/2 Test #2: b_test .........   Passed    0.01 sec",
                                "100% tests passed, 0 tests failed out of 2"], [("passed", "a_test:A.One"), ("passed", "b_test:B.One")]),
    ("a test of the sum did not end", [ended("a_test:A.One", "Passed"), "100% tests passed, 0 tests failed out of 2"],
     [("passed", "a_test:A.One"), ("failed", "ctest")]),
    ("CTest was ended", [ended("a_test:A.One", "Passed")], [("passed", "a_test:A.One"), ("failed", "ctest")]),
    ("nothing", [], [("failed", "ctest")]),
]

failed = 0
for given, lines, rows in LOGS:
    found = [row[:2] for row in ctest_results.results(lines)]
    if found != rows:
        failed += 1
        print(f"{given}: {found}, not {rows}")
shown = [row[2] for row in ctest_results.results(whole("[ RUN      ] A.One", OK, "[ RUN      ] A.Two", "why", FAILED, announced=2))][1]
if shown != ["[ RUN      ] A.Two", "why", FAILED]:
    failed += 1
    print(f"what the failed one printed: {shown}")
sys.exit(failed != 0)
