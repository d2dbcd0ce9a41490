"""Two nodes and what lies between them."""

import functools
import ipaddress
import os
import shutil
import tempfile

from . import command, lease, namespace, node, upstream_udp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def build_folder():
    return os.path.join(ROOT, os.environ.get("WEFT_BUILD", "build/dev"))


def find_program(name):
    path = os.path.join(build_folder(), "bin", name)
    command.expect(os.access(path, os.X_OK), f"{path} is missing: build first")
    return path


@functools.cache
def are_sanitized():
    """Whether the programs are built with AddressSanitizer or ThreadSanitizer: slow, and their size is meaningless."""
    with open(find_program("flanneld"), "rb") as file:
        text = file.read()
    return b"__asan_init" in text or b"__tsan_init" in text


FORWARDING = {"net__ipv4__ip_forward": 1, "net__ipv6__conf__all__forwarding": 1, "net__ipv6__conf__all__accept_dad": 0,
              "net__ipv6__conf__default__accept_dad": 0}


class Lab:
    """Owns everything that it makes; leaving it removes everything."""

    program = staticmethod(find_program)
    logs = None  # where the files of a lab that was left by a failure go

    def __init__(self, network="10.244.0.0/16", network6="fd10:244::/48", mtu=1500, without_ipv6=False):
        if ipaddress.ip_network(network).prefixlen < 16:
            namespace.hide_name_servers()
        self.without_ipv6 = without_ipv6  # for exact counts: no router solicitations and the like
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

    def join_by_switch(self):
        """All nodes on one link."""
        switch = namespace.Namespace("switch")
        self.closing.append(switch)
        switch.ip("link add br0 type bridge", "link set br0 up")
        for each in self.nodes:
            namespace.connect(each.host, "u0", switch, f"to-{each.name}", self.mtu)
            switch.ip(f"link set to-{each.name} master br0")
            self._address(each.host, "u0", each.lease)
        self._finish()

    def join_by_routers(self, a, b, narrow_mtu):
        """a - router - router - b, and only the middle link is narrow: a path of which neither sender sees the MTU."""
        routers = [namespace.Namespace(f"router-{each.name}") for each in (a, b)]
        self.closing += routers
        namespace.connect(routers[0], "middle", routers[1], "middle", narrow_mtu)
        for i, (each, router, other) in enumerate(((a, routers[0], b), (b, routers[1], a))):
            router.sysctl(**FORWARDING)
            router.ip(f"addr add 192.168.70.{i + 1}/24 dev middle")
            if narrow_mtu >= 1280:  # what IPv6 requires of a link
                router.ip(f"addr add fd70::{i + 1}/64 dev middle nodad")
            namespace.connect(each.host, "u0", router, "out", self.mtu)
            self._address(each.host, "u0", each.lease)
            for own, others, prefix, length in ((each.lease.public_ip, other.lease.public_ip, "192.168.70.", 24),
                                                (each.lease.public_ip6, other.lease.public_ip6, "fd70::", 64)):
                if own:
                    hop = str(ipaddress.ip_network(f"{own}/{length}", strict=False)[254])
                    router.ip(f"addr add {hop}/{length} dev out", f"route add {others} via {prefix}{2 - i} dev middle")
                    each.host.ip(f"route add {others} via {hop} dev u0")
        self._finish()

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
        # All daemons end before the first link: deleting a namespace deletes the other end of its links.
        found = command.failures([*(each.down for each in self.nodes), *(each.close for each in [*self.nodes, *self.closing])])
        if (kind or found) and self.logs:
            shutil.copytree(self.folder, self.logs, dirs_exist_ok=True,
                            ignore=lambda _, names: [n for n in names if n.endswith(".sock")])
        shutil.rmtree(self.folder, ignore_errors=True)
        command.add_failures(error, found)


def leases(names="ab", network="10.244.0.0/16", length=24, ipv4=True, ipv6=False, routed=False):
    """Leases of nodes so called: subnets from 1 on of the network, underlay 192.168.77.0/24 (routed: .78 for b), fd77::/64."""
    subnets = ipaddress.ip_network(network).subnets(new_prefix=length)
    next(subnets)
    made = []
    for i, name in enumerate(names, 1):
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


def pair(kind_a, kind_b, network="10.244.0.0/16", length=24, ipv4=True, ipv6=False, mtu=1500, without_ipv6=False):
    """A lab with two directly connected nodes, not yet up."""
    lab = Lab(network=network, mtu=mtu, without_ipv6=without_ipv6)
    try:
        first, second = leases(network=network, length=length, ipv4=ipv4, ipv6=ipv6)
        lab.add(kind_a, first)
        lab.add(kind_b, second)
        lab.join_directly(*lab.nodes)
    except BaseException:
        lab.__exit__(None, None, None)
        raise
    return lab


def three(kinds, **options):
    """A lab with nodes a, b and c of these kinds on one link, not yet up."""
    lab = Lab()
    try:
        for kind, own in zip(kinds, leases("abc", **options)):
            lab.add(kind, own)
        lab.join_by_switch()
    except BaseException:
        lab.__exit__(None, None, None)
        raise
    return lab


KINDS = {"kernel": node.KernelNode, "weft": node.WeftNode, "udp": upstream_udp.UpstreamUdpNode}
