"""The annotations of a node whose VTEP MAC HNS chooses: none before it is known, then all at once. Here flanneld is the Linux program,
on the HNS emulator."""

import json
import subprocess

from lab import command, daemon, topology
from lab.lease import ANNOTATION

from cluster import member, truth
from cluster.cluster import weft_only


class HnsNode(member.Weft):
    """--dataplane=hns, on an emulator of its own."""

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.socket = self.path("hns.sock")
        self.flags |= {"dataplane": "hns", "hns": f"emulator:{self.socket}", "source-vip-store": self.path("networks")}
        process = self.host.start(topology.find_program("flannelctl"), "hns", "emulate", f"--listen={self.socket}",
                                  f"--adapter=eth0={self.address}", stdout=subprocess.PIPE)
        self.emulator = daemon.Daemon(f"HNS emulator of {name}", process)
        command.expect_equal(process.stdout.readline(), f"listening on {self.socket}\n", "the emulator's first line")

    def hns(self, *words):
        return json.loads(self.host.run(topology.find_program("flannelctl"), "hns", "control", self.socket, *words))

    def set_router_mac(self, text):
        """Of the only network; HNS' own choice again with each that is made."""
        state = self.hns("dump")
        state["networks"][0]["dr_mac"] = text
        self.hns("load", f"state={json.dumps(state)}")

    def router_mac(self):
        networks = self.hns("dump")["networks"]
        return networks[0]["dr_mac"].replace("-", ":").lower() if networks else None

    def wait_for_health(self):
        command.wait_until(lambda: self.ready_or_dead(), lambda: f"not ready: {self.last_words()}", timeout=40)

    def ended(self):
        return [*super().ended(), *filter(None, [self.emulator.ended()])]

    def close(self):
        command.add_failures(None, command.failures([self.down, self.emulator.stop, super().close]))


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
    a.hns("set", 'settings={"management_ip_ms":1500}')
    with cluster.api.watching() as events:
        a.spawn()
        waits_for(a, "management IP")
        command.expect_equal(cluster.published("a"), {}, "annotations before HNS has given the network its management IP")
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
    a.set_router_mac("")
    with cluster.api.watching() as events:
        a.spawn()
        waits_for(a, "router MAC")
        command.expect_equal((cluster.published("a"), a.health("/readyz")[0]), ({}, 503), "annotations and readyz before HNS has shown the router MAC")
        a.set_router_mac("0E-2A-00-00-00-77")
        a.wait_for_health()
        expect_published_once(cluster, events, "0e:2a:00:00:00:77")
