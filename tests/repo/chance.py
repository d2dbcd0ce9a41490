#!/usr/bin/env python3
"""The rule on chance: what is repeated of a run's failed tests, and what that makes of them.

  chance.py settle RESULTS COMMANDS            repeats the late tests of RESULTS and those that a peer failed, and rewrites their verdicts
  chance.py measure COUNT COMMANDS [NAME...]   runs tests COUNT times beside a CPU load; NAME is SUITE:TEST or its first part

RESULTS has a line a test that ran: verdict, SUITE:TEST, stage, seconds, text. COMMANDS has a line a stage: its name, its suite, the command that
runs all of it. Late: all that is wrong with the test is a wait that ended after its limit. Peer: a wait for what is not weft's never ended.
Everything else that is wrong is never repeated.
"""

import ctypes
import datetime
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

import ctest_results

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 2  # tests of one run that may be flaky
REPETITIONS = 2
TOUCHED = 30  # the newest commits: no test of a file that they changed is repeated
KNOWN_DAYS = 14  # how long a line of tests/flaky.tsv holds
LIMIT_SECONDS = 1800  # of one repetition
LINE = re.compile(r"^(not )?ok ([^ :]+)(?:: (.*))?")


class Load:
    """Every core is busy while it lasts."""

    def __enter__(self):
        def die_with_parent():
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)

        self.loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=die_with_parent) for _ in range(os.cpu_count())]
        return self

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def kind(reason):
    """The verdict of a failed test, by the first word of its reason."""
    return next((word for word in ("late", "peer") if reason.startswith(word + ": ")), "failed")


def words_for(suite, test, command):
    """The command that runs one test of a stage, and additions to its environment."""
    words = shlex.split(command)
    if suite == "ctest":
        program, _, case = test.partition(":")
        # The same case under either name: a program that is two ctests, or a case that is one.
        pattern = f"^({re.escape(program)}#[0-9]+|{re.escape(test)})$"
        return [*words, "-R", pattern], {"GTEST_FILTER": case} if case else {}
    if suite.startswith(("netns", "e2e")):
        return [*words, "--exactly", test], {}
    return words, {}


def run_once(suite, test, command):
    """(verdict, text) of one run of it, alone."""
    words, more = words_for(suite, test, command)
    process = subprocess.Popen(words, cwd=ROOT, env=os.environ | more, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output = process.communicate(timeout=LIMIT_SECONDS)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "failed", f"no end within {LIMIT_SECONDS} s"
    if suite == "ctest":
        ran = [(verdict, text) for verdict, name, _, text, _ in ctest_results.results(output.splitlines())
               if name == test or name.startswith(test + ":")]
    else:
        ran = [("passed", "") if not found[1] else (kind(found[3] or ""), found[3] or "")
               for found in map(LINE.match, output.splitlines()) if found and found[2] == test]
    if not ran:
        return "failed", f"it did not run: {' '.join(output.split())[-200:]}"
    bad = next((each for each in ran if each[0] != "passed"), None)
    if bad is None and process.returncode != 0:
        return "failed", f"exit status {process.returncode}"
    return bad or ran[0]


def test_file(name, root=ROOT):
    """The file of SUITE:TEST, relative to the tree; None where it is not known."""
    suite, _, test = name.partition(":")
    folder = next((folder for folder in ("netns", "e2e") if suite.startswith(folder)), None)
    if folder:
        return f"tests/{folder}/{test.split('.')[0]}_test.py"
    if suite != "ctest":
        return None
    # Built/ChecksumKernels.Agree/avx2 is TEST_P(ChecksumKernels, Agree).
    found = re.search(r"(?:.*/)?([A-Za-z0-9_]+)(?:/\d+)?\.([A-Za-z0-9_]+)", test.partition(":")[2])
    if not found:
        return None
    declared = re.compile(rf"TEST(_F|_P)?\(\s*{found[1]},\s*{found[2]}\)")
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".cc", ".h") and declared.search(path.read_text(errors="replace")):
            return path.relative_to(root).as_posix()
    return None


