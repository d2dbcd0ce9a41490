"""What a node had before stays as it was, while weft runs and after its end: devices, addresses, routes, rules, firewall, sysctls."""

import os

from lab import command, footprint, node, topology, traffic

from host_routes_test import MARK, DirectNode, HostGwNode, RouteNode


def make_foreign_things(host):
    """Of everything something that is not weft's, and no default value where one can be chosen."""
    host.ip("link add other0 type veth peer name other1", "link set other1 up", "link set other0 mtu 1300 up",
            "addr add 10.99.0.1/24 dev other0", "route add 10.244.77.0/24 dev other0",
            "route add 10.98.0.0/24 via 10.99.0.7 dev other0 proto static table 100", "rule add from 10.97.0.0/24 table 100 priority 500",
            "route add fd98::/64 dev other0 proto static")
    host.run("nft", "-f", "-", stdin="""
        table inet foreign {
          chain forward { type filter hook forward priority 0; policy accept; ip daddr 10.96.0.0/24 drop; }
          chain post { type nat hook postrouting priority 100; ip saddr 10.95.0.0/24 masquerade; }
        }""")
    host.sysctl(net__ipv4__ip_default_ttl=61, net__ipv4__conf__default__rp_filter=2, net__ipv4__conf__u0__accept_local=1,
                net__ipv6__conf__default__hop_limit=61, net__core__somaxconn=1234)


def stays_as_it_was(lab, own_devices, left):
    """`own_devices`: weft's while it runs; `left`: what remains next to the table of --ip-masq by the manual, as in footprint.differences."""
    left = sorted([*left, "nft table inet weft is new"])
    a, b = lab.nodes
    make_foreign_things(a.host)
    before = footprint.take(a.host)
    lab.up(ip_masq="true")
    traffic.ping(a.pod, b.pod_ip)
    traffic.tcp(a.pod, b.pod, b.pod_ip, 1 << 20)
    command.expect_equal(set(own_devices),
                         set(a.host.devices()) & {node.DEVICE, node.DEVICE6, node.SUPERFRAMES, node.SUPERFRAMES6}, "weft's devices")
    command.expect_equal(footprint.differences(before, footprint.take(a.host, without=own_devices)), left, "what differs while it runs")
    a.down()
    command.expect_equal(footprint.differences(before, footprint.take(a.host)), left, "what differs after its end")
    command.expect(os.path.exists(a.path("subnet.env")), "subnet.env does not remain")
    a.host.run(lab.program("flannelctl"), "reset", f"--state-dir={a.path('state')}", "--admin=none")
    command.expect_equal(footprint.differences(before, footprint.take(a.host)), [], "what differs after a reset")


def routes_to(*peers):
    return sorted(f"route dst {subnet} gateway {hop} dev u0 protocol {MARK} is new" if ":" not in subnet else
                  f"route dst {subnet} gateway {hop} dev u0 protocol {MARK} metric 1024 is new"
                  for each in peers for subnet, hop in ((each.lease.subnet, each.lease.public_ip), (each.lease.subnet6, each.lease.public_ip6)) if subnet)


def test_vxlan():
    with topology.pair(node.WholeNode, node.KernelNode, ipv6=True) as lab:
        stays_as_it_was(lab, [node.DEVICE, node.DEVICE6, node.SUPERFRAMES, node.SUPERFRAMES6], [])


def test_host_gw():
    with topology.pair(HostGwNode, RouteNode, ipv6=True) as lab:
        stays_as_it_was(lab, [], routes_to(lab.nodes[1]))


def test_direct_routing():
    with topology.pair(DirectNode, node.KernelNode) as lab:
        stays_as_it_was(lab, [node.DEVICE], routes_to(lab.nodes[1]))
