"""flanneld.exe --dataplane=userspace under Wine, whose wpcap.dll stands in for Npcap: real traffic of a pod on a veth, with peers that are
not Windows."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

from lab import capture, command, daemon, frames_node, lease, node, topology, traffic

from cluster.cluster import nightly
from cluster.windows import WINE, our, run_in_wine, start_in_wine, windows_path

MIB = 1 << 20
PIPE = r"\\.\pipe\weft"


class WineNode(frames_node.PcapNode):
    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        self.prefix = self.path("wine")
        command.run(os.path.join(topology.ROOT, "tests", "wine", "hns.sh"), self.prefix)
        self.environment = {"HOME": "/root", "WINEPREFIX": self.prefix, "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8", "NODE_NAME": own.name,
                            "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe="}
        for flag in ("net-config-path", "subnet-file", "state-dir"):
            self.options[flag] = windows_path(self.options[flag])
        self.options |= {"lease-source": "file:" + windows_path(self.path("nodes.json")), "admin": PIPE}

    def words(self, *words):
        variables = [f"{key}={value}" for key, value in self.environment.items()]
        return ["env", "-i", *variables, "/bin/sh", "-ec", '/usr/lib/wine/wineserver -p60 || true; exec "$@"', "sh", WINE, *words]

    def spawn(self, **options):
        chosen = {**self.options, **{key.replace("_", "-"): value for key, value in options.items()}}
        flags = [f"--{key}={value}" for key, value in chosen.items() if value is not None]

        def begin():
            with open(self.path("flanneld.log"), "a", encoding="utf-8") as log:
                return self.host.start(*self.words(our("flanneld"), *flags), stdout=log, stderr=log)

        process = start_in_wine(begin, self.path("flanneld.log"))
        # To Wine SIGTERM is no word to the program.
        self.daemon = daemon.Daemon(f"flanneld.exe of {self.name}", process, self.path("flanneld.log"), -signal.SIGTERM)

    def up(self, **options):
        self.spawn(**{"pod_device": "pcap:pod", **options})
        self.wait_ready(40)

    def wine(self, *words):
        """Exit code and both outputs."""
        return run_in_wine(lambda out, error: self.host.start(*self.words(*words), stdout=out, stderr=error), self.folder, words[0])

    def status(self):
        code, out, error = self.wine(our("flannelctl"), "status", "--output=json", f"--admin={PIPE}")
        command.expect(out, f"flannelctl.exe status: exit {code}: {error[-400:]}")
        return json.loads(out)

    def expect_unchanged_host(self):
        """The host is Wine's."""

    def close(self):
        with contextlib.suppress(OSError):
            super().close()
        subprocess.run(["/usr/lib/wine/wineserver", "-k"], env={"WINEPREFIX": self.prefix, "HOME": "/root"}, check=False)
        shutil.rmtree(self.prefix, ignore_errors=True)


def both_ways(lab, size):
    a, b = lab.nodes
    for source, sink in ((a, b), (b, a)):
        traffic.ping(source.pod, sink.pod_ip, size=1450, fragment=False)
        traffic.tcp(source.pod, sink.pod, sink.pod_ip, size=size, timeout=120)


def test_kernel_peer(_):
    """And what the pod asks of its gateway, as tshark reads it; the books balance; status says what does not work."""
    with topology.pair(WineNode, node.KernelNode, without_ipv6=True) as lab:
        a, b = lab.nodes

        def counted():
            return sum(each["packets"] for each in a.tunnel(a.device)["toWire"]["packets"])

        def sent():
            return a.pod.devices()["e0"]["stats64"]["tx"]["packets"]

        with capture.Capture(lab, a.pod, "e0", "arp") as seen:
            before = sent()
            lab.up()
            traffic.ping(a.pod, b.pod_ip, count=20)
            command.wait_until(lambda: counted() == sent() - before, lambda: f"{counted()} packets counted of {sent() - before}", timeout=20)
            both_ways(lab, 100 * MIB)
        gateway = node.gateway(a.lease.subnet)
        replies = seen.rows(["arp.src.hw_mac"], f"arp.opcode == 2 && arp.src.proto_ipv4 == {gateway}")
        command.expect(replies and all(row["arp.src.hw_mac"] == [a.lease.mac] for row in replies), f"ARP replies: {replies}")
        command.expect(a.count("unmarked-superframes") > 0, f"offloads found: {a.tunnel(a.device)['kernel']}")
        said = "kube-proxy and the CNI plugins, which need one, do not work"
        status = a.status()
        command.expect(status["ready"] and any(said in each["text"] for each in status["checks"]), f"checks: {status['checks']}")
        command.expect(said in a.log_text(), "the log does not say so")


