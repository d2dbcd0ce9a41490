"""Superframes: cut by default, so that every rule of the host holds for them; sent whole (tunnel GSO) where an operator asks for it."""

import os
import re
import signal
import subprocess
import time

from lab import capture, command, namespace, node, topology, traffic

from path_mtu_test import routed

MIB = 1 << 20
DEVICE = node.SUPERFRAMES


def way(each, device=node.DEVICE):
    return each.tunnel(device).get("superframes")


def wait_way(each, begin, device=node.DEVICE):
    command.wait_until(lambda: way(each, device).startswith(begin), lambda: f"superframes of {each.name}: {way(each, device)}", timeout=5)
    return way(each, device)


def sent_whole(each, device=node.DEVICE):
    """Superframes so far."""
    return each.tunnel(device)["superframesWhole"]


def whole_of_tcp(a, b, device=node.DEVICE, address=None, size=MIB):
    """How many superframes of a stream, which arrives, leave whole."""
    before = sent_whole(a, device)
    traffic.tcp(a.pod, b.pod, address or b.pod_ip, size)
    return sent_whole(a, device) - before


def expect_whole(a, b, whole=True, device=node.DEVICE, address=None, size=8 * MIB):
    """TCP arrives, its superframes on this way."""
    count = whole_of_tcp(a, b, device, address, size)
    command.expect(count > 10 if whole else count == 0, f"{count} superframes were sent whole, superframes: {way(a, device)}")


def test_both_ways():
    with topology.pair(node.WholeNode, node.WholeNode) as lab:
        lab.up()
        a, b = lab.nodes
        for each, other in ((a, b), (b, a)):
            wait_way(each, "whole")
            expect_whole(each, other, size=32 * MIB)
        before = sent_whole(a)
        sent, received = traffic.udp(a.pod, b.pod, b.pod_ip, seed=7, size=1400, gso=44, count=44 * 50, rate=20000)
        command.expect(received["datagrams"] > 0 and received["corrupt"] == 0, f"UDP superframes: sent {sent}, received {received}")
        command.expect(sent_whole(a) > before, "no UDP superframe was sent whole")
        for text in (way(a), next(line for line in a.log_text().splitlines() if f"superframes are sent whole through {DEVICE}" in line)):
            command.expect("past the host's OUTPUT, POSTROUTING and netdev egress chains" in text, f"what they bypass: {text}")


def test_both_ways_ipv6():
    with topology.pair(node.WholeNode, node.WeftNode, ipv4=False, ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "whole", node.DEVICE6)
        expect_whole(a, b, device=node.DEVICE6, address=b.pod_ip6)


def test_kernel_peer():
    with topology.pair(node.WholeNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "whole")
        expect_whole(a, b, size=32 * MIB)
        traffic.tcp(b.pod, a.pod, a.pod_ip, 32 * MIB)


def as_on_a_wire(**options):
    """The kernel cuts before the link; every frame there is well-formed and fits, and a Linux peer accepts it."""
    with topology.pair(node.WholeNode, node.KernelNode, **options) as lab:
        lab.up()
        a, b = lab.nodes
        topology.no_offloads(a.host, b.host)
        device = node.DEVICE6 if options.get("ipv6") else node.DEVICE
        address = b.pod_ip6 if options.get("ipv6") else b.pod_ip
        wait_way(a, "whole", device)
        with capture.Capture(lab, b.host) as frames:
            expect_whole(a, b, device=device, address=address, size=2 * MIB)
            before = sent_whole(a, device)
            traffic.udp(a.pod, b.pod, address, seed=7, size=1300, gso=40, count=400, rate=20000)
            command.expect(sent_whole(a, device) > before, "no UDP superframe was sent whole")
        rows = frames.rows(["frame.len", "ip.checksum.status", "udp.checksum.status", "tcp.checksum.status", "_ws.malformed"])
        long = [row for row in rows if int(row["frame.len"][0]) > 1400]
        command.expect(len(long) > 1400, f"{len(long)} long frames of {len(rows)}")
        command.expect(all(int(row["frame.len"][0]) <= 1514 for row in rows), "a frame is longer than the link's MTU")
        for row in rows:
            command.expect(not row["_ws.malformed"], f"malformed: {row}")
            for field in ("ip.checksum.status", "udp.checksum.status", "tcp.checksum.status"):
                command.expect(set(row[field]) <= {"1"}, f"a checksum is missing or wrong: {row}")


