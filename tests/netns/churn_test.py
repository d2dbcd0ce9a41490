"""The table changes while traffic runs, and the traffic does not notice."""

import ipaddress
import itertools
import time

from lab import command, lease, node, topology, traffic

MIB = 1 << 20


def far_subnets():
    """All of 172.20.0.0/14 in /24, without the first eight, which the lab uses."""
    return itertools.islice(ipaddress.ip_network("172.20.0.0/14").subnets(new_prefix=24), 8, None)


def tunnel_routes(host):
    return sum(1 for line in host.run("ip", "-4", "route", "show", "dev", node.DEVICE).splitlines() if "/24" in line)


def test_thousand_leases():
    """1,000 leases, of which 999 change and change back while hashed TCP runs to the one that stays; none is lost or late."""
    with topology.pair(node.WeftNode, node.KernelNode, network="172.20.0.0/14") as lab:
        a, b = lab.nodes
        own = [a.lease.node(), b.lease.node()]
        generations = [[each.node() for each in lease.crowd(999, far_subnets(), generation=g)] for g in range(2)]
        a.write_nodes(own + generations[0])
        a.spawn()
        a.wait_ready(20)
        b.up()
        b.use([a.lease])
        command.wait_until(lambda: tunnel_routes(a.host) == 1000, lambda: f"{tunnel_routes(a.host)} of 1000 routes", timeout=10)

        stream = command.Background(lambda: traffic.tcp(a.pod, b.pod, b.pod_ip, 2048 * MIB, timeout=120))
        changes = 0
        while stream.running() or changes < 2:
            changes += 1
            expected = generations[changes % 2]
            a.write_nodes(own + expected)
            address = expected[500]["metadata"]["annotations"][lease.ANNOTATION + "public-ip"]
            command.wait_until(
                lambda: next(row["ipv4"]["publicIP"] for row in a.leases()["leases"] if row["node"] == "far-0500") == address,
                f"change {changes} of 999 leases is taken", timeout=10)
        stream.result()
        command.expect_equal(tunnel_routes(a.host), 1000, "routes at the end")
        states = {each["state"]: each["count"] for each in a.status()["leases"]}
        command.expect_equal(states.get("usable"), 1000, f"usable leases of {states}")
        traffic.ping(a.pod, b.pod_ip)


def test_peer_changes_mac_and_address():
    """The peer returns with another MAC and underlay address: from then on it is reached there."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.ping(a.pod, b.pod_ip)
        moved = lease.lease("b", "192.168.77.9", b.lease.subnet)
        moved = type(moved)(**{**moved.__dict__, "mac": "02:99:99:99:99:99"})
        b.host.ip(f"link delete {node.DEVICE}", "addr add 192.168.77.9/24 dev u0")
        b.lease = moved
        b.up()
        b.use([a.lease])
        a.use([a.lease, moved])
        command.wait_until(lambda: not traffic.ping_fails(a.pod, b.pod_ip, timeout=1), "the moved peer is reached", timeout=5)
        traffic.ping(b.pod, a.pod_ip)


def test_memory_without_packets():
    """A tunnel that no packet wakes keeps no old snapshot of its peers. One kept in each round takes 10 MiB in 24 rounds; the heap's holes, by which
    two runs of one program differ, take 5 MiB at most."""
    with topology.pair(node.WeftNode, node.KernelNode, network="172.20.0.0/14", without_ipv6=True) as lab:
        a, b = lab.nodes
        own = [a.lease.node(), b.lease.node()]
        generations = [[each.node() for each in lease.crowd(999, far_subnets(), generation=g)] for g in range(2)]
        a.write_nodes(own + generations[0])
        a.spawn()
        a.wait_ready(20)

        def change(number):
            expected = generations[number % 2][:999 if number % 4 < 2 else 500]
            a.write_nodes(own + expected)
            command.wait_until(lambda: len(a.leases()["leases"]) == len(expected) + 2 and a.leases()["leases"][400]["ipv4"]["publicIP"] ==
                               sorted(expected + own, key=lambda each: each["metadata"]["name"])[400]["metadata"]["annotations"][lease.ANNOTATION + "public-ip"],
                               f"change {number} is taken", timeout=20)
        for number in range(1, 17):  # until every table and buffer has its size
            change(number)
        before = a.resident_kib()
        for number in range(17, 41):  # each changes 999 leases and removes or adds half of them
            change(number)
        after = a.resident_kib()
        print(f"   resident {before} KiB, {after} after 24 rounds")
        command.expect(after - before <= 7 * 1024 or topology.are_sanitized(), f"resident {before} KiB before, {after} after")
        sent = sum(each["sentPackets"] + each["receivedPackets"] for each in a.status()["peers"])
        command.expect_equal(sent, 0, "packets through the tunnel")


def test_memory_of_ten_thousand_leases():
    """Resident memory of the whole daemon, userspace data plane included, once it is ready."""
    with topology.pair(node.WeftNode, node.KernelNode, network="172.20.0.0/14", without_ipv6=True) as lab:
        a, b = lab.nodes
        subnets = itertools.islice(ipaddress.ip_network("172.20.0.0/14").subnets(new_prefix=28), 8 * 16, None)
        a.write_nodes([a.lease.node(), b.lease.node()] + [each.node() for each in lease.crowd(9_998, subnets)])
        a.spawn()
        a.wait_ready(60)
        command.wait_until(lambda: a.resident_kib() <= 24 * 1024 or topology.are_sanitized(),
                           lambda: f"resident {a.resident_kib()} KiB with 10,000 leases; the limit is 24 MiB", timeout=60)
