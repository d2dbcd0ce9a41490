"""flannelctl capture beside a running node, read by tshark and capinfos."""

import glob
import json
import os
import re
import signal
import subprocess

from lab import command, frames, lease, node, topology, traffic


class Capture:
    """`flannelctl capture` in a node's namespace; its words on standard error once it ended."""

    def __init__(self, a, *words, write="capture.pcapng", admin=True):
        self.path = a.path(write)
        self.process = a.host.start(a.lab.program("flannelctl"), "capture", *words, f"--write={self.path}",
                                    *([f"--admin={a.path('admin.sock')}"] if admin else []), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.first = self.process.stderr.readline()
        command.expect(self.first.startswith("capturing "), f"flannelctl capture: {self.first}{self.process.stderr.read() if not self.first.startswith('capturing') else ''}")

    def end(self, timeout=20):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        output, self.said = command.finish(self.process, "flannelctl capture", timeout)
        command.expect_equal(self.process.returncode, 0, f"exit code of capture ({self.said})")
        self.counts = {name: (int(kept), int(lost)) for name, kept, lost in re.findall(r"(\S+)(?: \(pods\))?: (\d+) frames, (\d+) lost", self.said)}
        return output


def rows(path, *fields, display_filter="frame"):
    words = [word for field in fields for word in ("-e", field)]
    output = command.run("tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-Y", display_filter, *words)
    return [line.split("|") for line in output.splitlines()]


def up(lab):
    lab.up()
    return lab.nodes


def test_both_sides_agree_with_the_counters():
    with topology.pair(node.WeftNode, node.KernelNode, without_ipv6=True) as lab:
        a, b = up(lab)

        def forwarded():
            tunnel = a.tunnel()
            return [next(each["packets"] for each in tunnel[way]["packets"] if each["name"] == "forward") for way in ("toWire", "toPods")]

        traffic.ping(a.pod, b.pod_ip)
        capture = Capture(a, "--both")
        before = forwarded()
        traffic.ping(a.pod, b.pod_ip, count=20)
        for one, other in ((a, b), (b, a)):  # as many as fit into a TUN device's queue
            traffic.udp(one.pod, other.pod, other.pod_ip, size=500, count=400, rate=5000)
        after = forwarded()
        capture.end()
        sent, received = (now - then for now, then in zip(after, before))
        outer = rows(capture.path, "ip.src", "vxlan.vni", display_filter="vxlan")
        command.expect_equal(sum(each[0].startswith(a.lease.public_ip) for each in outer), sent, "frames to the wire")
        command.expect_equal(len(outer), sent + received, "outer frames")
        command.expect(all(each[1] == "4096" for each in outer), "VNI")
        inner = rows(capture.path, "ip.src", display_filter="!vxlan")
        command.expect_equal(len(inner), sent + received, "packets of pods")
        command.expect_equal(capture.counts, {"u0": (sent + received, 0), node.DEVICE: (sent + received, 0)}, "what capture says")
        names = {each[0] for each in rows(capture.path, "frame.comment")}
        command.expect_equal(names, {"a to b", "b to a"}, "comments")
        command.expect_equal(rows(capture.path, "frame.number", display_filter="_ws.malformed"), [], "malformed frames")
        interfaces = command.run("capinfos", "-I", capture.path)
        for each in ("Name = u0", f"Name = {node.DEVICE}", "Number of interfaces in file: 2"):
            command.expect(each in interfaces, f"capinfos lacks {each}: {interfaces}")


def test_selects_by_peer_pod_and_filter():
    with topology.three([node.WeftNode, node.KernelNode, node.KernelNode]) as lab:
        other = lab.nodes[0].add_pod("other", 7)
        a, b, c = up(lab)

        def talk():
            for peer in (b, c):
                traffic.ping(a.pod, peer.pod_ip)
                traffic.ping(other, peer.pod_ip)
                traffic.udp(a.pod, peer.pod, peer.pod_ip, size=100, count=10, rate=1000)

        for words, kept in ((["--peer=B"], lambda row: b.pod_ip in row), ([f"--pod={a.pod_ip}"], lambda row: a.pod_ip in row),
                            (["icmp", "and", "host", c.pod_ip], lambda row: c.pod_ip in row)):
            for side in ("--outer", "--inner"):
                capture = Capture(a, side, *words)
                talk()
                capture.end()
                found = rows(capture.path, "ip.src", "ip.dst", "icmp")
                command.expect(found and all(kept(" ".join(row)) for row in found), f"{side} {words}: {found[:20]}")
                if "icmp" in words:
                    command.expect_equal(len(found), 8, f"{side} {words}: two pods' two pings and their answers")


def settled(read, interval):
    """The value that `read()` returns twice in succession."""
    values = [read()]

    def unchanged():
        values.append(read())
        return values[-1] == values[-2]

    command.wait_until(unchanged, lambda: f"the value still changes: {values[-5:]}", timeout=60, interval=interval)
    return values[-1]


def test_which_tunnel():
    """flanneld's, unless flags say another; without flanneld's endpoint by flags alone. What a peer sends with another VNI is seen, too."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        a, b = up(lab)
        other = frames.vxlan(frames.ethernet(a.lease.mac, b.lease.mac, frames.udp(b.pod_ip, a.pod_ip)), vni=7)
        for words, kept in (([], 5), (["--vni=7"], 1), (["--port=8472"], 0), (["--adapter=u0", "--port=4789", "--admin=/nowhere"], 5)):
            capture = Capture(a, *words, admin="--admin=/nowhere" not in words)
            with frames.Underlay(b.host, b.lease.public_ip, a.lease.public_ip) as underlay:
                underlay.send(other)
            traffic.ping(a.pod, b.pod_ip)
            capture.end()
            command.expect_equal(capture.counts, {"u0": (kept, 0)}, f"capture {words}")
        # On another port, on which b does not answer.
        a.down()
        lease.write_text(a.path("net-conf.json"), json.dumps(a.net_conf() | {"Backend": {"Type": "vxlan", "VNI": node.VNI, "Port": 14789}}))
        a.up()
        capture = Capture(a)
        command.expect(traffic.ping_fails(a.pod, b.pod_ip), "b answers")
        capture.end()
        command.expect(capture.counts["u0"][0] > 0, f"frames to flanneld's port: {capture.counts}")


def test_a_hundred_thousand_packets_a_second():
    """Each is in the file, or counted as lost. As on a wire: else one lost frame would be many packets."""
    with topology.pair(node.WeftNode, node.KernelNode, without_ipv6=True) as lab:
        topology.no_offloads(*(each.host for each in lab.nodes))
        a, b = up(lab)
        traffic.ping(a.pod, b.pod_ip)
        capture = Capture(a)

        def forwarded():
            return sum(each["packets"] for each in a.tunnel()["toWire"]["packets"] if each["name"] == "forward")

        before = forwarded()
        traffic.udp(a.pod, b.pod, b.pod_ip, size=100, count=300000, rate=100000, timeout=60)
        sent = settled(forwarded, 0.3) - before
        settled(lambda: os.path.getsize(capture.path), 1)
        capture.end(timeout=60)
        kept, lost = capture.counts["u0"]
        print(f"   {sent} packets sent, {kept} captured, {lost} lost")
        command.expect_equal(kept + lost, sent, f"captured and lost ({capture.said})")
        counted = int(re.search(r"Number of packets:\s+(\d+)", command.run("capinfos", "-M", "-c", capture.path))[1])
        command.expect_equal(counted, kept, "packets in the file")


def test_ring_and_pipe():
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        a, b = up(lab)
        capture = Capture(a, "--file-size=1", "--files=3", write="ring.pcapng")
        traffic.tcp(a.pod, b.pod, b.pod_ip, 6 << 20)
        capture.end()
        files = sorted(glob.glob(a.path("ring-*.pcapng")))
        command.expect_equal([os.path.basename(each) for each in files], ["ring-1.pcapng", "ring-2.pcapng", "ring-3.pcapng"], "files")
        for each in files:
            command.expect(os.path.getsize(each) <= 1 << 20 and rows(each, "frame.number"), f"{each}: {os.path.getsize(each)} bytes")
        flannelctl = [lab.program("flannelctl"), "capture", f"--admin={a.path('admin.sock')}"]
        with a.host.start(*flannelctl, "--write=-", "--count=4", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writing:
            writing.stderr.readline()
            traffic.ping(a.pod, b.pod_ip)
            with open(a.path("pipe.pcapng"), "wb") as file:
                file.write(writing.stdout.buffer.read())
        command.expect_equal(len(rows(a.path("pipe.pcapng"), "frame.number")), 4, "frames through a pipe")
        with a.host.start(*flannelctl, "--count=2", "icmp", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as decoding:
            decoding.stderr.readline()
            traffic.ping(a.pod, b.pod_ip)
            text = decoding.stdout.read()
        for part in (" u0, a to b, 148 bytes\n", "Local Area Network, VNI: 4096", "Echo (ping) request"):
            command.expect(part in text, f"decoded: {text}")


def test_says_what_is_missing():
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        a, b = up(lab)
        flannelctl = [lab.program("flannelctl"), "capture", f"--admin={a.path('admin.sock')}"]

        def said(*words, prefix=()):
            process = a.host.start(*prefix, *flannelctl, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            text = command.finish(process, f"flannelctl capture {words}")[1]
            command.expect_equal(process.returncode, 2, f"exit code of {words} ({text})")
            return text

        for words, text in ((["--adapter=eth9"], "adapter eth9 does not exist; this host has lo, "), (["tcp prot 80"], "is not understood"),
                            (["--inner", "--outer"], "give one of --inner, --outer and --both"), (["--peer=nobody"], "--peer=nobody: no node of that name has a lease"),
                            (["--write=/nowhere/x"], "cannot write /nowhere/x: No such file or directory"),
                            (["--pod=eth0"], "--pod=eth0 is not an IP address"), (["--duration=soon"], "--duration=soon is not a duration")):
            shown = said(*words)
            command.expect(text in shown, f"{words}: {shown}")
        shown = said(prefix=("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"))
        command.expect("this user has no right to" in shown, shown)
        # Without libpcap this alone fails.
        hide = 'for each in $(ldconfig -p | sed -n "s/.*libpcap.* => //p"); do mount --bind /dev/null "$(readlink -f "$each")"; done; exec "$@"'
        shown = said(prefix=("unshare", "--mount", "sh", "-c", hide, "sh"))
        command.expect("libpcap is not installed on this machine; install it (Debian: apt-get install libpcap0.8" in shown, shown)
        full = a.host.start("sh", "-c", 'exec "$@" >/dev/full', "sh", *flannelctl, "--count=4", stderr=subprocess.PIPE)
        full.stderr.readline()
        traffic.ping(a.pod, b.pod_ip)
        shown = command.finish(full, "flannelctl capture on a full disk")[1]
        command.expect_equal(full.returncode, 2, "exit code on a full disk")
        command.expect("cannot write to standard output; is the disk full?" in shown, shown)
        # The daemon goes on, and so does another capture, when the adapter of one is deleted.
        a.host.ip("link add gone type veth peer name gone2", "link set gone2 up", "link set gone up")
        process = a.host.start(*flannelctl, "--adapter=gone", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stderr.readline()
        a.host.ip("link del gone")
        text = command.finish(process, "flannelctl capture of a deleted adapter")[1]
        command.expect_equal(process.returncode, 2, "exit code")
        command.expect("adapter gone: " in text, text)
        traffic.ping(a.pod, b.pod_ip)
