"""Nodes whose pods send Ethernet frames to flanneld: --pod-device=tap, pcap:ADAPTER."""

import ipaddress
import socket
import struct

from . import capture, command, frames, namespace, node, traffic


class FramesNode(node.WeftNode):
    """Its pod is on flanneld's own segment: the host has no address there, and no route to it."""

    def join_pod(self):
        mtu = self.mtu - self.overhead()
        namespace.connect(self.pod, "e0", self.host, "pod", mtu)
        self.host.sysctl(net__ipv6__conf__pod__disable_ipv6=1)
        for subnet in filter(None, (self.lease.subnet, self.lease.subnet6)):
            length = ipaddress.ip_network(subnet).prefixlen
            self.pod.ip(f"addr add {node.pod_address(subnet)}/{length} dev e0 nodad" if ":" in subnet else
                        f"addr add {node.pod_address(subnet)}/{length} dev e0",
                        f"route add default via {node.gateway(subnet)} dev e0")

    def drop(self, name, direction="toWire"):
        return self.drops(direction, self.device).get(name, 0)

    def count(self, name):
        return next(each["value"] for each in self.tunnel(self.device)["kernel"] if each["name"] == name)

    def conditions(self):
        return " ".join(each["text"] for each in self.status()["checks"] if not each["ok"])


class PcapNode(FramesNode):
    device = "pod"

    def up(self, **options):
        super().up(pod_device="pcap:pod", **options)


class TapNode(FramesNode):
    """A bridge, as a CNI plugin makes it, whose ports are the pod and flanneld's device."""

    device = node.DEVICE

    def up(self, **options):
        super().up(pod_device="tap", **options)
        self.host.ip("link add br0 type bridge", "link set br0 up", "link set pod master br0", f"link set {self.device} master br0")

    def expect_unchanged_host(self):
        self.host.ip("link del br0")
        super().expect_unchanged_host()


def expect_gateway_answers(lab):
    """What the pod asks of its gateway and is told, as tshark reads it: ARP and neighbour discovery."""
    a, b = lab.nodes
    a.pod.run("ip", "neigh", "flush", "dev", "e0")
    with capture.Capture(lab, a.pod, "e0", "arp or icmp6") as seen:
        traffic.ping(a.pod, b.pod_ip)
        traffic.ping(a.pod, b.pod_ip6)
    gateway = node.gateway(a.lease.subnet)
    replies = seen.rows(["arp.src.proto_ipv4", "arp.src.hw_mac"], f"arp.opcode == 2 && arp.src.proto_ipv4 == {gateway}")
    expected = {"arp.src.proto_ipv4": [gateway], "arp.src.hw_mac": [a.lease.mac]}
    command.expect(replies and all(each == expected for each in replies), f"ARP replies: {replies}")  # a pod that waited a second asks again
    adverts = seen.rows(["icmpv6.opt.linkaddr", "icmpv6.nd.na.flag.r"],
                        f"icmpv6.type == 136 && icmpv6.nd.na.target_address == {node.gateway(a.lease.subnet6)}")
    command.expect(adverts and all(row["icmpv6.opt.linkaddr"] == [a.lease.mac6] and row["icmpv6.nd.na.flag.r"] in (["1"], ["True"])
                                   for row in adverts), f"advertisements: {adverts}")


def _arp(operation, mac, sender, target):
    payload = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + frames.mac(mac) + socket.inet_aton(sender) + bytes(6) + socket.inet_aton(target)
    return frames.ethernet("ff:ff:ff:ff:ff:ff", mac, payload, 0x0806)


def expect_claims_named(lab):
    """A pod may claim what it likes: the gateway stays the gateway, and each claim has a name."""
    a, b = lab.nodes
    traffic.ping(a.pod, b.pod_ip)
    gateway, mac = node.gateway(a.lease.subnet), "02:00:00:00:66:66"
    with a.pod.entered():
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        raw.bind(("e0", 0x0806))
    with raw:
        for frame, name in ((_arp(2, mac, gateway, a.pod_ip), "forged-gateway"), (_arp(1, mac, gateway, gateway), "forged-gateway"),
                            (_arp(1, mac, "192.168.99.9", gateway), "foreign-neighbour"),
                            (_arp(2, mac, b.pod_ip, gateway), "foreign-neighbour")):
            before = a.drop(name)
            for _ in range(10):
                raw.send(frame)
            command.wait_until(lambda: a.drop(name) == before + 10, lambda: f"{name}: {a.drops('toWire', a.device)}", timeout=30)
    traffic.ping(b.pod, a.pod_ip)
    traffic.tcp(a.pod, b.pod, b.pod_ip, size=1 << 20)
