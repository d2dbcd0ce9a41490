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



def block(*message):
    """GoogleTest's of a failure."""
    return ["/w/tests/a_test.cc:7: Failure", *message, ""]


LATE, PEER = "late: waited 5 s, came after 7.2 s: a_test.cc:7", "peer: wine64 did not start"
CAME_LATE, PEER_FAILED = block("Failed", LATE), block("Failed", PEER)
WRONG = block("Expected equality of these values:", "  1", "  2")
WRONG_TEXT = "tests/a_test.cc:7: Expected equality of these values: 1 2"
REPORT = "==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x1"


def failing(*lines, verdict="***Failed", then=()):
    """A program with a case that passed and one that printed these lines and failed."""
    return whole(OK, "[ RUN      ] A.Two", *lines, FAILED, *then, announced=2, verdict=verdict)


def alone(*lines, verdict="***Failed", then=()):
    """One case that is a ctest."""
    return ["1: [==========] Running 1 test from 1 test suite.", *(f"1: {line}" for line in ["[ RUN      ] A.Two", *lines, *then]),
            ended("a_test:A.Two", verdict), SUM]


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

# given, its lines, verdict and text of A.Two, whether its program failed, too
JUDGED = [
    ("late once", failing(*CAME_LATE), "late", LATE, False),
    ("late twice at one place", failing(*CAME_LATE, *CAME_LATE), "late", LATE, False),
    ("never", failing(*block("Value of: done()", "  Actual: false (did not come within 50 s)", "Expected: true")), "failed",
     "tests/a_test.cc:7: Value of: done() Actual: false (did not come within 50 s) Expected: true", False),
    ("a peer", failing(*PEER_FAILED), "peer", PEER, False),
    ("a peer, and late", failing(*CAME_LATE, *PEER_FAILED), "peer", f"{PEER}; {LATE}", False),
    ("late with a trace", failing("/w/tests/a_test.cc:7: Failure", "Failed", LATE, "Google Test trace:", "/w/tests/a_test.cc:3: 1", ""), "late", LATE, False),
    ("late, and a wrong value", failing(*CAME_LATE, *WRONG), "failed", f"{WRONG_TEXT}; {LATE}", False),
    ("a wrong value with the word late", failing(*block("Expected: late: x", "late: 1")), "failed", "tests/a_test.cc:7: Expected: late: x late: 1", False),
    ("late, and an exception", failing(*CAME_LATE, "unknown file: Failure", "C++ exception thrown", ""), "failed",
     f"unknown file: C++ exception thrown; {LATE}", False),
    ("late, and a sanitizer's report", failing(*CAME_LATE, REPORT), "failed", f"{REPORT}; {LATE}", False),
    ("a crash after a late case", failing(*CAME_LATE, verdict="***Exception: SegFault"), "late", LATE, True),
    ("a report after a late case", failing(*CAME_LATE, then=[REPORT]), "late", LATE, True),
    ("a failure after a late case", failing(*CAME_LATE, then=WRONG), "late", LATE, True),
    ("no reason", failing(), "failed", "", False),
    ("by itself late", alone(*CAME_LATE, FAILED), "late", LATE, False),
    ("by itself late, and it died", alone(*CAME_LATE), "failed", f"0 of 1 cases ended, and then: Failed; {LATE}", False),
    ("by itself late, and it crashed", alone(*CAME_LATE, FAILED, verdict="***Exception: SegFault"), "failed",
     f"1 of 1 cases ended, and then: Exception; {LATE}", False),
    ("by itself late, and a report at its end", alone(*CAME_LATE, FAILED, then=[REPORT]), "failed",
     f"1 of 1 cases ended, and then: Failed; {REPORT}; {LATE}", False),
    ("by itself wrong", alone(*WRONG[:-1], FAILED), "failed", WRONG_TEXT, False),
]

failed = 0
for given, lines, verdict, text, program in JUDGED:
    rows = list(ctest_results.results(lines))
    found = [(row[0], row[3]) for row in rows if row[1] == "a_test:A.Two"]
    if found != [(verdict, text)] or program != any(row[:2] == ("failed", "a_test") for row in rows):
        failed += 1
        print(f"{given}: {[row[:4] for row in rows]}")
seconds = [row[2] for row in ctest_results.results(whole("[       OK ] A.One (1234 ms)", announced=1) + [ended("b:B.One", "Passed"), SUM])][:2]
if seconds != ["1.234", "0.01"]:
    failed += 1
    print(f"seconds: {seconds}")
for given, lines, rows in LOGS:
    found = [row[:2] for row in ctest_results.results(lines)]
    if found != rows:
        failed += 1
        print(f"{given}: {found}, not {rows}")
shown = [row[-1] for row in ctest_results.results(whole("[ RUN      ] A.One", OK, "[ RUN      ] A.Two", "why", FAILED, announced=2))][1]
if shown != ["[ RUN      ] A.Two", "why", FAILED]:
    failed += 1
    print(f"what the failed one printed: {shown}")
sys.exit(failed != 0)