def test_as_on_a_wire():
    as_on_a_wire()


def test_as_on_a_wire_ipv6():
    as_on_a_wire(ipv4=False, ipv6=True)


def test_path_mtu():
    """ICMP errors for superframes reach the sockets whose source ports they have."""
    with routed(node.WholeNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "whole")
        expect_whole(a, b)
        peer = next(each for each in a.status()["peers"] if each["node"] == "b")
        command.expect_equal(peer.get("pathMTU"), 1400, "path MTU in status")
        expect_whole(a, b)
        # Lower still, while the connection runs.
        receiving = traffic.Sink(b.pod, "tcp-sink")
        sending = a.pod.start(topology.find_program("traffic"), "tcp-send", f"--to={b.pod_ip}", f"--bytes={256 * MIB}", "--seed=3", stdout=subprocess.DEVNULL)
        time.sleep(0.2)
        for router in lab.closing:
            router.ip("link set middle mtu 1300")
        command.finish(sending, "the sender", 30)
        command.expect_equal(sending.returncode, 0, "exit code of the sender")
        command.expect_equal(receiving.report()["bytes"], 256 * MIB, "bytes received")


def test_the_device_ends_alone():
    """Another program sets it down or deletes it: superframes are cut, and no other packet notices."""
    with topology.pair(node.WholeNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "whole")
        tunnel = a.host.devices()[node.DEVICE]["ifindex"]
        with traffic.nothing_lost((a.pod, b.pod_ip)):
            for change, begin in ((f"set {DEVICE} down", f"cut: the device {DEVICE} is down"), (f"set {DEVICE} up", "whole"),
                                  (f"del {DEVICE}", f"cut: the device {DEVICE} was deleted")):
                receiving = traffic.Sink(b.pod, "tcp-sink")
                sending = a.pod.start(topology.find_program("traffic"), "tcp-send", f"--to={b.pod_ip}", f"--bytes={64 * MIB}", "--seed=3",
                                      stdout=subprocess.DEVNULL)
                a.host.ip(f"link {change}")
                command.finish(sending, "the sender", 30)
                command.expect_equal(receiving.report()["bytes"], 64 * MIB, f"bytes received over link {change}")
                wait_way(a, begin)
                expect_whole(a, b, whole=begin == "whole")
        command.expect_equal(a.host.devices()[node.DEVICE]["ifindex"], tunnel, "the pods' device")


def test_packets_keep_their_order():
    """RPS, which a tuning script may set on all devices, would let a socket's packets overtake superframes."""
    with topology.pair(node.WholeNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "whole")
        cpus = f"/sys/class/net/{DEVICE}/queues/rx-0/rps_cpus"
        a.host.run("sh", "-c", f"echo 3 > {cpus}")
        command.expect(cpus in wait_way(a, "cut: RPS is on"), f"the reason: {way(a)}")
        before = sent_whole(a)
        sent, received = traffic.udp(a.pod, b.pod, b.pod_ip, seed=7, size=1400, gso=40, count=40_000, rate=40_000)
        command.expect_equal(received["late"], 0, f"datagrams out of order: sent {sent}, received {received}")
        command.expect_equal(sent_whole(a), before, "superframes sent whole")
        a.host.run("sh", "-c", f"echo 0 > {cpus}")
        wait_way(a, "whole")
        expect_whole(a, b)


class WithoutBpf(node.WholeNode):
    under = ("setpriv", "--bounding-set=-bpf,-sys_admin")


