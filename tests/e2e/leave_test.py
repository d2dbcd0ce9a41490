"""A node leaves the cluster, and returns; and what flanneld would do before it first joins."""

import json
import os
import stat
import subprocess

from lab import command, lease, topology

from cluster.cluster import weft_only
from cluster.hns_node import HnsNode
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


def files(folder):
    """{path: text} of all that lies in it."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not stat.S_ISSOCK(os.stat(path).st_mode):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def plan_offline(a, *words):
    """flannelctl plan --offline with the flags of a's flanneld: the exit code, and the document."""
    done = subprocess.run(["ip", "netns", "exec", a.host.name, topology.find_program("flannelctl"), "plan", "--offline", *words, "-o", "json", "--",
                           *(f"--{name}={value}" for name, value in a.flags.items() if value is not None)],
                          capture_output=True, text=True, env=a.environment, check=False)
    command.expect(done.returncode in (0, 1), f"plan --offline: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def modifying(a):
    """How often HNS was called to change something."""
    return {name: count for name, count in a.hns("calls")["functions"].items() if any(word in name for word in ("Create", "Modify", "Delete"))}


@weft_only
def test_plan_offline(cluster):
    """Before the first start it names what flanneld then does, and writes nothing: not here, not in HNS, not to the API server."""
    a, b = cluster.add("a", kind=HnsNode), cluster.add("b", kind=Weft)
    b.up()
    lease.write_text(a.path("net-conf.json"), json.dumps(a.net_conf))
    before, hns, node = files(a.folder), a.hns("dump"), cluster.api.node("a")
    calls = modifying(a)
    code, plan = plan_offline(a)
    command.expect_equal(code, 1, "exit code with something to do")
    command.expect_equal(files(a.folder), before, "files after the plan")
    command.expect_equal(a.hns("dump"), hns, "HNS after the plan")
    command.expect_equal(modifying(a), calls, "modifying calls of HNS")
    command.expect_equal(cluster.api.node("a")["metadata"], node["metadata"], "Node a after the plan")
    verbs = {verb for verb, _ in cluster.audit.requested(a)}
    command.expect(verbs and verbs <= {"get", "list", "watch"}, f"the plan requested {verbs}")
    command.expect_equal([each["what"] for each in plan["calls"]][0], "create the network flannel.4096", "the first call")
    command.expect(any("10.244.2.0/24" in each["document"] for each in plan["calls"]), f"no route to b: {plan['calls']}")
    for words in (f"write {a.flags['subnet-file']}:\n", "publish flannel.alpha.coreos.com/kube-subnet-manager=true",
                  f"publish flannel.alpha.coreos.com/public-ip={a.address}", "reserve a source VIP in "):
        command.expect(any(each.startswith(words) for each in plan["changes"]), f"the plan lacks {words!r}: {plan['changes']}")
    text = next(each for each in plan["changes"] if each.startswith("write ")).split(":\n", 1)[1]

    a.spawn()
    a.wait_for_health()
    with open(a.flags["subnet-file"], encoding="utf-8") as file:
        written = file.read()
    command.expect_equal(written.replace("IPMASQ=false", "IPMASQ=true"), text, "subnet.env, against the plan")
    command.wait_until(lambda: cluster.published("a"), "a publishes")
    a.down()
    _, after = plan_offline(a)
    command.expect_equal((after["calls"], after["differences"]), ([], []), "what is left to do in HNS")
    command.expect(not [each for each in after["changes"] if "backend-data" not in each and "subnet.env" not in each], f"changes left: {after['changes']}")


@weft_only
def test_plan_offline_waits_no_longer(cluster):
    """What flanneld would wait for is an error that names it."""
    a = cluster.add("a", kind=HnsNode, subnets=())
    lease.write_text(a.path("net-conf.json"), json.dumps(a.net_conf))
    for words in (["podCIDR"], ):
        expect_refused(lambda: plan_offline(a), words[0])
    cluster.api.delete_node("a")
    expect_refused(lambda: plan_offline(a), "Node")
