"""Superframes that are sent whole (tunnel GSO), and everything that makes flanneld cut them."""

import os
import re
import signal
import subprocess
import time

from lab import capture, command, namespace, node, topology, traffic

from path_mtu_test import routed

MIB = 1 << 20
DEVICE = node.SUPERFRAMES
NFT_DROP = "add table ip f; add chain ip f out { type filter hook output priority 0; }; add rule ip f out udp dport 4789 drop"


def way(each, device=node.DEVICE):
    return each.tunnel(device).get("superframes")


def wait_way(each, begin, device=node.DEVICE):
    command.wait_until(lambda: way(each, device).startswith(begin), lambda: f"superframes of {each.name}: {way(each, device)}", timeout=5)
    return way(each, device)


def sent_whole(each, device=node.DEVICE):
    """Superframes so far."""
    return each.tunnel(device)["superframesUncut"]


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
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        for each, other in ((a, b), (b, a)):
            wait_way(each, "uncut")
            expect_whole(each, other, size=32 * MIB)
        before = sent_whole(a)
        sent, received = traffic.udp(a.pod, b.pod, b.pod_ip, seed=7, size=1400, gso=44, count=44 * 50, rate=20000)
        command.expect(received["datagrams"] > 0 and received["corrupt"] == 0, f"UDP superframes: sent {sent}, received {received}")
        command.expect(sent_whole(a) > before, "no UDP superframe was sent whole")
        command.wait_until(lambda: "superframes are sent uncut through " + DEVICE in a.log_text(), "the way in the log", timeout=5)


