"""The packets that weft sends, as tshark reads them, and those that it accepts."""

import socket

from lab import command, frames, node, topology, traffic
from lab.capture import Capture

OUTER = ["vxlan.vni", "vxlan.flags", "udp.srcport", "udp.dstport", "udp.length", "udp.checksum", "udp.checksum.status",
         "ip.src", "ip.dst", "ip.len", "ip.ttl", "ip.flags.df", "ip.dsfield.ecn", "ip.checksum.status", "eth.src", "eth.dst",
         "frame.len"]
GOOD = "1"  # tshark's checksum status


def check_outer(lab, row, source, destination, ephemeral):
    """One frame with an inner IPv4 packet over an IPv4 underlay."""
    command.expect_equal(row["vxlan.vni"], ["4096"], "VNI")
    command.expect_equal(row["vxlan.flags"], ["0x0800"], "VXLAN flags")
    command.expect_equal(row["udp.dstport"][0], "4789", "outer destination port")
    if ephemeral:
        command.expect(49152 <= int(row["udp.srcport"][0]) <= 65535, f"outer source port {row['udp.srcport'][0]}")
    command.expect_equal([row["ip.src"][0], row["ip.dst"][0]], [source.lease.public_ip, destination.lease.public_ip], "outer addresses")
    command.expect_equal([row["eth.src"][1], row["eth.dst"][1]], [source.lease.mac, destination.lease.mac], "inner MACs")
    outer, inner = int(row["ip.len"][0]), int(row["ip.len"][1])
    command.expect_equal(outer, inner + 50, "outer length")
    command.expect_equal(int(row["udp.length"][0]), outer - 20, "UDP length")
    command.expect_equal(int(row["frame.len"][0]), outer + 14, "frame length")
    command.expect_equal(row["ip.checksum.status"], [GOOD, GOOD], "IP checksums")
    command.expect_equal(row["ip.ttl"][0], "64", "outer TTL")


