"""Two flannelds under full load, whose leases change a thousand times a second for half of the time.

TCP runs both ways, and other pods send requests at fixed times. What an answer takes at most may not grow by more than 10 ms while leases
change: phases with changes and without take turns.
"""

import argparse
import contextlib
import ipaddress
import json
import os
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from cluster import certificates  # noqa: E402  (and the lab's folder comes into the path)
from lab import cases, command, lease, namespace, node, topology, traffic  # noqa: E402
import heartbeat_server  # noqa: E402

PORT = 6443
NODES = 1000
CHANGES = 1000  # a second, at each of the two
REQUESTS = 500  # a second
PHASE_SECONDS = 4
MOST_LONGER = 10.0  # ms
# So many phases with changes, each worse than all without, are a stall. Were both kinds alike, the twenty worst of all would be of one kind by chance
# once in two million runs (2^-20 at most, for each is of that kind with less than one half).
STALLS = 20
PACKET_BUFFERS_KIB = 16 * 1024  # at least; one mapping
MOST_GROWTH_KIB = 2048 + 512  # the remote table takes a page of 2 MiB at a time
MOST_HALVES = 4
SERVERS = {"a": "192.168.71.1", "b": "192.168.72.1"}  # the server's address for each
OWN = [lease.Lease("a", subnet="10.247.254.0/24", public_ip="192.168.77.1"), lease.Lease("b", subnet="10.247.255.0/24", public_ip="192.168.77.2")]


class ChangingServer(heartbeat_server.HeartbeatServer):
    """Each event is another MAC and public IP of a Node."""

    pause = 0.001

    def _beat(self):
        changed = super()._beat()
        changed.annotations[lease.ANNOTATION + "backend-data"] = lease.backend_data(4096, lease.mac_for(f"{changed.name}-{self.version}"))
        changed.annotations[lease.ANNOTATION + "public-ip"] = f"172.31.{self.version >> 8 & 255}.{self.version & 255}"
        return changed


