"""The annotations of a node whose VTEP MAC HNS chooses: none before it is known, then all at once. Here flanneld is the Linux program,
on the HNS emulator."""

import json

from lab import command
from lab.lease import ANNOTATION

from cluster import truth
from cluster.cluster import weft_only
from cluster.hns_node import HnsNode


def waits_for(a, what):
    command.wait_until(lambda: f"its {what}" in a.flannelctl("status", check=False), lambda: f"no word of the {what}: {a.flannelctl('status', check=False)}",
                       timeout=20)


def expect_published_once(cluster, events, mac):
    """From nothing to everything, with `mac`."""
    command.wait_until(lambda: any(each["object"]["metadata"]["name"] == "a" and truth.annotations(each["object"]) for each in events),
                       "the watch shows what a publishes", timeout=20)
    seen = [truth.annotations(each["object"]) for each in events if each["object"]["metadata"]["name"] == "a"]
    macs = [json.loads(each["backend-data"])["VtepMAC"] if "backend-data" in each else None for each in seen if each]
    command.expect_equal(set(macs), {mac}, "MACs that peers have read, in backend-data")


@weft_only
def test_nothing_before_the_management_ip(cluster):
    """A new network has a MAC at once, and its management IP, from which on both count, later."""
    a = cluster.add("a", kind=HnsNode)
    a.hns("set", 'settings={"management_ip_ms":3600000}')
    with cluster.api.watching() as events:
        a.spawn()
        waits_for(a, "management IP")
        command.expect_equal(cluster.published("a"), {}, "annotations before HNS has given the network its management IP")
        a.change_network(management_from_ms=0)
        a.wait_for_health()
        expect_published_once(cluster, events, a.router_mac())


@weft_only
def test_nothing_before_the_router_mac(cluster):
    """A network is found whose MAC HNS does not show; it does so later."""
    a = cluster.add("a", kind=HnsNode)
    a.spawn()
    a.wait_for_health()
    command.wait_until(lambda: cluster.published("a"), "a publishes")
    a.down()
    cluster.api.annotate("a", {ANNOTATION + key: None for key in cluster.published("a")})
    a.change_network(dr_mac="")
    with cluster.api.watching() as events:
        a.spawn()
        waits_for(a, "router MAC")
        command.expect_equal((cluster.published("a"), a.health("/readyz")[0]), ({}, 503), "annotations and readyz before HNS has shown the router MAC")
        a.change_network(dr_mac="0E-2A-00-00-00-77")
        a.wait_for_health()
        expect_published_once(cluster, events, "0e:2a:00:00:00:77")