def test_ipv4(subject):
    with topology.pair(subject, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        topology.no_offloads(a.host, b.host)
        with Capture(lab, b.host) as capture:
            traffic.tcp(a.pod, b.pod, b.pod_ip, 200_000)
            traffic.udp(a.pod, b.pod, b.pod_ip, size=1400, count=200, gso=40, idle=0.2)
            traffic.ping(a.pod, b.pod_ip, size=1450)
        weft = subject is node.WeftNode
        rows = capture.rows(OUTER, f"ip.src == {a.lease.public_ip}")
        command.expect(len(rows) > 300, f"only {len(rows)} frames captured")
        for row in rows:
            check_outer(lab, row, a, b, ephemeral=weft)
            if weft:
                command.expect(row["ip.flags.df"][0] in ("1", "True"), f"outer DF: {row['ip.flags.df']}")  # tshark 4.0, 4.4
            command.expect(all(status == GOOD for status in row["udp.checksum.status"]), f"UDP checksum of {row}")
        command.expect(max(int(row["ip.len"][0]) for row in rows) == 1500, "no frame of full size was seen")
        bad = capture.rows(["frame.number"], "tcp.checksum.status == 0 || icmp.checksum.status == 0 || _ws.malformed")
        command.expect(not bad, f"frames with a wrong inner checksum or malformed: {bad[:5]}")


def test_no_udp_checksum():
    """--udp-checksum=false: the outer checksum is zero, as RFC 7348 recommends."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up(udp_checksum="false")
        a, b = lab.nodes
        topology.no_offloads(a.host, b.host)
        with Capture(lab, b.host) as capture:
            traffic.tcp(a.pod, b.pod, b.pod_ip, 100_000)
        rows = capture.rows(["udp.checksum"], f"ip.src == {a.lease.public_ip}")
        command.expect_equal({row["udp.checksum"][0] for row in rows}, {"0x0000"}, "outer UDP checksums")


def test_ipv6(subject):
    with topology.pair(subject, node.KernelNode, ipv4=False, ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        topology.no_offloads(a.host, b.host)
        with Capture(lab, b.host) as capture:
            traffic.tcp(a.pod, b.pod, b.pod_ip6, 200_000)
            traffic.ping(a.pod, b.pod_ip6, size=1430)
        rows = capture.rows(["vxlan.vni", "udp.dstport", "udp.checksum.status", "ipv6.src", "ipv6.dst", "ipv6.plen", "ipv6.hlim",
                             "eth.src", "eth.dst"], f"ipv6.src == {a.lease.public_ip6}")
        command.expect(len(rows) > 100, f"only {len(rows)} frames captured")
        for row in rows:
            command.expect_equal(row["vxlan.vni"], ["4096"], "VNI")
            command.expect_equal(row["udp.dstport"][0], "4789", "outer destination port")
            command.expect_equal(row["udp.checksum.status"][0], GOOD, "outer UDP checksum (RFC 8200: never zero)")
            command.expect_equal([row["ipv6.src"][0], row["ipv6.dst"][0]], [a.lease.public_ip6, b.lease.public_ip6], "outer addresses")
            command.expect_equal([row["eth.src"][1], row["eth.dst"][1]], [a.lease.mac6, b.lease.mac6], "inner MACs")
            command.expect_equal(int(row["ipv6.plen"][0]), int(row["ipv6.plen"][1]) + 70, "outer payload length")
            command.expect_equal(row["ipv6.hlim"][0], "64", "outer hop limit")
        command.expect(max(int(row["ipv6.plen"][0]) for row in rows) == 1460, "no frame of full size was seen")


def test_ecn_to_wire():
    """RFC 6040 section 4.1, normal mode: the outer header has the inner header's value (Linux itself still writes ECT(0) for CE)."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        with Capture(lab, b.host) as capture:
            def requests():
                return capture.rows(["ip.dsfield.ecn"], f"ip.src == {a.lease.public_ip} && icmp.type == 8")

            for ecn in range(4):
                a.pod.run("ping", "-n", "-c", "1", "-W", "10", "-Q", str(ecn), b.pod_ip)
            command.wait_until(lambda: len(requests()) >= 4, lambda: f"requests captured: {requests()}", timeout=10)
        rows = requests()
        command.expect_equal([row["ip.dsfield.ecn"] for row in rows], [[str(ecn)] * 2 for ecn in range(4)], "ECN outer, inner")


def test_ecn_to_pods(subject):
    """RFC 6040 figure 4: congestion on the underlay reaches a pod that speaks ECN; one that does not loses the packet."""
    with topology.pair(subject, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        with a.pod.entered():
            pod = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        pod.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        pod.bind((a.pod_ip, 9))
        pod.settimeout(20)
        expected = {(0, 0): 0, (1, 1): 1, (2, 2): 2, (0, 2): 2, (3, 1): 3, (3, 2): 3, (3, 3): 3, (1, 2): 1, (2, 1): 1}
        for (outer, inner), result in expected.items():
            packet = bytearray(frames.udp(b.pod_ip, a.pod_ip, data=bytes([outer, inner])))
            packet[1] = inner
            packet[10:12] = b"\0\0"
            packet[10:12] = frames.checksum(bytes(packet[:20])).to_bytes(2, "big")
            with frames.Underlay(b.host, b.lease.public_ip, a.lease.public_ip, ecn=outer) as underlay:
                underlay.send(frames.vxlan(frames.ethernet(a.lease.mac, b.lease.mac, bytes(packet))))
            try:
                data, ancillary, _, _ = pod.recvmsg(100, 100)
            except TimeoutError:
                raise command.Failure(f"outer ECN {outer}, inner {inner}: lost") from None
            command.expect_equal((data, ancillary[0][2][0] & 3), (bytes([outer, inner]), result), f"ECN outer {outer}, inner {inner}")
        pod.close()
