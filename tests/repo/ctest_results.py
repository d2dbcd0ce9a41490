#!/usr/bin/env python3
"""The result of each test in a log of `ctest -V`, one `verdict<TAB>name<TAB>seconds<TAB>text` a line; then, with --failed, the output of the first
failed ones. Verdicts: passed, failed, skipped; late and peer if a case ended, and every failure in it is one of tests/support/wait.h's.

A GoogleTest program that is one ctest counts as its cases, named as CTest names discovered ones: program:Suite.Case. It counts itself
where it failed and none of its cases did, or where it ran another number of cases than it had announced.
"""

import itertools
import re
import sys

VERDICT = re.compile(r"^ *\d+/\d+ +Test +#(\d+): (.*?) \.*(?:   |[A-Za-z ]*\*\*\*)([A-Z][A-Za-z ]*[a-z])(?:.* ([\d.]+) sec)?")
CASE = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] ([^ ,]+).*\((\d+) ms\)$")
ANNOUNCED = re.compile(r"^\[=+\] Running (\d+) tests? from")
FAILURE = re.compile(r"^(?:.*/(?=tests/))?(\S.*): Failure$")
REPORT = re.compile(r"[A-Z][a-z]+Sanitizer\b|: runtime error: ")
KINDS = "failed", "peer", "late"  # the worst first
SHOWN_TESTS, SHOWN_LINES, SHOWN_TEXT = 5, 40, 300


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
            lines = self.lines[self.began:]
            verdict, text = judged(lines) if case[1] == "FAILED" else ({"OK": "passed", "SKIPPED": "skipped"}[case[1]], "")
            self.cases.append((verdict, case[2], f"{int(case[3]) / 1000:g}", text, lines))

    def excused(self, word):
        """Whether its failed cases account for how it ended. Late ones do not for a crash, a sanitizer's report or a failure after a case."""
        verdicts = {case[0] for case in self.cases}
        within = sum(failures(case[-1]) for case in self.cases)
        return "failed" in verdicts or (word == "Failed" and bool(verdicts & {"late", "peer"}) and failures(self.lines) == within)

    def end(self, word):
        """Why the program failed, where no case accounts for it."""
        cases = f"{len(self.cases)} of {self.announced} cases ended, and then: " if self.announced else ""
        return "; ".join(filter(None, (cases + word, judged(self.lines)[1])))


def failures(lines):
    return sum(1 for line in lines if FAILURE.match(line) or REPORT.search(line))


def judged(lines):
    """(verdict, text) of a failed case that printed these."""
    kinds, texts = set(), []
    for number, line in enumerate(lines):
        if where := FAILURE.match(line):
            message = list(itertools.takewhile(lambda line: line.strip() and not CASE.search(line), lines[number + 1:number + 6]))
            added = message[1] if message[:1] == ["Failed"] and len(message) > 1 else ""
            kind = added[:4] if added.startswith(("late: ", "peer: ")) else "failed"
            kinds.add(kind)
            text = f"{where[1]}: {' '.join(message)}"[:SHOWN_TEXT] if kind == "failed" else added
            texts.append((KINDS.index(kind), " ".join(text.split())))
    if report := next(filter(REPORT.search, lines), None):
        kinds.add("failed")
        texts.append((0, report.strip()))
    verdict = "failed" if not kinds else next(kind for kind in KINDS if kind in kinds)
    return verdict, "; ".join(dict.fromkeys(text for _, text in sorted(texts, key=lambda each: each[0])))[:2 * SHOWN_TEXT]


def results(log):
    """(verdict, name, seconds, text, lines) of each test."""
    programs, ended_tests, all_tests = {}, 0, None
    for line in log:
        line = line.rstrip("\n")
        if printed := re.match(r"(\d+): ?(.*)", line):
            programs.setdefault(printed[1], Program()).take(printed[2])
        elif ended := VERDICT.match(line):
            number, name, word, seconds = ended.groups(default="0")
            ended_tests += 1
            program = programs.pop(number, Program())
            # Under Wine CTest leaves GoogleTest's remark in the name.
            name = re.sub(r"  # GetParam\(\) = .*", "", name).rstrip()
            verdict = {"Passed": "passed", "Skipped": "skipped"}.get(word, "failed")
            if program.announced is None or ":" in name:
                text = "" if verdict != "failed" else program.end(word)
                if verdict == "failed" and program.excused(word):
                    verdict, _, _, text, _ = program.cases[0]
                yield verdict, name, seconds, text, program.lines
                continue
            name = re.sub(r"#\d+$", "", name)  # a shard of it
            for case_verdict, case, *rest in program.cases:
                yield case_verdict, f"{name}:{case}", *rest
            if len(program.cases) != program.announced or (verdict == "failed" and not program.excused(word)):
                yield "failed", name, seconds, program.end(word), program.lines[-SHOWN_LINES:]
        elif total := re.match(r"\d+% tests passed, \d+ tests? failed out of (\d+)$", line):
            all_tests = int(total[1])
    if all_tests != ended_tests:
        text = f"{ended_tests} tests ended, and its sum is of {all_tests or 'none'}"
        yield "failed", "ctest", "0", text, [text]


def main():
    show = sys.argv[1] == "--failed"
    with open(sys.argv[-1], encoding="utf-8", errors="replace") as log:
        shown = 0
        for verdict, name, seconds, text, lines in results(log):
            if not show:
                print(verdict, name, seconds, text, sep="\t")
            elif verdict == "failed" and shown < SHOWN_TESTS:
                shown += 1
                print(f"{name}:", *lines[:SHOWN_LINES], sep="\n    ")


if __name__ == "__main__":
    main()