class Member(node.WeftNode):
    """A flanneld that reads its leases from the server; a second pod sends the requests."""

    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        self.options.update({"lease-source": None, "kube-subnet-mgr": "true", "kubeconfig-file": self.path("kubeconfig")})

    def join_pod(self):
        super().join_pod()
        self.other_pod = self.add_pod("other", 77)
        self.other_ip = str(ipaddress.ip_network(self.lease.subnet)[77])

    def use_server(self, where, authority):
        address = SERVERS[self.name]
        namespace.connect(self.host, "s0", where, f"to-{self.name}")
        self.host.ip(f"addr add {address[:-1]}2/24 dev s0")
        where.ip(f"addr add {address}/24 dev to-{self.name}")
        lease.write_text(self.path("kubeconfig"), json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://{address}:{PORT}", "certificate-authority": authority.path("ca.crt")}}],
            "users": [{"name": "c", "user": {"token": "load"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}))

    def memory_kib(self):
        """Its resident memory, large mappings in full: the packet buffers' pages are touched by the first batches that are as deep."""
        memory, size = 0, 0
        with open(f"/proc/{self.pid()}/smaps", encoding="ascii") as file:
            for line in file:
                word, *rest = line.split()
                if word == "Size:":
                    size = int(rest[0])
                elif word == "Rss:":
                    resident = int(rest[0])
                    memory += size if resident and size >= PACKET_BUFFERS_KIB else resident
        return memory

    def dropped(self):
        """What the status names as dropped, by flanneld and by the kernel."""
        tunnel = self.tunnel()
        return sum(sum(self.drops(direction).values()) for direction in ("toWire", "toPods")) + sum(each["value"] for each in tunnel["kernel"])


class Load:
    """TCP both ways until it is stopped."""

    def __init__(self, a, b):
        self.ends = False
        self.gigabits, self.failure = [], None
        self.threads = [threading.Thread(target=self._run, args=each, daemon=True) for each in ((a, b), (b, a))]
        for each in self.threads:
            each.start()

    def _run(self, source, sink):
        try:
            while not self.ends:
                self.gigabits.append(traffic.iperf(source.pod, sink.pod, sink.pod_ip, seconds=2))
        except command.Failure as failure:
            self.failure = failure

    def stop(self):
        self.ends = True
        for each in self.threads:
            each.join()
        if self.failure:
            raise self.failure
        return 2 * sum(self.gigabits) / len(self.gigabits)


def most_growth(short):
    return 8192 if short else MOST_GROWTH_KIB


def judge(phases, memory, changes, lost, named, short):
    """[(case, failure or "", what was measured)]. The short form, which CI runs next to other tests, fails on no time, and buffers may still fill."""
    worst = {changing: max(latency for each, latency in phases if each == changing) for changing in (False, True)}
    stalls = sum(changing and latency > worst[False] + MOST_LONGER for changing, latency in phases)
    yield ("stall", not short and stalls >= STALLS and f"{stalls} phases with changes are more than {MOST_LONGER} ms worse than each without",
           f"longest answer {worst[True]:.1f} ms, {worst[False]:.1f} without changes; {stalls} phases beyond")
    most = most_growth(short)
    for name, before in memory[-2].items():
        grown = memory[-1][name] - before
        yield (f"memory-{name}", grown > most and f"grew by {grown} KiB in the last of {len(memory)} halves, {most} are let pass in each",
               f"{before} KiB, all of the packet buffers counted, {grown:+} KiB in half {len(memory)}")
    yield "drops", lost > named and f"{lost} requests were lost, status names {named} drops", f"{lost} requests lost, {named} drops in status"
    seconds = sum(PHASE_SECONDS for each, _ in phases if each)
    least = (0.01 if short else 0.5) * 2 * CHANGES * seconds  # the load's own server had no time: late
    yield ("changes", changes < least and f"{'late: ' if changes >= least / 10 else ''}only {changes} came",
           f"{changes / seconds:.0f} a second at the two")


def run(a, b, server, seconds, short):
    load = Load(a, b)
    phases, sent, answered = [], 0, 0
    memory = []  # after each half
    # Load fills buffers in the first half. The longer a worker got no time, the more snapshots were in use at once, for which the remote table keeps
    # its pages; so what grew must grow again to be a leak.
    while len(memory) < 2 or len(memory) < MOST_HALVES and any(memory[-1][name] - memory[-2][name] > most_growth(short) for name in memory[-1]):
        began = time.monotonic()
        while time.monotonic() - began < seconds / 2:
            for changing in (True, False):
                server.rate = CHANGES if changing else 0
                report = traffic.round_trips(a.other_pod, b.other_pod, b.other_ip, rate=REQUESTS, seconds=PHASE_SECONDS, size=64)
                phases.append((changing, report["latencies_us"][-1] / 1000))
                sent, answered = sent + report["sent"], answered + report["answered"]
        memory.append({each.name: each.memory_kib() for each in (a, b)})
    server.rate = 0
    gigabits = load.stop()
    print(f"   {len(phases)} phases, TCP {gigabits:.1f} Gb/s in both directions together, {server.sent} lease changes")
    if not short:  # a stall that comes seldom
        command.within(max(latency for changing, latency in phases if changing) / 1000, 1, "the longest answer while leases change")
    return list(judge(phases, memory, server.sent, sent - answered, a.dropped() + b.dropped(), short))


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    parser = argparse.ArgumentParser(prog="tests/soak/load.sh")
    parser.add_argument("--short", action="store_true", help="32 s; more if memory grows")
    chosen = parser.parse_args()
    seconds = float(os.environ.get("WEFT_LOAD_SECONDS", "24" if chosen.short else "1200"))
    signal.signal(signal.SIGTERM, interrupted)
    namespace.delete_leftovers()
    results = []

    def work():
        with contextlib.ExitStack() as open_:
            lab = open_.enter_context(topology.Lab(network="10.244.0.0/14", without_ipv6=True))
            a, b = (lab.add(Member, each) for each in OWN)
            lab.join_directly(a, b)
            where = namespace.Namespace("server")
            open_.callback(where.close)
            folder = os.path.join(lab.folder, "authority")
            os.makedirs(folder)
            authority = certificates.Authority(folder)
            authority.sign("server", "/CN=server", "subjectAltName=" + ",".join(f"IP:{each}" for each in SERVERS.values()))
            for each in (a, b):
                each.use_server(where, authority)
            server = ChangingServer(where, PORT, authority.path("server.crt"), authority.path("server.key"),
                                    [*heartbeat_server.leases(NODES), *OWN], rate=0, lifetime=600)
            open_.callback(server.close)
            for each in (a, b):
                open_.callback(each.down)
                each.up()
            command.wait_until(lambda: all(len(each.leases()["leases"]) == NODES + 2 for each in (a, b)), "all leases", timeout=30)
            traffic.ping(a.pod, b.pod_ip)
            results.extend(run(a, b, server, seconds, chosen.short))

    if reason := cases.judge(work):
        results.append(("end", reason, ""))
    for case, failure, measured in results:
        print(f"not ok {case}: {failure}" + (f" ({measured})" if measured else "") if failure else f"ok {case}: {measured}", flush=True)
    failed = sum(bool(failure) for _, failure, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        namespace.delete_own()
