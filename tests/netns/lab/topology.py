"""Two nodes and what lies between them."""

import ipaddress
import os
import shutil
import tempfile

from . import command, lease, namespace, node

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def build_folder():
    return os.path.join(ROOT, os.environ.get("WEFT_BUILD", "build/dev"))


def find_program(name):
    path = os.path.join(build_folder(), "bin", name)
    command.expect(os.access(path, os.X_OK), f"{path} is missing: build first")
    return path


class Lab:
    """Owns everything that it makes; leaving it takes all away. The nodes are connected by one veth, or by a router with a
    link of `router_mtu` on the far side."""

    program = staticmethod(find_program)
    logs = None  # where the files of a lab that was left by a failure go

    def __init__(self, network="10.244.0.0/16", network6="fd10:244::/48", mtu=1500):
        self.network = network
        self.network6 = network6
        self.mtu = mtu
        self.nodes = []
        self.closing = []
        self.folder = tempfile.mkdtemp(prefix="weft-lab-")

    def add(self, kind, own, mtu=None):
        made = kind(self, own, mtu or self.mtu)
        self.nodes.append(made)
        return made

    def join_directly(self, a, b):
        namespace.connect(a.host, "u0", b.host, "u0", self.mtu)
        for each in (a, b):
            self._address(each.host, "u0", each.lease)
        self._finish()

    def join_by_router(self, a, b, router_mtu):
        """a - 1500 - router - `router_mtu` - b: only the far link is narrow, as in a path that the sender cannot see."""
        router = namespace.Namespace("router")
        self.closing.append(router)
        router.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1, net__ipv6__conf__all__accept_dad=0,
                      net__ipv6__conf__default__accept_dad=0)
        for each, device, mtu in ((a, "to-a", self.mtu), (b, "to-b", router_mtu)):
            namespace.connect(each.host, "u0", router, device, mtu)
            self._address(each.host, "u0", each.lease)
            for address in (each.lease.public_ip, each.lease.public_ip6):
                if address:
                    length, hop = (24, address.rsplit(".", 1)[0] + ".254") if "." in address else (64, address.rsplit(":", 1)[0] + ":fe")
                    router.ip(f"addr add {hop}/{length} dev {device}")
                    each.host.ip(f"route add default via {hop} dev u0")
        self._finish()
        return router

    @staticmethod
    def _address(host, device, own):
        if own.public_ip:
            host.ip(f"addr add {own.public_ip}/24 dev {device}")
        if own.public_ip6:
            host.ip(f"addr add {own.public_ip6}/64 dev {device} nodad")

    def _finish(self):
        for each in self.nodes:
            each.join_pod()

    def up(self, leases=None, **options):
        """Brings the tunnels up, every node with these leases (by default those of all nodes)."""
        self.leases = leases or [each.lease for each in self.nodes]
        for each in self.nodes:
            if each.kind == "weft":
                each.use(self.leases)
                each.up(**options)
            else:
                each.up()
                each.use(self.leases)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for each in self.nodes:
            each.close()
        for each in self.closing:
            each.close()
        if kind and self.logs:
            shutil.copytree(self.folder, self.logs, dirs_exist_ok=True,
                            ignore=lambda _, names: [n for n in names if n.endswith(".sock")])
        shutil.rmtree(self.folder, ignore_errors=True)


def two_leases(network="10.244.0.0/16", length=24, ipv4=True, ipv6=False, routed=False):
    """Leases of nodes "a" and "b": subnets 1 and 2 of the network, underlay 192.168.77.0/24 (routed: .78 for b), fd77::/64."""
    subnets = ipaddress.ip_network(network).subnets(new_prefix=length)
    next(subnets)
    made = []
    for i, name in ((1, "a"), (2, "b")):
        third = 76 + i if routed else 77
        made.append(lease.Lease(
            name,
            public_ip=f"192.168.{third}.{i}" if ipv4 else "",
            subnet=str(next(subnets)) if ipv4 else "",
            mac=lease.mac_for(name) if ipv4 else "",
            public_ip6=f"fd{third}::{i}" if ipv6 else "",
            subnet6=f"fd10:244:0:{i}::/64" if ipv6 else "",
            mac6=lease.mac_for(name + "/6") if ipv6 else ""))
    return made


def no_offloads(*hosts):
    """The underlay links carry what a wire would: no superframes, checksums complete."""
    for host in hosts:
        host.run("ethtool", "-K", "u0", "tso", "off", "gso", "off", "gro", "off", "tx", "off", "tx-udp-segmentation", "off")


def pair(kind_a, kind_b, network="10.244.0.0/16", length=24, ipv4=True, ipv6=False, mtu=1500):
    """A lab with two directly connected nodes, not yet up."""
    lab = Lab(network=network, mtu=mtu)
    try:
        first, second = two_leases(network, length, ipv4, ipv6)
        lab.add(kind_a, first)
        lab.add(kind_b, second)
        lab.join_directly(*lab.nodes)
    except BaseException:
        lab.__exit__(None, None, None)
        raise
    return lab


KINDS = {"kernel": node.KernelNode, "weft": node.WeftNode}
