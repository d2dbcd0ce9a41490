"""Finds the tests (functions test_* of *_test.py beside this file) and runs them one after another."""

import argparse
import glob
import importlib
import inspect
import os
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lab import command, namespace, topology  # noqa: E402


def find_tests():
    """[(name, function)] such as "forwarding.tcp_ipv4", in the order of the files."""
    tests = []
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sorted(glob.glob(os.path.join(here, "*_test.py"))):
        stem = os.path.basename(path)[:-len("_test.py")]
        module = importlib.import_module(stem + "_test")
        for name, function in vars(module).items():
            if name.startswith("test_") and inspect.isfunction(function):
                tests.append((f"{stem}.{name[len('test_'):]}", function))
    return tests


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def run_one(name, function, subject):
    """None, or why it failed."""
    parameters = inspect.signature(function).parameters
    arguments = {"subject": topology.KINDS[subject]} if "subject" in parameters else {}
    try:
        function(**arguments)
        return None
    except command.Failure as failure:
        return str(failure)
    except Exception as error:  # a defect of the test or something that it did not expect
        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    finally:
        namespace.delete_own()


def main():
    parser = argparse.ArgumentParser(prog="tests/netns/run.sh")
    parser.add_argument("--list", action="store_true", help="the names, one a line")
    parser.add_argument("--subject", choices=["weft", "kernel"], default="weft",
                        help="kernel: prove the harness, a kernel VXLAN device in weft's place; tests of weft alone are left out")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a test, or the first part of some")
    chosen = parser.parse_args()

    tests = find_tests()
    if chosen.names:
        for name in chosen.names:
            if not any(test.startswith(name) for test, _ in tests):
                print(f"tests/netns: no test {name}; see --list", file=sys.stderr)
                return 2
        tests = [(test, function) for test, function in tests if any(test.startswith(name) for name in chosen.names)]
    if chosen.subject == "kernel":
        tests = [(test, function) for test, function in tests if "subject" in inspect.signature(function).parameters]
    if chosen.list:
        print("\n".join(test for test, _ in tests))
        return 0

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    namespace.delete_leftovers()
    failed = []
    for name, function in tests:
        topology.Lab.logs = os.path.join(topology.build_folder(), "netns-logs", name)
        began = time.monotonic()
        reason = run_one(name, function, chosen.subject)
        if reason is None:
            print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        else:
            failed.append(name)
            print(f"not ok {name}: {reason}", flush=True)
    if failed:
        print(f"logs: {os.path.join(topology.build_folder(), 'netns-logs')}")
    print(f"{len(tests) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt as reason:
        print(f"tests/netns: interrupted {reason}", file=sys.stderr)
        sys.exit(130)
    finally:
        namespace.delete_own()
