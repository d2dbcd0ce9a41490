"""What deploy/systemd/flanneld.service allows is enough. No systemd runs here: setpriv applies the capabilities."""

import os
import re

from lab import command, node, topology, traffic

UNIT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "deploy/systemd/flanneld.service")


def settings(name):
    with open(UNIT, encoding="utf-8") as file:
        return re.findall(rf"^{name}=(.*)$", file.read(), re.MULTILINE)


class ConfinedNode(node.WeftNode):
    @property
    def under(self):
        kept = [each.removeprefix("CAP_").lower() for each in settings("CapabilityBoundingSet")[0].split()]
        return ("setpriv", "--no-new-privs", "--bounding-set=-all," + ",".join(f"+{each}" for each in kept), "--inh-caps=-all")


def test_capabilities():
    """Tunnel, routes, masquerading, forward rules and steering by BPF."""
    with topology.pair(ConfinedNode, node.KernelNode, ipv6=True) as lab:
        a, b = lab.nodes
        a.host.run("iptables-legacy", "-N", "weft-test")  # the host uses legacy tables
        lab.up(ip_masq="true", iptables_resync="1")
        for one, other in ((a, b), (b, a)):
            traffic.ping(one.pod, other.pod_ip)
            traffic.ping(one.pod, other.pod_ip6)
        status = a.status()
        command.expect_equal([each for each in status["conditions"] if each.get("condition")], [], "conditions")
        log = a.log_text()
        command.expect(not any(word in log for word in ("not permitted", "denied", "refuses BPF")), f"something was refused: {log}")
        command.expect_equal(a.down(), 0, "exit code")
        a.host.run("iptables-legacy", "-X", "weft-test")
