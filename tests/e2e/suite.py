"""Runs the tests (functions test_* of *_test.py in this folder) on one cluster, one after another."""

import argparse
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cluster  # noqa: E402,F401  (makes the lab importable)
from cluster.cluster import Cluster  # noqa: E402
from cluster.site import Site  # noqa: E402
from lab import cases, command, namespace  # noqa: E402


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def run_one(site, subject, name, function):
    """None, or why it failed. An interruption leaves everything to the site's end."""
    scene = Cluster(site, subject, name)
    failure = cases.merge([cases.judge(function, scene), cases.judge(scene.inspect), cases.judge(scene.close)])
    return "\n".join([failure, *map(last_lines, scene.members.values())]) if failure else None


def up(site, again):
    """None where it is up, or what is wrong; Failure where it does not come up a second time, so that no test could run."""
    if site.api:
        return None
    began = time.monotonic()
    reason = cases.judge(site.up)
    if site.api:
        print(f"cluster up in {time.monotonic() - began:.1f} s; logs: {site.logs}", flush=True)
        return reason
    reason = cases.merge([reason, cases.judge(site.close)])  # what has died is named again
    command.expect(not again, f"the cluster does not come up, twice: {reason}")
    return reason


def last_lines(member):
    lines = member.log_text().splitlines()[-8:] if os.path.exists(member.log_path()) else ["none"]
    return "\n".join([f"last lines of {member.name}'s flanneld:", *(f"    {line[:300]}" for line in lines)])


def main():
    parser = argparse.ArgumentParser(prog="tests/e2e/run.sh")
    parser.add_argument("--list", action="store_true", help="the names, one a line")
    parser.add_argument("--subject", choices=["weft", "upstream"], default="weft",
                        help="upstream: prove the lab, upstream's flanneld in weft's place; tests that it cannot pass are left out")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a test, or the first part of some, of either tier")
    parser.add_argument("--tier", choices=["gate", "nightly", "all"], help="gate without names; nightly: what the gate leaves out")
    parser.add_argument("--exactly", metavar="NAME", help="this test alone, whatever NAMEs are given")
    chosen = parser.parse_args()
    try:
        tests = cases.choose(cases.find(HERE), chosen.names, chosen.exactly)
    except command.Failure as failure:
        print(f"tests/e2e: {failure}", file=sys.stderr)
        return 2
    left_out = {}
    if chosen.subject == "weft":
        left_out |= {test: "of upstream alone" for test, function in tests if hasattr(function, "upstream_only")}
    else:
        left_out |= {test: "of weft alone" for test, function in tests if hasattr(function, "weft_only")}
        left_out |= {test: "the same with either subject" for test, _ in tests if test.startswith("windows")}
    tier = chosen.tier or ("all" if chosen.names or chosen.exactly or chosen.list else "gate")
    if tier != "all":
        left_out |= {test: "of the other tier" for test, function in tests if hasattr(function, "nightly") == (tier == "gate")}
    tests = [(test, function) for test, function in tests if test not in left_out]
    if chosen.list:
        print("\n".join(test for test, _ in tests))
        return 0
    for test, why in left_out.items():
        print(f"left out {test}: {why}")
    if not tests:
        print("tests/e2e: no test is left", file=sys.stderr)
        return 2

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    namespace.delete_leftovers()
    failed = []
    site = Site()
    try:
        for name, function in tests:
            began = time.monotonic()
            reason = up(site, again=bool(failed))
            if site.api:
                reason = cases.merge([reason, run_one(site, chosen.subject, name, function)])
            if reason is None:
                print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
            else:
                failed.append(name)
                print(f"not ok {name}: {reason}", flush=True)
    finally:
        site.close()
    print(f"{len(tests) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt as reason:
        print(f"tests/e2e: interrupted {reason}", file=sys.stderr)
        sys.exit(130)
    except command.Failure as failure:
        print(f"tests/e2e: {failure}", file=sys.stderr)
        sys.exit(1)
    finally:
        namespace.delete_own()
