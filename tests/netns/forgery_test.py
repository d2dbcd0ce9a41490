"""What an attacker who is not on the path can do with forged ICMP errors, and what a path that is really so narrow does."""

import socket
import struct

from lab import command, frames, node, topology, traffic

MIB = 1 << 20
PORTS = range(49152, 65536)  # all that a VTEP may send from


def quoted(source, destination, source_port):
    udp = struct.pack("!HHHH", source_port, 4789, 1000, 0)
    if ":" in source:
        addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
        return struct.pack("!IHBB", 6 << 28, 1000, 17, 64) + addresses + udp
    return frames.ipv4(source, destination, udp, ttl=60, total_length=1020)


def forge(where, a, b, mtu, ports=PORTS):
    """"Fragmentation needed", or "packet too big", for each port that a might send to b from; `where` has an address of its own."""
    v6 = ":" in a
    with where.entered():
        raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) if v6 else \
            socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with raw:
        for port in ports:
            offending = quoted(a, b, port)
            message = struct.pack("!BBHI", 2, 0, 0, mtu) if v6 else struct.pack("!BBHI", 3, 4, 0, mtu)
            message += offending
            if not v6:
                message = message[:2] + struct.pack("!H", frames.checksum(message)) + message[4:]
            raw.sendto(message, (a, 0))


def pair(ipv6=False):
    return topology.pair(node.WeftNode, node.KernelNode, ipv4=not ipv6, ipv6=ipv6)


def kernel_count(a, name, device):
    return next((each["value"] for each in a.tunnel(device)["kernel"] if each["name"] == name), 0)


def path_mtu(a):
    return next(each for each in a.status()["peers"] if each["node"] == "b").get("pathMTU")


class Family:
    def __init__(self, lab, ipv6):
        a, b = lab.nodes
        self.addresses = (a.lease.public_ip6, b.lease.public_ip6) if ipv6 else (a.lease.public_ip, b.lease.public_ip)
        self.pod = b.pod_ip6 if ipv6 else b.pod_ip
        self.device = node.DEVICE6 if ipv6 else node.DEVICE
        self.least = 1280 if ipv6 else 552
        self.attacker = "fd77::66/64" if ipv6 else "192.168.77.66/24"


def before_traffic(ipv6):
    """An error for a port that sent nothing lately is no answer."""
    with pair(ipv6) as lab:
        a, b = lab.nodes
        family = Family(lab, ipv6)
        b.host.ip(f"addr add {family.attacker} dev u0" + (" nodad" if ipv6 else ""))
        lab.up()
        forge(b.host, *family.addresses, 68)
        command.wait_until(lambda: kernel_count(a, "icmp-unexpected", family.device), "forged errors are counted", timeout=20)
        command.expect_equal(path_mtu(a), None, "path MTU that forged errors taught")
        traffic.ping(a.pod, family.pod, size=1430 if ipv6 else 1450, fragment=False)
        command.expect_equal(path_mtu(a), None, "path MTU after the first large packet")
        traffic.tcp(a.pod, b.pod, family.pod, 8 * MIB)


def test_before_traffic():
    before_traffic(ipv6=False)


def test_before_traffic_ipv6():
    before_traffic(ipv6=True)


def during_traffic(ipv6, mtus):
    """All ports are tried, so some match. TCP gets slower and does not stop."""
    for mtu in mtus:
        with pair(ipv6) as lab:
            a, b = lab.nodes
            family = Family(lab, ipv6)
            b.host.ip(f"addr add {family.attacker} dev u0" + (" nodad" if ipv6 else ""))
            lab.up()
            before = traffic.iperf(a.pod, b.pod, family.pod, seconds=1)
            running = command.Background(lambda: traffic.iperf(a.pod, b.pod, family.pod, seconds=3))
            while running.running() and path_mtu(a) is None:
                forge(b.host, *family.addresses, mtu)
            running.result()
            command.expect(path_mtu(a) is not None, "no forged error was believed: this test tests nothing")
            # The best of up to three: were each below a tenth by chance, on a busy machine, once in a hundred times, all three are once in a million.
            after = []
            while len(after) < 3 and not (after and after[-1] >= before / 10):
                after.append(traffic.iperf(a.pod, b.pod, family.pod, seconds=1))
            command.expect(after[-1] >= before / 10, f"forged MTU {mtu}: TCP {before:.2f} Gb/s before, {after} after")
            traffic.ping(a.pod, family.pod, size=family.least, fragment=False)
            if mtu < family.least + (70 if ipv6 else 50):
                peer = next(each for each in a.status()["peers"] if each["node"] == "b")
                command.expect(peer.get("sentWithoutDF", 0) > 0, f"what went without DF is not counted: {peer}")
                text = a.host.run(lab.program("flannelctl"), "status", "--admin", a.path("admin.sock"), check=False)
                command.expect("less than pods can follow" in text, f"status does not say so: {text}")


def test_during_traffic():
    during_traffic(False, (68, 590, 600))


def test_during_traffic_ipv6():
    during_traffic(True, (1280,))
