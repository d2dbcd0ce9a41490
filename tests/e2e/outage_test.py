"""The API server stops, loses data, changes its features or cannot be reached; the pods' traffic continues.

Only a is judged: after an outage upstream's client may wait for a minute until it tries again."""

import os
import re
import shutil
import time

from lab import command, peers, traffic
from lab.lease import ANNOTATION

from cluster import audit
from cluster.api import Refusal
from cluster.cluster import Cut, slow, weft_only

MINUTE = 60


def change_nodes(cluster):
    """One bystander is removed, one added, one changed."""
    cluster.api.delete_node("old")
    cluster.bystander("new", "10.244.10.0/24")
    cluster.api.annotate("moving", {ANNOTATION + "public-ip": "192.168.80.250"})


def start_with_bystanders(cluster):
    for name, subnet in (("old", "10.244.8.0/24"), ("moving", "10.244.9.0/24")):
        cluster.bystander(name, subnet)
    return cluster.pair()


def test_a_minute_without_api_server(cluster):
    a, b = start_with_bystanders(cluster)
    time.sleep(6)  # after this time the watch counts as healthy, so that the next failure is not an early one
    cluster.control.stop_apiserver()
    began = time.monotonic()
    for source, sink in ((a, b), (b, a)):
        traffic.tcp(source.pod, sink.pod, sink.pod_ip, 64 << 20)
    left = MINUTE - (time.monotonic() - began)
    traffic.ping(a.pod, b.pod_ip, count=int(left * 10), interval=0.1)  # none may be lost
    command.expect_equal(a.health("/healthz")[0], 200, "healthz while the API server is away")
    cluster.site.start_apiserver()
    began = time.monotonic()
    change_nodes(cluster)
    # Upstream's client retries when its back-off ends: up to a minute, and once more if it was early.
    cluster.settle("the API server is back after a minute", timeout=90 if a.kind == "weft" else 240, since=began, of=a)


def forgotten(cluster, version):
    """Whether a watch from this version is answered by 410 now."""
    try:
        text = cluster.api.request("GET", f"/api/v1/nodes?watch=1&resourceVersion={version}&timeoutSeconds=1")
        return '"code":410' in str(text).replace("'", '"').replace(" ", "")
    except Refusal as refusal:
        return refusal.status == 410


def test_gone(cluster):
    """a is cut off, Nodes change, etcd is compacted, the API server restarts, a reconnects: 410, and nothing is missed."""
    a, _ = start_with_bystanders(cluster)
    time.sleep(6)
    before = len(cluster.audit.entries(a))
    cut = Cut(a, "refuse")
    cluster.site.restart_apiserver()
    change_nodes(cluster)
    cluster.control.compact()
    cluster.site.restart_apiserver()
    cut.mend()
    began = time.monotonic()
    cluster.settle("a is back, its version gone", timeout=90 if a.kind == "weft" else 240, since=began, of=a)
    asked = [row["requestURI"] for row in cluster.audit.entries(a)[before:] if row["verb"] in ("watch", "list")]
    version = re.search("resourceVersion=([0-9]+)", asked[0])
    command.expect(version and forgotten(cluster, version[1]), f"the first of these was not answered by 410: {asked}")
    if a.kind == "weft":
        command.expect("sendInitialEvents=true" in asked[1], f"410 was not followed by a new list: {asked}")


@weft_only
def test_dead_connection(cluster):
    """a gets no error from its dead watch: the path drops everything, and the server has forgotten the connection afterwards."""
    a, _ = start_with_bystanders(cluster)
    cut = Cut(a, "drop")
    cluster.control.forget_connections(a.address)
    cluster.site.restart_apiserver()
    change_nodes(cluster)
    cut.mend()
    cluster.settle("a's connection is dead", timeout=150, of=a)


def test_without_streaming_lists(cluster):
    """A server that refuses sendInitialEvents, as most in use do; then one that accepts it; then the first again."""
    for flags in (["--feature-gates=WatchList=false"], [], ["--feature-gates=WatchList=false"]):
        cluster.site.restart_apiserver(*flags)
        if not cluster.members:
            a, _ = start_with_bystanders(cluster)
            if a.kind == "weft":
                first = [(audit.code(row), row["verb"]) for row in cluster.audit.entries(a) if audit.resource(row) == "nodes"][:2]
                command.expect_equal(first, [(422, "watch"), (200, "list")], "the first two requests of a for nodes")
        else:
            cluster.settle(f"another API server, {' '.join(flags) or 'as usual'}", timeout=90, of=a)
        cluster.bystander(f"far-{len(cluster.api.nodes())}", f"10.244.{10 + len(cluster.api.nodes())}.0/24")
        cluster.settle("a Node more", with_traffic=False, of=a)


@weft_only
@slow
def test_etcd_restored(cluster):
    """An old backup is restored as it is (etcd's manual says to bump its revision): versions run far backwards, deleted Nodes exist
    again. A real API server sends nothing to a watch from a version that it has yet to reach; two such silences, of two minutes
    each, reveal it. If it had reached that version by then, it could not be detected."""
    a, _ = start_with_bystanders(cluster)
    control = cluster.control
    backup = control.path("backup")
    control.stop_etcd()
    shutil.copytree(control.path("etcd"), backup)
    control.start_etcd()
    command.wait_until(cluster.api.ready, "the API server has its etcd back", timeout=20)
    change_nodes(cluster)
    for flags in ([], ["--heartbeats-per-second=1000", "--seconds=3"], ["--delete"]):
        control.where.run(peers.find("nodeload"), f"--kubeconfig={control.path('admin.kubeconfig')}", "--to=10", "--first-subnet=10.244.100.0",
                          *flags)
    cluster.settle("etcd restarts", timeout=90, of=a)
    control.stop_apiserver()
    control.stop_etcd()
    shutil.rmtree(control.path("etcd"))
    os.rename(backup, control.path("etcd"))
    control.start_etcd()
    cluster.site.start_apiserver()
    cluster.settle("etcd is restored", timeout=400, of=a)
    command.expect("10.244.8.0/24" in a.routes(), f"routes of a: {a.routes()}")