def test_without_the_capability():
    with topology.pair(WithoutBpf, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        command.expect("CAP_BPF" in wait_way(a, "cut: "), f"the reason: {way(a)}")
        expect_whole(a, b, whole=False)
        command.expect(DEVICE not in a.host.run("ip", "-o", "link"), "the device exists")


def test_another_route():
    """Packets to a peer behind another device stay with sockets, from the moment that the route changes."""
    with topology.pair(node.WholeNode, node.WeftNode) as lab:
        a, b = lab.nodes
        namespace.connect(a.host, "u1", b.host, "u1", 1500)
        lab.up()
        wait_way(a, "whole")
        expect_whole(a, b)
        b.host.sysctl(net__ipv4__conf__u1__rp_filter=0, net__ipv4__conf__all__rp_filter=0)
        for change, whole in (("add", False), ("del", True)):
            a.host.ip(f"route {change} 192.168.77.2/32 dev u1")
            command.wait_until(lambda: bool(whole_of_tcp(a, b)) == whole, f"the notification of route {change}", timeout=2)
            expect_whole(a, b, whole=whole)


def test_a_crash_leaves_nothing():
    with topology.pair(node.WholeNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "whole")
        a.down(signal.SIGKILL)  # compares the host with what it was
        command.expect(DEVICE not in a.host.run("ip", "-o", "link"), "the device is left")
        a.up()
        wait_way(a, "whole")
        expect_whole(a, b)


KERNEL = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())

if KERNEL < (6, 17):
    for name in [each for each in globals() if each.startswith("test_")]:
        del globals()[name]

    def test_an_old_kernel():
        with topology.pair(node.WholeNode, node.WeftNode) as lab:
            lab.up()
            a, b = lab.nodes
            command.expect_equal(way(a), "cut: the kernel has no tunnel GSO for TAP devices (Linux 6.17)", "the way")
            expect_whole(a, b, whole=False)


def counted(where, chain):
    """Bytes of the only counter."""
    return int(re.search(r"counter packets \d+ bytes (\d+)", where.run("nft", "list", "chain", *chain.split()))[1])


def test_every_rule_of_the_host_holds():
    """By default, for superframes as for other packets, as with the kernel's own device; also where Network contains the nodes."""
    datagrams = ("--size=1400", "--gso=40", "--count=400")
    for kind, network in ((node.WeftNode, "10.244.0.0/16"), (node.WeftNode, "192.168.0.0/16"), (node.KernelNode, "10.244.0.0/16")):
        with topology.pair(kind, node.KernelNode, network=network) as lab:
            lab.up()
            a, b = lab.nodes
            if kind == node.WeftNode:
                command.expect_equal(way(a), "cut", "the way")
            command.expect(DEVICE not in a.host.devices(), "the device exists")
            b.host.run("nft", "add table ip f; add chain ip f in { type filter hook input priority 0; }; add rule ip f in udp dport 4789 counter")
            traffic.udp(a.pod, b.pod, b.pod_ip, size=1400, gso=40, count=400, expected=400)
            for chain, hook in (("netdev f out", "egress device u0"), ("ip f out", "output")):
                table = chain.removesuffix(" out")
                a.host.run("nft", f"add table {table}; add chain {chain} {{ type filter hook {hook} priority 0; }}; "
                           f"add rule {chain} udp dport 4789 counter drop")
                before = counted(b.host, "ip f in")
                command.expect(traffic.ping_fails(a.pod, b.pod_ip), f"pings pass {hook}")
                a.pod.run("timeout", "1", topology.find_program("traffic"), "udp-send", f"--to={b.pod_ip}", *datagrams, check=False)
                command.wait_until(lambda: counted(a.host, chain) > 400 * 1400, f"all superframes at the rule of {hook}", timeout=5)
                command.expect_equal(counted(b.host, "ip f in"), before, f"bytes that passed {hook}")
                a.host.run("nft", f"delete table {table}")
