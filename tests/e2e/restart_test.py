"""Daemons that end and start again, on the same node or a re-created one."""

import json
import signal
import time

from lab import command, traffic
from lab.lease import ANNOTATION

from cluster.cluster import nightly, weft_only

MIB = 1 << 20


def test_peer_with_another_mac_and_address(cluster):
    """As after a new installation under the old name: device and annotations gone, another address."""
    a, b = cluster.pair()
    before = cluster.published("b")
    b.down()
    b.forget_device()
    cluster.api.annotate("b", {ANNOTATION + key: None for key in before})
    if cluster.subject.kind == "weft":  # upstream keeps such a route
        cluster.settle("b without annotations", with_traffic=False)
    b.host.ip("addr flush dev eth0", "addr add 192.168.80.59/24 dev eth0")
    began = time.monotonic()
    b.up()
    cluster.settle("b with another MAC and address", since=began)
    after = cluster.published("b")
    command.expect(before["backend-data"] != after["backend-data"], f"b kept its MAC: {after}")
    command.expect_equal(after["public-ip"], "192.168.80.59", "public-ip of b")
    cluster.full_size(a, b, size=MIB)


@weft_only
def test_subnet_moves_to_a_new_node(cluster):
    """c is created with b's podCIDR while b's Node is still there, which keeps it until that Node is deleted. Upstream then drops the route
    to c."""
    a, b = cluster.pair()
    b.down()
    time.sleep(1.1)  # creation times are whole seconds
    c = cluster.add("c", subnets=["10.244.2.0/24"])
    c.up()
    command.wait_until(lambda: a.leases().get("c", {}).get("ipv4", {}).get("state") == "overlap", lambda: f"c's lease, as a sees it: {a.leases()}")
    with cluster.api.watching() as events:
        cluster.api.delete_node("b")
        command.wait_until(lambda: events, "the API server reports b's end", peer=True)
    cluster.settle("b's Node is deleted")
    command.expect_equal(a.routes(), {"10.244.2.0/24"}, "routes of a")
    cluster.full_size(a, c, size=MIB)


@weft_only
@nightly
def test_subnet_is_not_taken(cluster):
    """A newer Node with b's podCIDR does not affect b."""
    a, b = cluster.pair()
    time.sleep(1.1)
    cluster.bystander("new", "10.244.2.0/24")
    cluster.settle("a newer Node has b's subnet")
    cluster.api.delete_node("new")
    cluster.settle("the newer Node is gone")


def test_rolling_restart(cluster):
    """All flannelds, one after the other: each keeps its subnet, pods reach one another."""
    a, b = cluster.pair()
    before = {each.name: each.subnet_env() for each in (a, b)}
    for each in (a, b):
        each.down()
        each.up()
        cluster.settle(f"{each.name} restarts")
    command.expect_equal({each.name: each.subnet_env() for each in (a, b)}, before, "subnet.env after the restarts")


@nightly
def test_pod_recreated(cluster):
    a, b = cluster.pair()
    for each in (a, b):
        each.leave_pod()
        each.join_pod()
        cluster.settle(f"a new pod on {each.name}")


def sent(pod):
    return pod.devices()["eth0"]["stats64"]["tx"]["bytes"]


def restart_under_traffic(cluster, how):
    """A TCP stream each way; a is gone for a moment. The streams outlive it, and no peer ever reads an incomplete lease."""
    a, b = cluster.pair()
    right = cluster.published("a")
    with cluster.api.watching() as events:
        for one, other in ((a, b), (b, a)):
            start = sent(one.pod)
            stream = command.Background(lambda: traffic.tcp(one.pod, other.pod, other.pod_ip, 1024 * MIB, timeout=60))
            command.wait_until(lambda: sent(one.pod) - start >= 32 * MIB, lambda: f"32 MiB from {one.name}: {stream.outcome()}", timeout=10)
            began = time.monotonic()
            a.down(how)
            if a.kind == "weft":  # upstream's kernel device works without it
                command.expect(stream.running(), "the stream was over before the restart; make it longer")
            a.up()
            cluster.settle(f"a restarts while {one.name} sends", since=began)
            stream.result()
        cluster.api.annotate("b", {"weft.test/mark": "end"})
        command.wait_until(lambda: any("weft.test/mark" in json.dumps(each) for each in events), "the watch is up to date", peer=True)
    seen = [each["object"]["metadata"]["annotations"] for each in events if each["object"]["metadata"]["name"] == "a"]
    wrong = [each for each in seen if any(each.get(ANNOTATION + key) != value for key, value in right.items())]
    command.expect(not wrong, f"peers read {wrong[:1]} of a")


def test_terminated_under_traffic(cluster):
    restart_under_traffic(cluster, signal.SIGTERM)


def test_killed_under_traffic(cluster):
    restart_under_traffic(cluster, signal.SIGKILL)
