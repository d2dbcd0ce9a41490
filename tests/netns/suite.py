"""Finds the tests (functions test_* of *_test.py in this folder) and runs them one after another."""

import argparse
import inspect
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from lab import cases, command, namespace, topology  # noqa: E402


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def run_one(name, function, subject):
    """None, or why it failed."""
    parameters = inspect.signature(function).parameters
    arguments = {"subject": topology.KINDS[subject]} if "subject" in parameters else {}
    try:
        return cases.judge(function, **arguments)
    finally:
        namespace.delete_own()


def main():
    parser = argparse.ArgumentParser(prog="tests/netns/run.sh")
    parser.add_argument("--list", action="store_true", help="the names, one a line")
    parser.add_argument("--subject", choices=["weft", "kernel"], default="weft",
                        help="kernel: prove the harness, a kernel VXLAN device in weft's place; tests of weft alone are left out")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a test, or the first part of some")
    chosen = parser.parse_args()

    try:
        tests = cases.choose(cases.find(HERE), chosen.names)
    except command.Failure as failure:
        print(f"tests/netns: {failure}", file=sys.stderr)
        return 2
    left_out = [test for test, function in tests if chosen.subject == "kernel" and "subject" not in inspect.signature(function).parameters]
    tests = [(test, function) for test, function in tests if test not in left_out]
    if chosen.list:
        print("\n".join(test for test, _ in tests))
        return 0
    for test in left_out:
        print(f"left out {test}: of weft alone")
    if not tests:
        print("tests/netns: no test is left", file=sys.stderr)
        return 2

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
