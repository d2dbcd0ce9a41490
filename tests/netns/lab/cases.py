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


def choose(tests, names):
    """Those whose name begins with one of `names`; all without any. Failure for a name that fits none."""
    for name in names:
        command.expect(any(test.startswith(name) for test, _ in tests), f"no test {name}; see --list")
    return [(test, function) for test, function in tests if not names or any(test.startswith(name) for name in names)]


def judge(function, *arguments, **options):
    """None, or why it failed."""
    try:
        function(*arguments, **options)
        return None
    except command.Failure as failure:
        return "\n".join([str(failure), *getattr(failure, "__notes__", [])])
    except Exception as error:  # a defect of the test or something that it did not expect
        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
