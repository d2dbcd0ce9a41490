"""A daemon that ends and restarts while pods talk: their connections outlive it."""

import json
import os
import re
import signal

from lab import command, ledger, node, topology, traffic

MIB = 1 << 20


def moved(a, direction):
    return a.tunnel()[direction]["bytes"]


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
            ledger.balance_udp(one, other, size=64, flows=16, count=20_000, rate=20_000, expected=20_000, idle=3)


def test_terminated():
    restart_under_traffic(signal.SIGTERM, 0)


def test_killed():
    restart_under_traffic(signal.SIGKILL, -signal.SIGKILL)


def test_killed_while_its_source_is_away():
    """The tunnel works again from the journal, although nobody can say which leases there are; the source's answer replaces them."""
    with topology.pair(node.WeftNode, node.KernelNode, without_ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        command.wait_until(lambda: os.path.exists(a.path("state/journal.json")), "no journal")
        nodes = a.path("nodes.json")
        os.rename(nodes, nodes + ".away")
        interval = 0.01
        pings = a.pod.start("ping", "-n", "-D", "-i", str(interval), b.pod_ip, stdout=open(a.path("pings"), "w", encoding="utf-8"))  # noqa: SIM115
        answers = lambda: len(re.findall("bytes from", open(a.path("pings"), encoding="utf-8").read()))  # noqa: E731, SIM115
        command.wait_until(lambda: answers() > 20, "no answer before")
        command.expect_equal(a.down(signal.SIGKILL), -signal.SIGKILL, "exit code")
        a.spawn()
        before = answers()
        command.wait_until(lambda: answers() > before + 100, lambda: f"no answer from the journal: {a.last_words()}", timeout=15)
        command.stop(pings, signal.SIGINT)
        times = [float(each) for each in re.findall(r"\[([0-9.]+)\] \d+ bytes from", open(a.path("pings"), encoding="utf-8").read())]  # noqa: SIM115
        gap = max(after - earlier for earlier, after in zip(times, times[1:]))
        print(f"   {gap * 1000:.0f} ms without an answer, from the kill to the new tunnel")
        command.expect_equal(a.health("/healthz")[0], 200, "healthz from the journal")
        code, text = a.health("/readyz")
        command.expect(code == 503 and "leases of the journal" in text, f"readyz from the journal: {code} {text}")
        waited = a.host.run(lab.program("flannelctl"), "wait", "--for=network", "--timeout=0s", f"--admin={a.path('admin.sock')}")
        command.expect_equal(waited.strip(), "network", "flannelctl wait --for=network")
        # The peer is gone when the source says so.
        with open(nodes + ".away", encoding="utf-8") as file:
            document = json.load(file)
        document["items"] = [each for each in document["items"] if each["metadata"]["name"] != b.name]
        with open(nodes + ".new", "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.rename(nodes + ".new", nodes)
        a.wait_ready()
        command.expect(traffic.ping_fails(a.pod, b.pod_ip), "the deleted peer is still reached")
        os.rename(nodes + ".away", nodes)
        command.wait_until(lambda: len(a.leases()["leases"]) == 2, "the peer is not back")
        traffic.ping(a.pod, b.pod_ip)
