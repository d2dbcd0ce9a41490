"""A narrow link somewhere in the underlay: pods receive the inner MTU, and TCP continues."""

import re

from lab import command, node, topology, traffic

MIB = 1 << 20
NARROW = 1400


def routed(kind, narrow=NARROW, other=node.KernelNode, **options):
    lab = topology.Lab()
    try:
        for own in topology.leases(routed=True, **options):
            lab.add(kind if own.name == "a" else other, own)
        lab.join_by_routers(*lab.nodes, narrow)
    except BaseException:
        lab.__exit__(None, None, None)
        raise
    return lab


def test_ipv4():
    with routed(node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.ping(a.pod, b.pod_ip)
        traffic.tcp(a.pod, b.pod, b.pod_ip, 8 * MIB)
        output = a.pod.run("ping", "-n", "-c", "3", "-i", "0.3", "-W", "1", "-M", "do", "-s", str(1450 - 28), b.pod_ip, check=False)
        command.expect("0 received" in output, "a packet that cannot fit came through")
        mtu = route_mtu(a.pod, b.pod_ip)
        command.expect_equal(mtu, NARROW - 50, "path MTU that the pod learnt")
        traffic.ping(a.pod, b.pod_ip, size=NARROW - 50, fragment=False)
        peer = next(each for each in a.status()["peers"] if each["node"] == "b")
        command.expect_equal(peer.get("pathMTU"), NARROW, "path MTU in status")
        traffic.tcp(a.pod, b.pod, b.pod_ip, 8 * MIB)


def test_ipv6():
    with routed(node.WeftNode, ipv4=False, ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.tcp(a.pod, b.pod, b.pod_ip6, 8 * MIB)
        a.pod.run("ping", "-n", "-c", "3", "-i", "0.3", "-W", "1", "-M", "do", "-s", str(1430 - 48), b.pod_ip6, check=False)
        command.expect_equal(route_mtu(a.pod, b.pod_ip6), NARROW - 70, "path MTU that the pod learnt")
        traffic.ping(a.pod, b.pod_ip6, size=NARROW - 70, fragment=False)


def below_the_pods_minimum(narrow, least, **options):
    """Linux pods follow no path MTU below 552, and IPv6 has none below 1280: larger packets leave without DF, over IPv6 in fragments."""
    # A kernel device loses over IPv6 what does not fit, so both ends are weft's.
    with routed(node.WeftNode, narrow=narrow, other=node.WeftNode, **options) as lab:
        lab.up()
        a, b = lab.nodes
        address = b.pod_ip6 if options.get("ipv6") else b.pod_ip
        # The first ones teach: the path's MTU to weft, and the least that there is to the pod.
        size = least - 20 if ":" in address else least  # ping_fails counts an IPv4 header
        command.wait_until(lambda: not traffic.ping_fails(a.pod, address, size=size), "a ping of what pods are brought to", timeout=10)
        traffic.ping(a.pod, address, size=least, fragment=False)
        traffic.tcp(a.pod, b.pod, address, MIB)
        peer = next(each for each in a.status()["peers"] if each["node"] == "b")
        command.expect_equal(peer.get("pathMTU"), narrow, "path MTU in status")
        command.expect(peer.get("sentWithoutDF", 0) > 0, f"what went without DF is not counted: {peer}")


def test_ipv4_below_the_pods_minimum():
    below_the_pods_minimum(590, 552)


def test_ipv6_below_the_pods_minimum():
    below_the_pods_minimum(1320, 1280, ipv4=False, ipv6=True)


def test_fragments_from_the_underlay(subject):
    """The Linux peer does not set DF, so the router cuts its packets; they arrive whole."""
    with routed(subject) as lab:
        lab.up()
        a, b = lab.nodes
        # The answers are as large; the first few teach their sender the path MTU.
        command.wait_until(lambda: not traffic.ping_fails(b.pod, a.pod_ip, size=1450), "an answer to a ping that was cut")
        traffic.ping(b.pod, a.pod_ip, size=1450)
        traffic.tcp(b.pod, a.pod, a.pod_ip, MIB)


def route_mtu(pod, destination):
    match = re.search(r"mtu (\d+)", pod.run("ip", "route", "get", destination))
    return int(match[1]) if match else None
