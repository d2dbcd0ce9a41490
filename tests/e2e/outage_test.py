"""The API server stops, loses data, changes its features or cannot be reached; the pods' traffic continues.

Only a is judged: after an outage upstream's client may wait for a minute until it tries again."""

import re
import time

from lab import command, peers, traffic
from lab.lease import ANNOTATION

from cluster import audit
from cluster.api import Refusal
from cluster.cluster import Cut, nightly, weft_only

MINUTE = 60


def change_nodes(cluster):
    """One bystander is removed, one added, one changed."""
    cluster.api.delete_node("old")
    cluster.bystander("new", "10.244.10.0/24")
    cluster.api.annotate("moving", {ANNOTATION + "public-ip": "192.168.80.250"})


def start_with_bystanders(cluster):
    add_bystanders(cluster)
    return cluster.pair()


def add_bystanders(cluster):
    for name, subnet in (("old", "10.244.8.0/24"), ("moving", "10.244.9.0/24")):
        cluster.bystander(name, subnet)


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


def change_after_backup(cluster):
    """etcd is saved; then Nodes change, and versions run far ahead of the backup's."""
    control = cluster.control
    control.backup_etcd()
    control.wait_ready(20)
    change_nodes(cluster)
    for flags in ([], ["--heartbeats-per-second=1000", "--seconds=3"], ["--delete"]):
        control.where.run(peers.find("nodeload"), f"--kubeconfig={control.path('admin.kubeconfig')}", "--to=10", "--first-subnet=10.244.100.0",
                          *flags)


@weft_only
@nightly
def test_etcd_restored(cluster):
    """An old backup is restored as it is (etcd's manual says to bump its revision): versions run far backwards, deleted Nodes exist
    again. A real API server sends nothing to a watch from a version that it has yet to reach; two such silences, of two minutes
    each, reveal it. If it had reached that version by then, it could not be detected."""
    a, _ = start_with_bystanders(cluster)
    change_after_backup(cluster)
    cluster.settle("etcd restarts", timeout=90, of=a)
    cluster.control.stop_apiserver()
    cluster.control.restore_etcd()
    cluster.site.start_apiserver()
    cluster.settle("etcd is restored", timeout=400, of=a)
    command.expect("10.244.8.0/24" in a.routes(), f"routes of a: {a.routes()}")


@weft_only
@nightly
def test_etcd_restored_under_two_servers(cluster):
    """The same, but only one of two API servers is restarted. The other one shows the Nodes from before the restore, and a uses it: no
    client can know better. Once a has seen that it fails, a uses the restarted one, although the other one still has a's version.
    No streamed lists, as of most servers in use: without them a asks for a list of that version."""
    control = cluster.control
    flags = ["--feature-gates=WatchList=false"]
    cluster.site.restart_apiserver(*flags)
    with control.second(*flags) as stale:
        add_bystanders(cluster)
        a, b = cluster.add("a"), cluster.add("b")
        a.flags["kube-api-url"] = f"{stale.url},{control.url}"
        cluster.start(a, b)
        change_after_backup(cluster)
        command.wait_until(stale.api.ready, "the second API server has its etcd back", timeout=20, peer=True)
        cluster.settle("etcd restarts", timeout=90, of=a)
        control.stop_apiserver()
        control.restore_etcd()
        command.wait_until(stale.api.ready, "the second API server has its etcd back", timeout=60, peer=True)
        command.wait_until(lambda: a.servers()[stale.url]["inUse"] and "fails" not in a.servers()[stale.url]["text"],
                           lambda: f"a does not use the server that is left: {a.servers()}", timeout=60)
        cluster.site.start_apiserver(*flags)
        shown = [sorted(node["metadata"]["name"] for node in api.nodes()) for api in (control.api, stale.api)]
        cluster.say(f"Nodes of the restarted server and of the other one: {shown}")
        command.expect("old" in shown[0] and "old" not in shown[1], f"the second server does not show its old cache: {shown}")

        rules = f"""
            table ip cut {{
              chain out {{ type filter hook output priority 0; tcp dport {stale.port} reject with tcp reset; }}
            }}"""
        a.host.run("nft", "-f", "-", stdin=rules)
        control.forget_connections(a.address)
        command.wait_until(lambda: a.servers_in_use() == [control.url], "a uses the restarted server", timeout=40)
        a.host.run("nft", "delete", "table", "ip", "cut")
        cluster.settle("etcd is restored", timeout=400, of=a)
        command.expect_equal(a.servers_in_use(), [control.url], "the server in use, while the other one still shows the former etcd")

        stale.stop()
        stale.start()
        control.stop_apiserver()
        cluster.api = stale.api
        cluster.bystander("far", "10.244.11.0/24")
        cluster.settle("the other one is restarted, too", timeout=40, of=a)
        cluster.site.start_apiserver()
        cluster.api = control.api
