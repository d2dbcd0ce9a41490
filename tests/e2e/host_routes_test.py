"""Peers by routes of the host, with upstream's flanneld at the other end: host-gw, and DirectRouting on both sides."""

from cluster.cluster import nightly
from lab import command, traffic


def routes(member):
    """{destination: (gateway, device)} by a gateway."""
    return {row["dst"]: (row["gateway"], row["dev"]) for row in member.host.show("-4", "route", "show") if "gateway" in row}


def start(cluster, **backend):
    members = cluster.add("a"), cluster.add("b")
    for each in members:
        each.net_conf["Backend"] = backend
        each.spawn()
    for each in members:
        each.wait_ready()
    for one, other in (members, reversed(members)):
        expected = (other.address, "eth0")
        command.wait_until(lambda one=one, expected=expected: expected in routes(one).values(), lambda one=one: f"{one.name} has {routes(one)}",
                           timeout=20)
    return members


def talk(a, b, size):
    for one, other in ((a, b), (b, a)):
        traffic.ping(one.pod, other.pod_ip, size=size, fragment=False)
        traffic.tcp(one.pod, other.pod, other.pod_ip, 8 << 20)


@nightly
def test_host_gw(cluster):
    a, b = start(cluster, Type="host-gw")
    command.expect_equal(routes(a), {"10.244.2.0/24": (b.address, "eth0")}, "routes of a")
    reported = {name: {key: text for key, text in cluster.published(name).items() if key.startswith("backend")} for name in "ab"}
    command.expect_equal(reported["a"], reported["b"], "what the two publish of their backend")
    command.expect_equal(a.subnet_env()["FLANNEL_MTU"], b.subnet_env()["FLANNEL_MTU"], "MTU")
    talk(a, b, 1500)


def test_direct_routing(cluster):
    a, b = start(cluster, Type="vxlan", VNI=4096, Port=4789, DirectRouting=True)
    talk(a, b, 1450)
