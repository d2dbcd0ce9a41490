"""Nodes learn each other through the API server alone, and their pods reach one another."""

import json

from lab import command, lease, traffic, topology

from cluster.cluster import weft_only


def test_both_ways(cluster):
    """Pod to pod at full size, TCP and UDP; to the nodes' own addresses and from them."""
    a, b = cluster.pair()
    cluster.full_size(a, b)
    for one, other in ((a, b), (b, a)):
        traffic.ping(one.pod, other.zero)
        traffic.ping(one.host, other.pod_ip)
        traffic.ping(one.pod, other.address)
    traffic.tcp(b.host, a.pod, a.pod_ip, 8 << 20)
    traffic.tcp(a.pod, b.host, b.zero, 8 << 20)


def test_third_node(cluster):
    a, b = cluster.pair()
    c = cluster.add("c")
    cluster.start(c)
    cluster.full_size(a, c, size=8 << 20)
    cluster.api.delete_node("b")
    b.down()
    cluster.settle("b is gone")
    command.expect(not a.routes() - {"10.244.3.0/24"}, f"routes of a: {a.routes()}")


@weft_only
def test_kubectl(cluster):
    """`flannelctl --from` of `kubectl get nodes -o json` prints the same as the daemon."""
    a, _ = cluster.pair()
    cluster.bystander("far", "10.244.9.0/24")
    cluster.settle("far joins", with_traffic=False)
    lease.write_text(a.path("nodes.json"), cluster.control.kubectl("get", "nodes", "-o", "json"))
    read = json.loads(a.host.run(topology.find_program("flannelctl"), "leases", "-o", "json", "--node-name=a",
                                 f"--from={a.path('nodes.json')}"))
    command.expect_equal({row["node"]: row for row in read["leases"]}, a.leases(), "leases read from kubectl's file")
    command.expect_equal(sorted(a.leases()), ["a", "b", "far"], "nodes in the table")


@weft_only
def test_node_without_annotations(cluster):
    """Upstream v0.28.9 panics here."""
    a, b = cluster.add("a"), cluster.add("b")
    cluster.api.delete_node("a")
    cluster.api.create_node("a", "10.244.1.0/24", annotations={})
    cluster.start(a, b)


def expect_unpublished(cluster, a, why):
    """Alive, not ready, reports why, and has published nothing."""
    command.wait_until(lambda: why in a.health("/readyz")[1] or why in a.log_text(), lambda: f"a says {a.last_words()}", timeout=10)
    command.expect_equal((a.health("/healthz")[0], a.health("/readyz")[0]), (200, 503), "healthz and readyz")
    command.expect_equal(a.subnet_env(), {}, "subnet.env")


@weft_only
def test_node_appears_later(cluster):
    a, b = cluster.add("a"), cluster.add("b")
    cluster.api.delete_node("a")
    a.spawn()
    expect_unpublished(cluster, a, '"a" is not among the Nodes')
    cluster.api.create_node("a", "10.244.1.0/24")
    a.wait_ready()
    cluster.start(b)


@weft_only
def test_pod_cidr_comes_later(cluster):
    """Upstream exits at once and relies on a supervisor."""
    a, b = cluster.add("a", subnets=()), cluster.add("b")
    a.spawn()
    expect_unpublished(cluster, a, "podCIDR")
    command.expect_equal(cluster.published("a"), {}, "annotations without a podCIDR")
    cluster.api.assign("a", "10.244.1.0/24")
    a.wait_ready()
    cluster.start(b)


@weft_only
def test_pod_cidr_outside_network(cluster):
    """Not published, but reported; correct once the Node is re-created. Upstream publishes first."""
    a, b = cluster.add("a", subnets=["10.99.1.0/24"]), cluster.add("b")
    a.spawn()
    expect_unpublished(cluster, a, "10.99.1.0/24")
    command.expect_equal(cluster.published("a"), {}, "annotations with a podCIDR outside Network")
    cluster.api.delete_node("a")
    cluster.api.create_node("a", "10.244.1.0/24")
    a.wait_ready()
    cluster.start(b)


@weft_only
def test_health_before_first_sync(cluster):
    """Upstream answers no probe while it waits for the API server."""
    a = cluster.add("a")
    cluster.control.stop_apiserver()
    a.spawn()
    command.wait_until(lambda: a.health("/healthz") == (200, "flanneld is running"), "healthz while the API server is away")
    command.expect_equal(a.health("/readyz")[0], 503, "readyz while the API server is away")
    cluster.site.start_apiserver()
    a.wait_ready(timeout=40)


def condition(cluster, name):
    rows = cluster.api.node(name)["status"].get("conditions", [])
    return next((row for row in rows if row["type"] == "NetworkUnavailable"), None)


def test_network_unavailable(cluster):
    cluster.pair()
    row = command.wait_until(lambda: condition(cluster, "a"), "a has the condition NetworkUnavailable")
    command.expect_equal((row["status"], row["reason"], row["message"]), ("False", "FlannelIsUp", "Flannel is running on this node"),
                         "the condition")


def test_network_unavailable_is_not_ours(cluster):
    a, _ = cluster.add("a"), cluster.add("b")
    a.flags["set-node-network-unavailable"] = "false"
    cluster.start(*cluster.members.values())
    command.wait_until(lambda: condition(cluster, "b"), "b has the condition", peer=True)
    command.expect_equal(condition(cluster, "a"), None, "the condition that a must not set")
