#!/usr/bin/env python3
"""The result of each test in a log of `ctest -V`, one `verdict<TAB>name` a line; then, with --failed, the output of the first failed ones.

A GoogleTest program that is one ctest counts as its cases, named as CTest names discovered ones: program:Suite.Case. It counts itself
where it failed and none of its cases did, or where it ran another number of cases than it had announced.
"""

import re
import sys

VERDICT = re.compile(r"^ *\d+/\d+ +Test +#(\d+): (.*?) \.*(?:   |[A-Za-z ]*\*\*\*)([A-Z][A-Za-z ]*[a-z])")
CASE = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^ ,]+).*\(\d+ ms\)$")
ANNOUNCED = re.compile(r"^\[=+\] Running (\d+) tests? from")
SHOWN_TESTS, SHOWN_LINES = 5, 40


class Program:
    """One ctest: its lines, and the cases in them."""

    def __init__(self):
        self.lines, self.cases, self.announced = [], [], None
        self.began = 0  # the line of the case under way

    def take(self, line):
        if announced := ANNOUNCED.match(line):
            self.announced = int(announced[1])
        if line.startswith("[ RUN "):
            self.began = len(self.lines)
        self.lines.append(line)
        if self.announced is not None and (case := CASE.search(line)):
            verdict = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[case[1]]
            self.cases.append((verdict, case[2], self.lines[self.began:]))


def results(log):
    """(verdict, name, lines) of each test."""
    programs, ended_tests, all_tests = {}, 0, None
    for line in log:
        line = line.rstrip("\n")
        if printed := re.match(r"(\d+): ?(.*)", line):
            programs.setdefault(printed[1], Program()).take(printed[2])
        elif ended := VERDICT.match(line):
            number, name, word = ended.groups()
            ended_tests += 1
            program = programs.pop(number, Program())
            # Under Wine CTest leaves GoogleTest's remark in the name.
            name = re.sub(r"  # GetParam\(\) = .*", "", name).rstrip()
            verdict = {"Passed": "passed", "Skipped": "skipped"}.get(word, "failed")
            if program.announced is None or ":" in name:
                yield verdict, name, program.lines
                continue
            name = re.sub(r"#\d+$", "", name)  # a shard of it
            for case_verdict, case, lines in program.cases:
                yield case_verdict, f"{name}:{case}", lines
            failed = any(case[0] == "failed" for case in program.cases)
            if len(program.cases) != program.announced or (verdict == "failed" and not failed):
                yield "failed", name, program.lines[-SHOWN_LINES:]
        elif total := re.match(r"\d+% tests passed, \d+ tests? failed out of (\d+)$", line):
            all_tests = int(total[1])
    if all_tests != ended_tests:
        yield "failed", "ctest", [f"{ended_tests} tests ended, and its sum is of {all_tests or 'none'}"]


def main():
    show = sys.argv[1] == "--failed"
    with open(sys.argv[-1], encoding="utf-8", errors="replace") as log:
        shown = 0
        for verdict, name, lines in results(log):
            if not show:
                print(verdict, name, sep="\t")
            elif verdict == "failed" and shown < SHOWN_TESTS:
                shown += 1
                print(f"{name}:", *lines[:SHOWN_LINES], sep="\n    ")


if __name__ == "__main__":
    main()