def test_both_ways_ipv6():
    with topology.pair(node.WeftNode, node.WeftNode, ipv4=False, ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut", node.DEVICE6)
        expect_whole(a, b, device=node.DEVICE6, address=b.pod_ip6)


def test_kernel_peer():
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut")
        expect_whole(a, b, size=32 * MIB)
        traffic.tcp(b.pod, a.pod, a.pod_ip, 32 * MIB)


def as_on_a_wire(**options):
    """The kernel cuts before the link; every frame there is well-formed and fits, and a Linux peer accepts it."""
    with topology.pair(node.WeftNode, node.KernelNode, **options) as lab:
        lab.up()
        a, b = lab.nodes
        topology.no_offloads(a.host, b.host)
        device = node.DEVICE6 if options.get("ipv6") else node.DEVICE
        address = b.pod_ip6 if options.get("ipv6") else b.pod_ip
        wait_way(a, "uncut", device)
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
    with routed(node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut")
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


def test_a_rule_of_nftables():
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        a, b = lab.nodes
        a.host.run("nft", NFT_DROP)
        lab.up()
        reason = wait_way(a, "cut: nftables")
        command.expect("chain ip f out, rule" in reason and "drops" in reason, f"the reason: {reason}")
        command.expect(traffic.ping_fails(a.pod, b.pod_ip), "the rule has no effect")
        a.host.run("nft", "flush chain ip f out")
        wait_way(a, "uncut")
        expect_whole(a, b)
        for rule in ("udp dport 4789 drop", "ip daddr 192.168.77.0/24 counter drop", "meta l4proto udp mark set 7", "oifname u0 log"):
            a.host.run("nft", f"add rule ip f out {rule}")
            wait_way(a, "cut: nftables")
            a.host.run("nft", "flush chain ip f out")
            wait_way(a, "uncut")
        a.host.run("nft", "add rule ip f out udp dport 4789 drop")
        wait_way(a, "cut: nftables")
        command.expect(traffic.ping_fails(a.pod, b.pod_ip), "the later rule has no effect")
        # Superframes obey it too.
        before = b.tunnel()["toPods"]["bytes"]
        a.pod.run("sh", "-c", f"timeout 1 {topology.find_program('traffic')} udp-send --to={b.pod_ip} --size=1400 --gso=40 --count=400", check=False)
        command.expect_equal(b.tunnel()["toPods"]["bytes"], before, "bytes that arrived in spite of the rule")
        command.wait_until(lambda: "superframes are cut before they are sent: nftables" in a.log_text(), "the reason in the log", timeout=5)


def test_rules_of_other_traffic():
    """Those that Kubernetes and Docker make do not concern nodes' packets."""
    rules = ("-N KUBE-SERVICES", "-A OUTPUT -m comment --comment x -j KUBE-SERVICES",
             "-A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.244.1.5",
             "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j DNAT --to-destination 10.0.0.1",
             "-N KUBE-NODEPORTS", "-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS",
             "-A KUBE-NODEPORTS -p tcp -m tcp --dport 30080 -j DNAT --to-destination 10.244.1.6",
             "-N KUBE-POSTROUTING", "-A POSTROUTING -j KUBE-POSTROUTING",
             "-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN",
             "-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000", "-A KUBE-POSTROUTING -j MASQUERADE --random-fully",
             "-N FLANNEL-POSTRTG", "-A POSTROUTING -j FLANNEL-POSTRTG",
             "-A FLANNEL-POSTRTG -m mark --mark 0x4000/0x4000 -j RETURN",
             "-A FLANNEL-POSTRTG -s 10.244.1.0/24 -d 10.244.0.0/16 -j RETURN",
             "-A FLANNEL-POSTRTG -s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE",
             "-A FLANNEL-POSTRTG ! -s 10.244.0.0/16 -d 10.244.1.0/24 -j RETURN",
             "-A FLANNEL-POSTRTG ! -s 10.244.0.0/16 -d 10.244.0.0/16 -j MASQUERADE",
             "-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE")
    filters = ("-N KUBE-FIREWALL", "-A OUTPUT -j KUBE-FIREWALL",
               "-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
               "-A OUTPUT -m conntrack --ctstate NEW -j ACCEPT")
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up(ip_masq="true")
        a, b = lab.nodes
        for table, each in [("nat", rule) for rule in rules] + [("filter", rule) for rule in filters]:
            a.host.run("iptables-nft", "-t", table, *each.split())
        # Reports come in order: once this rule was seen, those before were.
        a.host.run("iptables-nft", "-A", "OUTPUT", "-p", "udp", "--dport", "4789", "-j", "DROP")
        wait_way(a, "cut: nftables' chain ip filter OUTPUT")
        a.host.run("iptables-nft", "-D", "OUTPUT", "-p", "udp", "--dport", "4789", "-j", "DROP")
        wait_way(a, "uncut")
        expect_whole(a, b)
        a.host.run("iptables-nft", "-P", "OUTPUT", "DROP")
        wait_way(a, "cut: the policy of nftables' chain ip filter OUTPUT")
        for table in ("nat", "filter"):
            a.host.run("nft", "delete", "table", "ip", table)
        wait_way(a, "uncut")


def test_other_rules_of_the_host():
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut")
        for add, remove, begin in (
                ("ip rule add to 192.168.77.2 lookup 100 pref 50", "ip rule del pref 50", "cut: the host has a routing rule of priority 50"),
                ("ip xfrm policy add src 10.9.0.0/16 dst 10.8.0.0/16 dir out", "ip xfrm policy flush", "cut: the host has IPsec"),
                ("iptables-legacy -A OUTPUT -p udp --dport 4789 -j ACCEPT", None, "cut: the host has tables of iptables-legacy")):
            a.host.run(*add.split())
            wait_way(a, begin)
            expect_whole(a, b, whole=False)
            if remove:
                a.host.run(*remove.split())
                wait_way(a, "uncut")
        a.host.run("iptables-legacy", "-D", "OUTPUT", "-p", "udp", "--dport", "4789", "-j", "ACCEPT")


def test_the_flag():
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up(superframes="cut")
        a, b = lab.nodes
        command.expect_equal(way(a), "cut: --superframes=cut", "the way")
        expect_whole(a, b, whole=False)
        command.expect(DEVICE not in a.host.run("ip", "-o", "link"), "the device exists")


class WithoutBpf(node.WeftNode):
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
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        a, b = lab.nodes
        namespace.connect(a.host, "u1", b.host, "u1", 1500)
        lab.up()
        wait_way(a, "uncut")
        expect_whole(a, b)
        b.host.sysctl(net__ipv4__conf__u1__rp_filter=0, net__ipv4__conf__all__rp_filter=0)
        for change, whole in (("add", False), ("del", True)):
            a.host.ip(f"route {change} 192.168.77.2/32 dev u1")
            command.wait_until(lambda: bool(whole_of_tcp(a, b)) == whole, f"the notification of route {change}")
            expect_whole(a, b, whole=whole)


def test_a_crash_leaves_nothing():
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut")
        a.down(signal.SIGKILL)  # compares the host with what it was
        command.expect(DEVICE not in a.host.run("ip", "-o", "link"), "the device is left")
        a.up()
        wait_way(a, "uncut")
        expect_whole(a, b)


def test_the_device_is_made_again():
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut")
        a.host.ip(f"link del {DEVICE}")
        traffic.tcp(a.pod, b.pod, b.pod_ip, 8 * MIB)
        command.wait_until(lambda: DEVICE in a.host.run("ip", "-o", "link"), "the device", timeout=10)
        command.wait_until(lambda: a.health("/readyz")[0] == 200, "the tunnel", timeout=10)
        wait_way(a, "uncut")
        expect_whole(a, b)


def test_changes_while_packets_flow():
    with topology.pair(node.WeftNode, node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        wait_way(a, "uncut")
        receiving = traffic.Sink(b.pod, "tcp-sink")
        sending = a.pod.start(topology.find_program("traffic"), "tcp-send", f"--to={b.pod_ip}", f"--bytes={512 * MIB}", "--seed=3", stdout=subprocess.DEVNULL)
        for _ in range(10):
            a.host.ip("rule add pref 50 lookup main")
            time.sleep(0.1)
            a.host.ip("rule del pref 50")
            time.sleep(0.3)
            if sending.poll() is not None:
                break
        command.finish(sending, "the sender", 60)
        command.expect_equal(sending.returncode, 0, "exit code of the sender")
        command.expect_equal(receiving.report()["bytes"], 512 * MIB, "bytes received")
        dropped = [name for name in a.drops("toWire") if name != "group-destination"]
        command.expect(not dropped, f"packets dropped: {dropped}")


KERNEL = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", os.uname().release).groups())

if KERNEL < (6, 17):
    for name in [each for each in globals() if each.startswith("test_")]:
        del globals()[name]

    def test_an_old_kernel():
        with topology.pair(node.WeftNode, node.WeftNode) as lab:
            lab.up()
            a, b = lab.nodes
            command.expect_equal(way(a), "cut: the kernel has no tunnel GSO for TAP devices (Linux 6.17)", "the way")
            expect_whole(a, b, whole=False)