def touched_files(root=ROOT):
    """What the newest commits changed, and what is not committed."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True).stdout.splitlines()

    return set(git("log", f"-{TOUCHED}", "--format=", "--name-only")) | set(git("diff", "--name-only", "HEAD"))


def known(path, today):
    """{name: (cause, whether the line still holds)} of tests/flaky.tsv."""
    found = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, cause, date = line.split("\t")
            found[name] = cause, (today - datetime.date.fromisoformat(date)).days <= KNOWN_DAYS
    return found


def settle(rows, commands, touched, lines, run=run_once, where=test_file, load=Load):
    """The rows with no late and no peer left: flaky or failed, and what to print."""
    settled, said = [], []
    late = [row for row in rows if row[0] in ("late", "peer")]
    for row in rows:
        if row not in late:
            settled.append(row)
            continue
        _, name, stage, seconds, text = row
        why = None
        file = where(name)
        if len(late) > MOST:
            why = f"not repeated: {len(late)} tests of this run would be, and {MOST} may"
        elif file is None:
            why = "not repeated: its file is not known"
        elif file in touched:
            why = f"not repeated: one of the last {TOUCHED} commits, or a change not committed, touched {file}"
        else:
            why = repeat(name, commands[stage], run, load)
            if why is None and name not in lines:
                why = f"flaky, and tests/flaky.tsv has no line of it; find the cause and write one: {name}, cause, date"
            elif why is None and not lines[name][1]:
                why = f"flaky, and its line in tests/flaky.tsv is older than {KNOWN_DAYS} days; mend it"
        if why is None:
            settled.append(["flaky", name, stage, seconds, text])
            said.append(f"flaky: {name} ({stage}): {text}\n       known cause: {lines[name][0]}")
        else:
            settled.append(["failed", name, stage, seconds, f"{text}; {why}"])
            said.append(f"failed: {name} ({stage}): {text}\n        {why}")
    return settled, said


def repeat(name, stage, run, load):
    """None if it passed each time, or what it did instead."""
    suite, command = stage
    with load():
        for number in range(1, REPETITIONS + 1):
            verdict, text = run(suite, name.partition(":")[2], command)
            if verdict != "passed":
                return f"repetition {number}, alone beside a CPU load: {verdict} {text}"
    return None


def read_commands(path):
    """{stage: (suite, command)}"""
    return {stage: (suite, command) for stage, suite, command in (line.split("\t") for line in path.read_text().splitlines())}


def main_settle(results, commands):
    rows = [line.split("\t", 4) for line in results.read_text(errors="replace").splitlines()]
    if any(row[0] in ("late", "peer") for row in rows):
        rows, said = settle(rows, read_commands(commands), touched_files(), known(ROOT / "tests" / "flaky.tsv", datetime.date.today()))
        print(*said, sep="\n", flush=True)
        results.write_text("".join("\t".join(row) + "\n" for row in rows))


def listed(suite, command):
    """The tests of a suite's stage."""
    words = shlex.split(command)
    if suite == "ctest":
        found = subprocess.run([*words, "-N"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return list(dict.fromkeys(each[1] for each in re.finditer(r"^ *Test +#\d+: (.*?)(?:#\d+)?$", found, re.M)))
    return subprocess.run([*words, "--list"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def measure(count, commands, names):
    """Exit status 0: no test failed. Prints each test's failures per thousand runs."""
    chosen = [(f"{suite}:{test}", suite, test, command) for suite, command in commands.values() for test in listed(suite, command)
              if not names or any(f"{suite}:{test}".startswith(name) for name in names)]
    if not chosen:
        print(f"no test is called {' or '.join(names)}; a name is SUITE:TEST, as in the sum of a run", file=sys.stderr)
        return 2
    total = 0
    with Load():
        for name, suite, test, command in chosen:
            seen, first = {}, ""
            for _ in range(count):
                verdict, text = run_once(suite, test, command)
                seen[verdict] = seen.get(verdict, 0) + 1
                first = first or (text if verdict != "passed" else "")
            bad = count - seen.pop("passed", 0)
            total += bad
            each = ", ".join(f"{number} {verdict}" for verdict, number in sorted(seen.items()))
            print(f"{name}: {bad} of {count} failed, {1000 * bad / count:.1f} per thousand" + (f" ({each}); the first: {first}" if bad else ""), flush=True)
    print(f"{len(chosen)} tests, {count} runs each, {total} failed")
    return 1 if total else 0


if __name__ == "__main__":
    if sys.argv[1] == "settle":
        main_settle(*map(pathlib.Path, sys.argv[2:4]))
    else:
        sys.exit(measure(int(sys.argv[2]), read_commands(pathlib.Path(sys.argv[3])), sys.argv[4:]))
