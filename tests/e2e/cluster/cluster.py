"""The nodes of one test on the shared site, and the check after each disturbance: does every node agree with the API server again?"""

import os
import time

from lab import command, lease, traffic

from . import audit, member, truth
from .api import Refusal

SUBNETS = {"a": "10.244.1.0/24", "b": "10.244.2.0/24", "c": "10.244.3.0/24", "d": "10.244.4.0/24"}


class Cluster:
    """`subject`: the kind of node a, "weft" or (to prove this lab) "upstream"."""

    network = "10.244.0.0/16"
    backend = {"Type": "vxlan", "VNI": 4096, "Port": 4789}  # net-conf's, for nodes that are added later
    families = ("ipv4",)

    def __init__(self, site, subject, name):
        self.site, self.subject = site, member.KINDS[subject]
        self.control, self.api = site.control, site.api
        self.folder = os.path.join(site.folder, name)
        self.logs = os.path.join(site.logs, name)
        os.makedirs(self.folder)
        os.makedirs(self.logs)
        self.members = {}
        self.audit = audit.Audit(site.control.log_path("audit"))
        self.secrets = list(site.tokens.values())  # no log, no answer may show one
        self.refusals = False  # whether the test means our requests to be refused
        self.starts = site.control.starts

    # ---- Making

    def add(self, name, kind=None, subnets=None):
        """A node, its flanneld not started, and its Node object; `subnets`: its podCIDRs, () for none yet."""
        made = (kind or (self.subject if name == "a" else member.Upstream))(self, name)
        self.members[name] = made
        self.api.create_node(name, *([SUBNETS[name]] if subnets is None else subnets))
        return made

    def pair(self):
        """Nodes a (the subject) and b (upstream), which have each other's leases."""
        return self.start(self.add("a"), self.add("b"))

    def start(self, *members):
        began = time.monotonic()
        for each in members:
            each.spawn()
        for each in members:
            each.wait_ready()
        self.settle(f"start of {' and '.join(each.name for each in members)}", since=began)
        return members

    def bystander(self, name, subnet, **annotations):
        """A Node with a lease, but without a machine; `annotations` as lease.Lease.node takes them."""
        public_ip = f"192.168.80.{200 + int(subnet.split('.')[2])}"
        advertised = lease.Lease(name, public_ip, subnet, lease.mac_for(name)).node(**annotations)
        self.api.create_node(name, subnet, annotations=advertised["metadata"]["annotations"])

    def make_pod(self, name, where, node):
        try:
            self.api.request("POST", f"/api/v1/namespaces/{where}/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"nodeName": node, "containers": [{"name": "flannel", "image": "flannel"}]}})
        except Refusal as refusal:
            command.expect(refusal.status == 409, str(refusal))  # made before in this test

    def published(self, name):
        """flannel's annotations of a Node, by their short names."""
        return truth.annotations(self.api.node(name))

    # ---- Judging

    def ended(self):
        """Programs that ended by themselves, of the control plane and of all nodes, as sentences."""
        return [*self.control.ended(), *(each for node in self.members.values() for each in node.ended())]

    def expect_alive(self):
        """In every test: no program that it has started and not ended may have exited."""
        found = self.ended()
        command.expect(not found, "; ".join(found))

    def differences(self, of=None):
        """Where the running nodes (or this one) differ from the API server, as sentences."""
        self.expect_alive()
        nodes = self.api.nodes()
        found = []
        for each in [of] if of else self.members.values():
            for family in self.families if each.running() else ():
                expected, known = truth.peers(nodes, each.name, family, each.vni), each.table(family)
                if known != expected:
                    found.append(f"{each.name} has {known} instead of {expected}")
                if each.kind == "weft":
                    found += self._row_differences(each, truth.leases(nodes, family), family)
        return found

    @staticmethod
    def _row_differences(each, expected, family):
        rows = each.leases()
        kept = {node for node, row in rows.items() if "keptSince" in row.get(family, {})}  # its last complete lease, no longer published
        known = {node: {key: row[family][key] for key in ("subnet", "publicIP", "vtepMAC", "vni") if key in row[family]}
                 for node, row in rows.items() if family in row and node not in kept}
        expected = {node: half for node, half in expected.items() if node not in kept}
        return [] if known == expected else [f"{each.name} lists {known} instead of {expected}"]

    def silent_pairs(self):
        """Pods that do not reach one another, as sentences."""
        self.expect_alive()
        talking = [each for each in self.members.values() if each.pod and each.running()]
        return [f"{one.name} does not reach {other.name} by {family}" for one in talking for other in talking for family in self.families
                if one is not other and not reaches(one.pod, other.pod_address(family))]

    def settle(self, what, timeout=90, since=None, with_traffic=True, of=None):
        """Waits until every running node (or this one) agrees with the API server and all pods reach one another; prints how long that took."""
        began = since or time.monotonic()
        left = []

        def agree():
            left[:] = self.differences(of) or (self.silent_pairs() if with_traffic else [])
            return not left

        command.wait_until(agree, lambda: f"{what}: {'; '.join(left)}", timeout=timeout, interval=0.05)
        self.say(f"{what}: recovered in {time.monotonic() - began:.1f} s")

    def say(self, text):
        print(f"   {text}", flush=True)

    def full_size(self, one, other, size=32 << 20):
        """Both ways: the largest packet that fits, TCP in bulk, datagrams."""
        for source, sink in ((one, other), (other, one)):
            traffic.ping(source.pod, sink.pod_ip, size=1450, fragment=False)
            traffic.tcp(source.pod, sink.pod, sink.pod_ip, size)
            sent, received = traffic.udp(source.pod, sink.pod, sink.pod_ip, seed=7, size=1402, count=400, rate=10000, expected=400, idle=5)
            command.expect_equal(received["datagrams"], sent["datagrams"], f"datagrams from {source.name}")
            command.expect_equal((received["corrupt"], received["duplicates"]), (0, 0), "corrupt and duplicate datagrams")

    def inspect(self):
        """Checks of every test of weft: no request beyond the role, none refused, no secret shown."""
        # An API server that has just started refuses everybody until it has read its roles.
        refusals = self.refusals or self.control.starts > self.starts
        for each in self.members.values():
            if each.kind in ("weft", "weft.exe"):
                audit.expect_modest(self.audit, each, refusals)
                for place, text in each.shown().items():
                    command.expect(not any(secret in text for secret in self.secrets), f"{place} of {each.name} shows a secret; see {each.log_path()}")

    def close(self):
        """All nodes end, with the right exit code; the control plane stays."""
        command.add_failures(None, command.failures([*(each.expect_running for each in self.control.programs()),
                                                     *(each.close for each in self.members.values()), self.site.tidy]))


def reaches(pod, address):
    return " 0 received" not in pod.run("ping", "-n", "-c", "1", "-W", "0.3", address, check=False)


class Cut:
    """While it lasts, a node and the API server do not reach each other. "drop": without an error, as on a broken path;
    "refuse": connections end at once, as on a host that is down."""

    VERDICTS = {"drop": "drop", "refuse": "meta l4proto tcp reject with tcp reset"}

    def __init__(self, member, how="drop"):
        self.host = member.host
        rules = f"""
            table ip cut {{
              chain in {{ type filter hook input priority 0; ip saddr {member.cluster.control.address} drop; }}
              chain out {{ type filter hook output priority 0; ip daddr {member.cluster.control.address} {self.VERDICTS[how]}; }}
            }}"""
        self.host.run("nft", "-f", "-", stdin=rules)

    def mend(self):
        self.host.run("nft", "delete", "table", "ip", "cut")


def weft_only(function):
    """For a test that upstream's flanneld, in weft's place, does not pass or cannot run."""
    function.weft_only = True
    return function


def upstream_only(function):
    """For a fault of upstream's, whatever the subject: it runs with upstream's flanneld alone (--subject=upstream)."""
    function.upstream_only = True
    return function


def nightly(function):
    """For a test that takes minutes, tests the lab, or repeats what another one finds: the gate leaves it out (CONTRIBUTING.md, Tiers)."""
    function.nightly = True
    return function
