"""Moves much, hashed, both ways, and balances the books: sent = received + the sum of named counters."""

import argparse
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "netns"))

from lab import cases, ledger, namespace, node, topology, traffic  # noqa: E402

GIB = 1 << 30


def move_tcp(one, other, size):
    done = traffic.tcp(one.pod, other.pod, other.pod_ip, size, seed=11 if one.name == "a" else 12, timeout=3600)
    return f"{size / GIB:g} GiB, digest {done['digest']} at both ends, {done['gbit_per_second']:.2f} Gb/s"


def move_udp(one, other, count, rate):
    books, received = ledger.balance_udp(one, other, size=64, flows=16, count=count, rate=rate, idle=2, timeout=600)
    return f"{books}, {received['mpps'] * 1e6:,.0f} a second"


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    parser = argparse.ArgumentParser(prog="tests/soak/transfer.sh")
    parser.add_argument("--short", action="store_true", help="256 MiB and 100,000 datagrams")
    parser.add_argument("--subject", choices=["weft", "kernel"], default="weft")
    chosen = parser.parse_args()
    size, count = (GIB // 4, 100_000) if chosen.short else (10 * GIB, 1_000_000)

    signal.signal(signal.SIGTERM, interrupted)
    namespace.delete_leftovers()
    reasons = []

    def work():
        with topology.pair(topology.KINDS[chosen.subject], node.KernelNode, without_ipv6=True) as lab:
            lab.up()
            a, b = lab.nodes
            for one, other in ((a, b), (b, a)):
                way = f"{one.kind}-to-{other.kind}"
                for name, move in ((f"tcp-{way}", lambda o=one, p=other: move_tcp(o, p, size)),
                                   (f"udp-paced-{way}", lambda o=one, p=other: move_udp(o, p, count, 20_000 if chosen.short else 50_000)),
                                   (f"udp-flood-{way}", lambda o=one, p=other: move_udp(o, p, count, None))):
                    began, report = time.monotonic(), []
                    reasons.append(cases.judge(lambda: report.append(move())))
                    passed = f"ok {name} ({time.monotonic() - began:.1f} s): {''.join(report)}"
                    print(f"not ok {name}: {reasons[-1]}" if reasons[-1] else passed, flush=True)

    if reason := cases.judge(work):  # the start, or how the daemon ended
        reasons.append(reason)
        print(f"not ok lab: {reason}")
    failed = sum(map(bool, reasons))
    print(f"{len(reasons) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        namespace.delete_own()
