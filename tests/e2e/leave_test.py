"""A node leaves the cluster, and returns."""

from lab import command, topology

from cluster.cluster import weft_only
from cluster.member import Weft


def leave(cluster, *words, check=True):
    """flannelctl node leave on node a, as an administrator."""
    a = cluster.members["a"]
    return a.host.run(topology.find_program("flannelctl"), "node", "leave", "--node-name=a", f"--kubeconfig-file={cluster.control.path('admin.kubeconfig')}",
                      f"--state-dir={a.path('state')}", f"--admin={a.flags['admin']}", *words, check=check)


def expect_refused(run, words):
    try:
        run()
    except command.Failure as failure:
        command.expect(words in str(failure), f"not refused because of {words}: {failure}")
    else:
        raise command.Failure(f"not refused because of {words}")


@weft_only
def test_node_leave(cluster):
    """Refused while flanneld or a pod runs; then the peer removes the node, whose own annotations return at its next start."""
    a, b = cluster.add("a"), cluster.add("b", kind=Weft)
    cluster.api.annotate("a", {"flannel.alpha.coreos.com/public-ip-overwrite": a.address})
    cluster.start(a, b)
    published = cluster.published("a")
    expect_refused(lambda: leave(cluster), "flanneld runs (process ")
    a.down()
    cluster.make_pod("web", "default", node="a")
    expect_refused(lambda: leave(cluster), "1 pod would lose the other nodes: default/web")
    command.expect("would remove flannel.alpha.coreos.com/backend-data" in leave(cluster, "--dry-run", "--force"), "the dry run names nothing")
    command.expect_equal(cluster.published("a"), published, "annotations after what was refused")
    cluster.api.delete_all("/api/v1/namespaces/default/pods/web?gracePeriodSeconds=0")
    left = leave(cluster)
    command.expect("removed flannel.alpha.coreos.com/backend-data from Node a" in left, f"leave: {left}")
    command.expect_equal(cluster.published("a"), {"public-ip-overwrite": a.address}, "what is left on the Node")
    command.wait_until(lambda: not b.table(), lambda: f"b removes a: {b.table()}")
    command.expect("nothing to do: Node a has no annotation of flannel's" in leave(cluster), "the second run")
    a.up()
    cluster.settle("a returns")
    command.expect_equal(cluster.published("a"), published, "annotations after its return")
    a.down()
    cluster.api.delete_node("a")
    command.expect("nothing to do: there is no Node a" in leave(cluster), "without a Node")
