"""Nodes whose pods send Ethernet frames to flanneld: --pod-device=tap, pcap:ADAPTER."""

import ipaddress

from . import namespace, node


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

    def troubles(self):
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
