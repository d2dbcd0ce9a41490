"""net-conf.json that changes while the daemon runs: named, counted, shown, and the configuration read at start stays."""

import json
import os

from lab import command, lease, node, topology, traffic


def condition(a):
    """The row of status about net-conf; there is none without a condition."""
    return next((row for row in a.status()["conditions"] if row["subject"] == "net-conf"), {})


def expect_working(lab):
    a, b = lab.nodes
    a.daemon.expect_running()
    command.expect_equal(a.health("/readyz"), (200, "flanneld is ready"), "readyz")
    traffic.ping(a.pod, b.pod_ip)
    traffic.ping(b.pod, a.pod_ip)


def test_changed_while_running():
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, _ = lab.nodes
        path = a.path("net-conf.json")
        good = json.dumps(a.net_conf())
        other = json.dumps({**a.net_conf(), "Network": "10.200.0.0/16"})
        command.expect_equal(condition(a), {}, "conditions before the file was touched")
        for times, (what, spoil, cause, step) in enumerate((
                ("garbage", lambda: lease.write_text(path, "{garbage"), "line 1, column 2", "correct the file"),
                ("another network", lambda: lease.write_text(path, other), "differs from the running configuration", "restart flanneld"),
                ("gone", lambda: os.unlink(path), "No such file", "put the file back")), 1):
            spoil()
            command.wait_until(lambda: cause in condition(a).get("condition", ""), lambda: f"{what}: status shows {condition(a)}", timeout=15)
            reported = condition(a)["condition"]
            for word in (path, "the configuration read at start stays in force", step):
                command.expect(word in reported, f"{what}: {reported!r} lacks {word!r}")
            command.expect_equal(a.log_text().count(reported), 1, f"{what}: times in the log")
            command.expect_equal(condition(a)["times"], times, f"{what}: times in status")
            command.expect(reported in status_text(lab), f"{what}: flannelctl status does not show it")
            expect_working(lab)
        lease.write_text(path, good)
        command.wait_until(lambda: condition(a) == {}, lambda: f"put back: status shows {condition(a)}", timeout=15)
        expect_working(lab)


def status_text(lab):
    """flannelctl exits with 1, too."""
    a, _ = lab.nodes
    return a.host.run(lab.program("flannelctl"), "status", f"--admin={a.path('admin.sock')}", check=False)
