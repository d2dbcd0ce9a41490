"""A node's annotations: written, overwritten, removed, restored."""

from lab import command, traffic
from lab.lease import ANNOTATION

from cluster.cluster import nightly, weft_only


def translated(sender, address, real):
    """`sender` reaches `real` under `address`, as behind a NAT."""
    sender.host.ip(f"route add {address}/32 dev eth0")
    sender.host.run("nft", "-f", "-", stdin=f"""
        table ip translated {{
          chain out {{ type nat hook output priority -100; ip daddr {address} dnat to {real}; }}
        }}""")


def start_annotated(cluster, **annotations):
    """a and b, the Node of a with these annotations (short names) from the start."""
    a, b = cluster.add("a"), cluster.add("b")
    cluster.api.annotate("a", {ANNOTATION + key.replace("_", "-"): value for key, value in annotations.items()})
    if "node_public_ip" in annotations:  # an address that it has: upstream sends from there
        a.host.ip(f"addr add {annotations['node_public_ip']}/32 dev eth0")
        b.host.ip(f"route add {annotations['node_public_ip']}/32 dev eth0")
    if "public_ip_overwrite" in annotations:
        translated(b, annotations["public_ip_overwrite"], a.address)
    cluster.start(a, b)
    return a, b


def test_public_ip_overwrite(cluster):
    """Functional row of upstream: the overwritten address is what peers see, and where they send."""
    a, b = start_annotated(cluster, public_ip_overwrite="172.18.0.2")
    command.expect_equal(cluster.published("a")["public-ip"], "172.18.0.2", "public-ip")
    command.expect_equal(b.table()["10.244.1.0/24"][1], "172.18.0.2", "where b sends packets for a")
    traffic.tcp(b.pod, a.pod, a.pod_ip, 1 << 20)


@nightly
def test_node_public_ip(cluster):
    start_annotated(cluster, node_public_ip="172.18.0.3")
    command.expect_equal(cluster.published("a")["public-ip"], "172.18.0.3", "public-ip")


@nightly
def test_overwrite_precedes_node_public_ip(cluster):
    start_annotated(cluster, node_public_ip="172.18.0.3", public_ip_overwrite="172.18.0.2")
    command.expect_equal(cluster.published("a")["public-ip"], "172.18.0.2", "public-ip")


@weft_only
def test_overwrite_while_running(cluster):
    _, b = cluster.pair()
    translated(b, "172.18.0.2", cluster.members["a"].address)
    for value, expected in (("172.18.0.2", "172.18.0.2"), (None, "192.168.80.11")):
        cluster.api.annotate("a", {ANNOTATION + "public-ip-overwrite": value})
        command.wait_until(lambda: cluster.published("a").get("public-ip") == expected, lambda: f"public-ip becomes {expected}: {cluster.published('a')}")
        cluster.settle(f"public-ip-overwrite {value}")


@weft_only
def test_put_back(cluster):
    """Removed or altered by another program while it runs; upstream never notices, and peers lose the node when they restart."""
    a, _ = cluster.pair()
    right = cluster.published("a")
    spoilt = {
        "all stripped": {key: None for key in right},
        "backend-data altered": {"backend-data": '{"VNI":4096,"VtepMAC":"02:00:00:00:00:99"}'},
        "public-ip altered": {"public-ip": "192.168.80.99"},
        "kube-subnet-manager removed": {"kube-subnet-manager": None},
        "backend-type altered": {"backend-type": "host-gw"},
    }
    for what, changes in spoilt.items():
        cluster.api.annotate("a", {ANNOTATION + key: value for key, value in changes.items()})
        command.wait_until(lambda: cluster.published("a") == right, lambda: f"{what}: a says {cluster.published('a')}", timeout=10)
        cluster.settle(what)
    a.daemon.expect_running()


@weft_only
def test_node_recreated(cluster):
    """Another podCIDR, then the same name without one until later: followed without a restart."""
    a, b = cluster.pair()
    for subnet, given_later in (("10.244.7.0/24", False), ("10.244.8.0/24", True), ("10.244.8.0/24", False)):
        cluster.api.delete_node("a")
        cluster.api.create_node("a", *([] if given_later else [subnet]))
        if given_later:
            command.wait_until(lambda: not b.table(), "b forgets a", peer=True)
            cluster.api.assign("a", subnet)
        gateway = subnet.replace(".0/", ".1/")
        command.wait_until(lambda: a.subnet_env().get("FLANNEL_SUBNET") == gateway, lambda: f"subnet.env is {a.subnet_env()}", timeout=15)
        a.join_pod()
        cluster.settle(f"Node a anew with {subnet}{', given later' if given_later else ''}")


def test_restart_keeps_mac(cluster):
    a, _ = cluster.pair()
    before = cluster.published("a")
    a.down()
    a.up()
    cluster.settle("a restarts")
    command.expect_equal(cluster.published("a"), before, "annotations after a restart")


@weft_only
def test_unmanaged_peer(cluster):
    """A peer whose annotations are removed loses its lease. Upstream keeps its route."""
    a, b = cluster.pair()
    b.down()
    for key in ("kube-subnet-manager", "public-ip", "backend-data"):
        before = cluster.published("b")
        cluster.api.annotate("b", {ANNOTATION + key: None})
        cluster.settle(f"b without {key}", with_traffic=False)
        command.expect_equal(a.routes(), set(), "routes of a")
        cluster.api.annotate("b", {ANNOTATION + key: before[key]})
        cluster.settle(f"b with {key}", with_traffic=False)
        command.expect_equal(a.routes(), {"10.244.2.0/24"}, "routes of a")