@nightly
def test_weft_peer(_):
    with topology.pair(WineNode, node.WeftNode) as lab:
        lab.up()
        both_ways(lab, 100 * MIB)


def test_neighbours(_):
    """Both families' gateway; and pods that claim to be it, or somebody else's."""
    with topology.pair(WineNode, node.KernelNode, ipv6=True) as lab:
        lab.up()
        frames_node.expect_gateway_answers(lab)
        frames_node.expect_claims_named(lab)
        traffic.tcp(lab.nodes[0].pod, lab.nodes[1].pod, lab.nodes[1].pod_ip6, size=5 * MIB, timeout=60)


def test_killed_under_traffic(_):
    with topology.pair(WineNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        receiving = traffic.Sink(b.pod, "tcp-sink")
        with a.pod.start(topology.find_program("traffic"), "tcp-send", f"--to={b.pod_ip}", f"--bytes={200 * MIB}", "--seed=1") as sending:
            before = b.pod.devices()["e0"]["stats64"]["rx"]["bytes"]
            command.wait_until(lambda: b.pod.devices()["e0"]["stats64"]["rx"]["bytes"] > before + 10 * MIB, "no traffic", timeout=20)
            command.expect(sending.poll() is None, "all was sent before the kill")
            a.down(signal.SIGKILL)
            a.up()
            command.finish(sending, "the sender", 90)
            command.expect_equal(sending.returncode, 0, "the sender's exit code")
        command.expect_equal(receiving.report()["bytes"], 200 * MIB, "bytes received")


def test_capture(_):
    """flannelctl.exe, with names of nodes from flanneld.exe; tshark reads it."""
    with topology.pair(WineNode, node.KernelNode, without_ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.ping(a.pod, b.pod_ip)
        path = a.path("capture.pcapng")
        words = a.words(our("flannelctl"), "capture", "--both", f"--write={windows_path(path)}", "--count=8", f"--admin={PIPE}")
        with a.host.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as capturing:
            first = capturing.stderr.readline()
            command.expect(first.startswith("capturing u0, pod (pods)"), f"flannelctl.exe capture: {first}")
            traffic.ping(a.pod, b.pod_ip, count=2)
            said = capturing.stderr.read()
            command.finish(capturing, "flannelctl.exe capture")
            command.expect_equal(capturing.returncode, 0, f"exit code ({said})")
        found = command.run("tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-e", "frame.interface_name", "-e", "frame.comment")
        rows = sorted(set(found.splitlines()))
        command.expect_equal(rows, ["pod|a to b", "pod|b to a", "u0|a to b", "u0|b to a"], "frames, by adapter and nodes")
        code, out, error = a.wine(our("flannelctl"), "capture", "--adapter=u0", "--count=1", "icmp", f"--admin={PIPE}")
        command.expect(code != 0 and not out and "cannot filter the pods' packets inside outer frames" in error,
                       f"what Wine's library cannot do: exit {code}: {out} {error}")


def test_without_npcap(_):
    """One sentence; nothing else fails."""
    with topology.pair(WineNode, node.KernelNode) as lab:
        a, b = lab.nodes
        a.use([a.lease, b.lease])
        a.environment["WINEDLLOVERRIDES"] += ";wpcap="
        a.spawn(pod_device="pcap:pod")
        command.wait_until(lambda: "Npcap is not installed on this machine" in a.log_text(), lambda: a.log_text()[-2000:], timeout=40)
        command.expect_equal(a.health("/healthz")[0], 200, "health")
        command.expect(a.health("/readyz")[0] != 200, "ready without its data plane")
