"""What README says that upstream's flanneld does not do, shown of its binary: a test here fails once upstream mends it, and README is to change."""

import json
import os
import re
import signal
import time

from lab import command, peers, topology

from cluster import member, truth, windows
from cluster.cluster import upstream_only
from windows_host_gw_test import BRIDGE_ADDRESS, nodes, start
from windows_test import node

# {what README says, in its words: the tests that show it}. The first five are the rows of its table.
CLAIMS = {
    "HNS loses a network, endpoint or route": ("lost_routes_and_network", "lost_endpoint"),
    "HNS refuses a call": ("refused_call",),
    "calls into HNS for 5,000 peers": ("calls_for_each_peer",),
    "more than 5,100 nodes, by its defaults": ("more_nodes_than_its_queue_holds",),
    "changes on the node": ("leaves_its_network", "leaves_its_chains"),
    "its MAC was cleared, as upstream on Windows does at each start": ("clears_its_mac",),
    "Upstream's chains `FLANNEL-POSTRTG` and `FLANNEL-FWD` remain": ("leaves_its_chains",),
}
RESTORED = 70  # seconds: weft needs a minute at most
LOST = ("routes_kept=false", "endpoints_kept=false", "load_balancers_kept=false")


@upstream_only
def test_every_claim(_):
    with open(os.path.join(topology.ROOT, "README.md"), encoding="utf-8") as file:
        text = re.sub(r"\s+", " ", file.read())
    for claim, tests in CLAIMS.items():
        command.expect(claim in text, f"README does not say {claim!r} any more")
        for each in tests:
            command.expect(f"test_{each}" in globals(), f"there is no test_{each}")
    table = re.search(r"\| on a Windows node \| flannel \| weft \| \| --- \| --- \| --- \|((?: \|[^|]+\|[^|]+\|[^|]+\|)+)", text)
    command.expect(table, "README has no table of flannel and weft")
    rows = re.findall(r"\| ([^|]+) \| [^|]+ \| [^|]+ \|", table.group(1))
    command.expect(rows and set(rows) <= set(CLAIMS), f"rows of README's table that no test shows: {set(rows) - set(CLAIMS)}")


def goes_on(fault, what):
    """For longer than weft needs to mend it."""
    until = time.monotonic() + RESTORED
    while time.monotonic() < until:
        command.expect(fault(), f"upstream mends it: {what}")
        time.sleep(1)


def joins(cluster, a, name, subnet):
    """A Node whose route upstream's makes: so it is alive."""
    cluster.bystander(name, subnet)
    command.wait_until(lambda: subnet in a.table(), lambda: f"no route of {name}: {a.table()}; {a.last_words()}", timeout=30, peer=True)


@upstream_only
def test_lost_routes_and_network(cluster):
    """Also when a Node that joins makes it look at the network."""
    a, _ = node(cluster)
    a.hns("restart", "networks=kept", *LOST)
    joins(cluster, a, "far", "10.244.9.0/24")
    goes_on(lambda: "10.244.2.0/24" not in a.table(), "a route that HNS lost")
    a.hns("restart", "networks=lost", *LOST)
    cluster.bystander("next", "10.244.8.0/24")
    goes_on(lambda: a.network() is None, "a network that HNS lost")


@upstream_only
def test_lost_endpoint(cluster):
    """The host's own, with host-gw."""
    a, b = nodes(cluster, windows.Upstream)
    a.use_powershell()
    a.host.ip("link add cbr0_ep type veth peer name far", "link set far up", "link set cbr0_ep up", f"addr add {BRIDGE_ADDRESS}/24 dev cbr0_ep")
    start(b, a)
    command.wait_until(lambda: a.hns("dump")["endpoints"], lambda: f"no endpoint; {a.last_words()}", timeout=30, peer=True)
    a.hns("restart", "networks=kept", *LOST)
    goes_on(lambda: not a.hns("dump")["endpoints"], "an endpoint that HNS lost")


@upstream_only
def test_refused_call(cluster):
    """A peer's route: the Node that joins next gets its own, and the first one never."""
    a, _ = node(cluster)
    before = a.hns("calls")["functions"].get("HcnModifyNetwork", 0)
    a.hns("fault", "function=HcnModifyNetwork", "first=1", "count=1", "code=0x80004005")
    cluster.bystander("far", "10.244.9.0/24")
    command.wait_until(lambda: a.hns("calls")["functions"].get("HcnModifyNetwork", 0) > before, "upstream's adds the route", timeout=30, peer=True)
    joins(cluster, a, "next", "10.244.8.0/24")
    goes_on(lambda: "10.244.9.0/24" not in a.table(), "a refused route")


@upstream_only
def test_calls_for_each_peer(cluster):
    a, _ = node(cluster)
    before, count = a.hns("calls")["total"], 10
    for number in range(count):
        cluster.bystander(f"far-{number}", f"10.244.{20 + number}.0/24")
    command.wait_until(lambda: len(a.table()) == count + 1, lambda: f"{a.table()}", timeout=60, peer=True)
    command.expect_equal((a.hns("calls")["total"] - before) / count, 8, "calls into HNS for a peer")


@upstream_only
def test_more_nodes_than_its_queue_holds(cluster):
    """5,000 events of Nodes wait in its queue and 100 beside it until it has read all Nodes, which it then never has."""
    cluster.network = "10.0.0.0/8"
    a = cluster.add("a", kind=member.Upstream, subnets=["10.255.1.0/24"])
    a.on_sigterm = -signal.SIGTERM  # it handles signals only once it has read all Nodes
    control = cluster.control

    def load(*words):
        control.where.run(peers.find("nodeload"), "--kubeconfig", control.path("admin.kubeconfig"), "--from", "0", "--to", "5101", *words, timeout=300)

    load("--images", "1")
    try:
        a.spawn()
        # Each event that finds the queue full says so, the last one and then nothing more.
        command.wait_until(lambda: a.log_text().count("Channel buffer full") > 100 or a.subnet_env(), a.last_words, timeout=60, peer=True)
        goes_on(lambda: not a.subnet_env(), "a cluster of 5,102 Nodes")
    finally:
        load("--delete")


@upstream_only
def test_clears_its_mac(cluster):
    """Its peers remove their routes to it meanwhile."""
    a, _ = node(cluster)
    a.down()
    with cluster.api.watching() as events:
        a.spawn()

        def macs():
            published = [truth.annotations(each["object"]).get("backend-data") for each in events if each["object"]["metadata"]["name"] == "a"]
            return [(json.loads(each or "null") or {}).get("VtepMAC") for each in published]

        command.wait_until(lambda: not all(macs()), lambda: f"upstream keeps its MAC: {macs()}", timeout=30)


@upstream_only
def test_leaves_its_network(cluster):
    a, _ = node(cluster)
    a.down()
    command.expect(a.network() and a.policies("RemoteSubnetRoute"), "upstream removes its network or routes at its end")


@upstream_only
def test_leaves_its_chains(cluster):
    a = cluster.add("a", kind=member.Upstream)
    a.up()

    def left():
        rules = a.host.run("iptables-save")
        return [chain for chain in ("FLANNEL-POSTRTG", "FLANNEL-FWD") if f":{chain} " not in rules]

    command.wait_until(lambda: not left(), lambda: f"upstream has no chains {left()}", timeout=30, peer=True)
    a.down()
    command.expect_equal(left(), [], "chains that upstream removes")
