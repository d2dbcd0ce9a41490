"""Foreign routes on a node with a tunnel: none is overwritten, ours are restored, and many of ours do not delay health."""

import ipaddress
import time

from lab import command, footprint, lease, node, topology, traffic

MARK = footprint.MARK
MANY = 20000


def weft_pair(**options):
    return topology.pair(node.WeftNode, node.KernelNode, **options)


def shown(host, *words, family="-4"):
    """The output of `ip route show`, without our own routes."""
    return sorted(str(row) for row in host.show(family, "route", "show", *words) if row.get("protocol") != MARK)


def ours(host, family="-4"):
    return {row["dst"]: row["dev"] for row in host.show(family, "route", "show", "proto", MARK)}


def sink(a, family="IPv4"):
    return next(each for each in a.status()["sinks"] if each["name"].startswith("routes on") and family in each["name"])


def test_a_node_that_announces_existing_routes():
    """The underlay's own prefix, an administrator's route, also one such as upstream's but to another host, one to nowhere: the node and its other
    peers are not affected, then or later."""
    with weft_pair() as lab:
        a, b = lab.nodes
        a.host.ip("route add blackhole 10.244.5.0/24", "route add 10.244.6.0/24 via 192.168.77.2 dev u0 proto static",
                  "route add 10.244.7.0/24 via 192.168.77.2 dev u0")
        before = shown(a.host)
        lab.up()
        b.use([a.lease])
        thieves = [lease.lease(f"thief-{i}", f"192.168.77.{100 + i}", subnet)
                   for i, subnet in enumerate(("192.168.77.0/24", "10.244.5.0/24", "10.244.6.0/24", "10.244.7.0/24"))]
        last = lease.lease("last", "192.168.77.9", "10.244.9.0/24")
        a.use([a.lease, b.lease, *thieves, last])
        command.wait_until(lambda: last.subnet in ours(a.host), lambda: f"ours: {ours(a.host)}")
        command.expect_equal(shown(a.host), before, "foreign routes next to such peers")
        traffic.ping(a.pod, b.pod_ip)
        traffic.ping(a.host, b.lease.public_ip)
        state = sink(a)
        for thief in thieves[1:]:
            named = [each for each in state["pending"] if thief.subnet in each and thief.name in each]
            command.expect(named, f"{thief.name}'s {thief.subnet} is not reported: {state}")
        command.expect(state["applied"] < state["desired"], f"status is wrong: {state}")
        a.use([a.lease, b.lease])
        command.wait_until(lambda: last.subnet not in ours(a.host), lambda: f"ours: {ours(a.host)}")
        command.expect_equal(shown(a.host), before, "foreign routes after such peers")
        traffic.ping(a.pod, b.pod_ip)


def test_flushed_routes():
    """Back by notification, not by the poll every nine seconds: both families, and again."""
    with weft_pair(ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        for family, device, subnet, pod in (("-4", node.DEVICE, b.lease.subnet, b.pod_ip), ("-6", node.DEVICE6, b.lease.subnet6, b.pod_ip6)):
            for _ in range(3):
                a.host.run("ip", family, "route", "flush", "dev", device, "proto", MARK)
                begin = time.monotonic()
                command.wait_until(lambda: subnet in ours(a.host, family), lambda: f"ours: {ours(a.host, family)}", timeout=2)
                print(f"    {device}: flushed, back after {time.monotonic() - begin:.3f} s")
            traffic.ping(a.pod, pod)


def test_replaced_route():
    """Restored at once, then reported, and restored after a pause."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        theirs = f"route replace {b.lease.subnet} via 192.168.77.77 dev u0"
        a.host.ip(theirs)
        command.wait_until(lambda: b.lease.subnet in ours(a.host), "put back at once", timeout=5)
        a.host.ip(theirs)
        command.wait_until(lambda: sink(a)["applied"] == 0 and b.lease.subnet not in ours(a.host),
                           lambda: f"fought over, or status denies it: {sink(a)}, {ours(a.host)}", timeout=5, interval=0)
        reported = [row["condition"] for row in a.status()["conditions"]]
        command.expect(any(b.lease.subnet in each and "192.168.77.77" in each for each in reported), f"{reported}")
        command.wait_until(lambda: b.lease.subnet in ours(a.host), "put back after a pause", timeout=10)
        traffic.ping(a.pod, b.pod_ip)


def test_upstreams_route_is_restored():
    """A cluster that changes from host-gw to vxlan: the tunnel's route replaces upstream's, and a reset restores it."""
    with weft_pair() as lab:
        a, b = lab.nodes
        upstreams = f"{b.lease.subnet} via {b.lease.public_ip} dev u0"
        a.host.ip(f"route add {upstreams}")
        before = shown(a.host)
        lab.up()
        command.expect_equal(ours(a.host), {b.lease.subnet: node.DEVICE}, "routes")
        traffic.ping(a.pod, b.pod_ip)
        a.daemon.stop()
        a.daemon = None
        reported = a.host.run(lab.program("flannelctl"), "reset", f"--state-dir={a.path('state')}", f"--admin={a.path('admin.sock')}")
        command.expect(f"gave back route {b.lease.subnet} via {b.lease.public_ip}" in reported, reported)
        command.expect_equal(shown(a.host), before, "routes after a reset")


def into_device(host):
    """How many routes lead into the tunnel; cheap, so that the count does not become the load."""
    return host.read("/proc/net/route").count(node.DEVICE)


def test_twenty_thousand_at_once():
    """In slices: health answers between them."""
    with topology.pair(node.WeftNode, node.KernelNode, network="10.0.0.0/8") as lab:
        lab.up()
        a, b = lab.nodes
        crowd = lease.crowd(MANY, ipaddress.ip_network("10.128.0.0/9").subnets(new_prefix=24))
        half_done = set()  # so many routes were there after an answer

        def all_there():
            # Under a sanitizer, beside other tests, one slice may take seconds.
            command.expect_equal(a.health("/healthz", timeout=15)[0], 200, "health meanwhile")
            there = into_device(a.host)
            if 1 < there < MANY + 1:
                half_done.add(there)
            return there == MANY + 1

        # Without slices a round sees one such count at most: before the second its question would wait for the end. On a busy machine the questions
        # may come too late, and nothing is seen.
        for _ in range(5):
            half_done.clear()
            a.use([a.lease, b.lease, *crowd])
            command.wait_until(all_there, lambda: f"{into_device(a.host)} of {MANY} routes", timeout=60, interval=0)
            traffic.ping(a.pod, b.pod_ip)
            a.use([a.lease, b.lease])
            command.wait_until(lambda: into_device(a.host) == 1, lambda: f"{into_device(a.host)} routes left", timeout=20)
            if len(half_done) > 1:
                break
        command.expect(len(half_done) > 1, "/healthz did not answer while routes were added")
        traffic.ping(a.pod, b.pod_ip)
