"""Tests as functions test_* of the files *_test.py in a folder: finding, choosing and judging them."""

import glob
import importlib
import inspect
import os
import sys
import traceback

from . import command


def find(folder):
    """[(name, function)] such as "forwarding.tcp_ipv4", in the order of the files."""
    tests = []
    sys.path.insert(0, folder)
    for path in sorted(glob.glob(os.path.join(folder, "*_test.py"))):
        stem = os.path.basename(path)[:-len("_test.py")]
        module = importlib.import_module(stem + "_test")
        for name, function in vars(module).items():
            if name.startswith("test_") and inspect.isfunction(function):
                tests.append((f"{stem}.{name[len('test_'):]}", function))
    return tests


KINDS = ("late", "peer")  # how the reason of a test begins that tests/run.sh may repeat


def choose(tests, names, exactly=None):
    """The one called `exactly`, or those whose name begins with one of `names`; all without any. Failure for a name that fits none."""
    if exactly:
        command.expect(any(test == exactly for test, _ in tests), f"no test {exactly}; see --list")
        return [each for each in tests if each[0] == exactly]
    for name in names:
        command.expect(any(test.startswith(name) for test, _ in tests), f"no test {name}; see --list")
    return [(test, function) for test, function in tests if not names or any(test.startswith(name) for name in names)]


def judge(function, *arguments, **options):
    """None, or why it failed: `late: WHY` where late waits are all that is wrong, `peer: WHY` where a PeerFailure is, late waits or not."""
    text = kind = None
    with command.late_waits() as late:
        try:
            function(*arguments, **options)
        except Exception as error:
            kind = "peer" if getattr(error, "peer", False) else None
            if isinstance(error, command.Failure):
                text = "\n".join([str(error), *getattr(error, "__notes__", [])])
            else:  # a defect of the test or something that it did not expect
                text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    if late and not text:
        return reason("late", "; ".join(late))
    return text and reason(kind, "\nand late: ".join([text, *late]))


def reason(kind, text):
    if kind:
        return f"{kind}: {text}"
    return text if not kind_of(text) else f"failed: {text}"


def kind_of(text):
    return next((kind for kind in KINDS if text.startswith(f"{kind}: ")), None)


def merge(reasons):
    """One of all (None: nothing was wrong): late or a peer's only if each is."""
    found = sorted((each for each in reasons if each), key=lambda each: bool(kind_of(each)))  # what must not be repeated begins
    kinds = [kind_of(each) for each in found]
    if not found or not kinds[0]:
        return "\nand then: ".join(found) or None
    return reason(max(kinds), "; ".join(each.partition(": ")[2] for each in found))
