"""A daemon that ends and restarts while pods talk: their connections outlive it."""

import signal

from lab import command, ledger, node, topology, traffic

MIB = 1 << 20


def moved(a, direction):
    return a.tunnel()[direction]["octets"]


def restart_under_traffic(how, exit_code):
    """A TCP stream each way, the end of the daemon in its middle. The streams outlive it, and afterwards every packet is accounted for."""
    with topology.pair(node.WeftNode, node.KernelNode, without_ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        for one, other, direction in ((a, b, "toWire"), (b, a, "toPods")):
            before = moved(a, direction)
            stream = command.Background(lambda: traffic.tcp(one.pod, other.pod, other.pod_ip, 1024 * MIB, timeout=60))
            command.wait_until(lambda: moved(a, direction) - before >= 32 * MIB, lambda: f"{direction}: {stream.outcome()}", timeout=10)
            command.expect_equal(a.down(how), exit_code, f"exit code after {how.name}")
            command.expect(node.DEVICE not in a.host.devices(), f"the device outlived {how.name}")
            a.up()
            stream.result()
            # The new daemon counts from zero: had the stream been over before, it would have nothing to count.
            command.expect(moved(a, direction) >= 32 * MIB, f"{direction}: only {moved(a, direction)} bytes after the restart")
        for one, other in ((a, b), (b, a)):
            ledger.balance_udp(one, other, size=64, flows=16, count=20_000, rate=20_000, idle=0.5)


def test_terminated():
    restart_under_traffic(signal.SIGTERM, 0)


def test_killed():
    restart_under_traffic(signal.SIGKILL, -signal.SIGKILL)
