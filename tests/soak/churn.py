"""Two flannelds under heartbeats for an hour: 1,000 a second from a server of ours, 100 a second from the real API server.

Neither may grow, log, change a lease or touch a route; their cost is printed.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from cluster import certificates, control_plane  # noqa: E402  (and the lab's folder comes into the path)
from lab import cases, command, lease, namespace, node, peers, topology  # noqa: E402
import heartbeat_server  # noqa: E402

SERVER, CLIENT = "192.168.77.1", "192.168.77.2"
PORT = 6443
NODES = 1000
OURS_RATE, REAL_RATE = 1000, 100  # heartbeats a second
COMPACTION_SECONDS = 300
TICKS = os.sysconf("SC_CLK_TCK")
OWN = lease.Lease("churned", subnet="10.247.255.0/24")


class Member(node.WeftNode):
    """A flanneld that reads its leases from `url`, with all that it may touch watched."""

    def __init__(self, lab, server, kubeconfig):
        self.server = server
        super().__init__(lab, OWN)
        namespace.connect(self.host, "u0", server, "u0")
        self.host.ip(f"addr add {CLIENT}/24 dev u0")
        server.ip(f"addr add {SERVER}/24 dev u0")
        self.options.update({"lease-source": None, "kube-subnet-mgr": "true", "iface": "u0",
                             "kubeconfig-file": self.path("kubeconfig")})
        lease.write_text(self.path("kubeconfig"), json.dumps(kubeconfig))

    def cost(self):
        with open(f"/proc/{self.pid()}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return {"rss_kib": self.resident_kib(), "cpu_seconds": (int(fields[11]) + int(fields[12])) / TICKS, "time": time.monotonic()}

    def state(self):
        """The state that may not change. Reading it uses memory: not between two measurements of memory."""
        document = self.leases()
        usable = sum(row.get("ipv4", {}).get("state") == "usable" for row in document["leases"])
        return {"generation": document["generation"], "usable": usable, "log": self.log_text(), "routes": self.monitored()}

    def watch_routes(self):
        self.monitor_path = self.path("monitor")
        with open(self.monitor_path, "w", encoding="utf-8") as file:
            self.host.start("ip", "monitor", "route", "link", "address", stdout=file)

    def monitored(self):
        with open(self.monitor_path, encoding="utf-8") as file:
            return file.read()


def judge(name, before, after, beats, beating, least):
    """[(case, failure or "", what was measured)]"""
    seconds = after["time"] - before["time"]
    grown = after["rss_kib"] - before["rss_kib"]
    most = max(256, before["rss_kib"] * 2 // 100)
    cpu = after["cpu_seconds"] - before["cpu_seconds"]
    new_log, new_routes = after["log"][len(before["log"]):], after["routes"][len(before["routes"]):]
    yield ("memory", grown > most and f"grew by {grown} KiB, {most} are let pass",
           f"{before['rss_kib']} KiB, {grown:+} KiB after {seconds:.0f} s")
    yield ("leases", (after["generation"], after["usable"]) != (before["generation"], NODES) and
           f"generation {before['generation']} to {after['generation']}, {after['usable']} usable",
           f"{NODES} usable, generation {after['generation']}")
    yield "sinks", new_routes and f"routes or devices were touched: {new_routes.splitlines()[0]}", "no route touched"
    yield "log", new_log and f"{len(new_log.splitlines())} lines: {new_log.splitlines()[0]}", "no line"
    least *= beating * (OURS_RATE if name == "ours" else REAL_RATE)  # who sends them had no time: late
    yield ("heartbeats", beats < least and f"{'late: ' if beats >= least / 10 else ''}only {beats} came in {beating:.1f} s",
           f"{beats / beating:.0f} a second, {100 * cpu / seconds:.2f} % of a core, {1e6 * cpu / max(beats, 1):.1f} us each")


class Ours:
    """Heartbeats from a server of this test."""

    name = "ours"

    def __init__(self, lab, short):
        self.where = namespace.Namespace("server")
        folder = os.path.join(lab.folder, "authority")
        os.makedirs(folder)
        authority = certificates.Authority(folder)
        authority.sign("server", "/CN=server", f"subjectAltName=IP:{SERVER}")
        kubeconfig = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                      "clusters": [{"name": "c", "cluster": {"server": f"https://{SERVER}:{PORT}",
                                                             "certificate-authority": authority.path("ca.crt")}}],
                      "users": [{"name": "c", "user": {"token": "churn"}}],
                      "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}
        self.member = Member(lab, self.where, kubeconfig)
        # Watches end as often as the client asks, in the short run as often as to see it.
        self.server = heartbeat_server.HeartbeatServer(
            self.where, PORT, authority.path("server.crt"), authority.path("server.key"), [*heartbeat_server.leases(NODES), OWN],
            OURS_RATE, lifetime=4 if short else 600)

    def beats(self):
        return self.server.sent

    def begin(self, seconds):
        pass

    def go_on(self):
        pass

    def end(self):
        return f"{self.server.lists} lists and {self.server.watches} watches served"

    def close(self):
        command.add_failures(None, command.failures([self.member.close, self.server.close, self.where.close]))


class Real:
    """Heartbeats through etcd and kube-apiserver."""

    name = "real"

    def __init__(self, lab, _):
        self.where = namespace.Namespace("api")
        folder = os.path.join(lab.folder, "control")
        self.control = control_plane.ControlPlane(self.where, SERVER, folder, lab.folder, ["churn"])
        self.member = Member(lab, self.where, self.control.kubeconfig({"token": "churn"}))
        self.control.up()
        self.control.api.create_node(OWN.name, OWN.subnet)
        self._nodeload()
        self.load = None
        self.compacted = time.monotonic()

    def _flags(self):
        return [peers.find("nodeload"), "--kubeconfig", self.control.path("admin.kubeconfig"), "--from", "0", "--to", str(NODES),
                "--first-subnet", "10.244.0.0"]

    def _nodeload(self):
        self.where.run(*self._flags(), timeout=300)

    def begin(self, seconds):
        self.began = time.monotonic()
        self.load = self.where.start(*self._flags(), "--heartbeats-per-second", str(REAL_RATE), "--seconds", str(seconds),
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def beats(self):
        """By the server's own count."""
        text = self.control.api.request("GET", "/metrics")
        rows = re.findall(r'^apiserver_request_total\{[^}]*resource="nodes"[^}]*subresource="status"[^}]*verb="PATCH"[^}]*\} (\S+)', text,
                          re.MULTILINE)
        return int(sum(float(row) for row in rows))

    def go_on(self):
        """etcd would fill up."""
        if time.monotonic() - self.compacted > COMPACTION_SECONDS:
            self.compacted = time.monotonic()
            self.control.compact()

    def end(self):
        reported, _ = command.finish(self.load, "nodeload", 60)
        command.expect_equal(self.load.returncode, 0, f"nodeload: {reported.strip()}")
        return reported.strip()

    def close(self):
        if self.load:
            command.stop(self.load, signal.SIGKILL)
        command.add_failures(None, command.failures([self.member.close, self.control.close, self.where.close]))


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def run(sides, seconds):
    """Passed and failed, of each side."""
    settle = min(120, seconds / 4)
    for side in sides:
        side.member.watch_routes()
        side.member.up()
        side.begin(seconds + 2)
    began = time.monotonic()
    time.sleep(settle)
    before = [({**side.member.state(), **side.member.cost()}, side.beats(), time.monotonic()) for side in sides]
    while time.monotonic() - began < seconds:
        time.sleep(1)
        for side in sides:
            side.go_on()
    for side, (first, first_beats, first_time) in zip(sides, before):
        beats, beating = side.beats() - first_beats, time.monotonic() - first_time
        passed = failed = 0
        after = {**side.member.cost(), **side.member.state()}
        for case, failure, measured in judge(side.name, first, after, beats, beating, 0.5 if seconds < 60 else 0.9):
            print(f"not ok {side.name}.{case}: {failure} ({measured})" if failure else f"ok {side.name}.{case}: {measured}", flush=True)
            passed, failed = passed + (not failure), failed + bool(failure)
        print(f"   {side.name}: {side.end()}")
        yield passed, failed


def main():
    parser = argparse.ArgumentParser(prog="tests/soak/churn.sh")
    parser.add_argument("--short", action="store_true", help="20 s, and watches that end soon")
    parser.add_argument("--only", choices=["ours", "real"])
    chosen = parser.parse_args()
    seconds = float(os.environ.get("WEFT_CHURN_SECONDS", "20" if chosen.short else "3600"))

    signal.signal(signal.SIGTERM, interrupted)
    namespace.delete_leftovers()
    sums = []  # passed, failed

    def work():
        with contextlib.ExitStack() as open_:
            sides = []
            for kind in (Ours, Real):
                if chosen.only in (None, kind.name):
                    lab = open_.enter_context(topology.Lab(network="10.244.0.0/14", without_ipv6=True))
                    sides.append(kind(lab, chosen.short))
                    open_.callback(sides[-1].close)
            sums.extend(run(sides, seconds))

    if reason := cases.judge(work):
        print(f"not ok churn: {reason}")
        sums.append((0, 1))
    passed, failed = map(sum, zip(*sums))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        namespace.delete_own()
