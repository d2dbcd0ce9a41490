"""Pods that send Ethernet frames (--pod-device=tap, pcap:ADAPTER): flanneld is their gateway, and answers ARP and neighbour discovery."""

import signal

from lab import command, frames_node, node, topology, traffic

MIB = 1 << 20


def talk(lab, size):
    """Full packets, and hashed TCP, both ways."""
    a, b = lab.nodes
    for source, sink in ((a, b), (b, a)):
        traffic.ping(source.pod, sink.pod_ip, size=1450, fragment=False)
        traffic.tcp(source.pod, sink.pod, sink.pod_ip, size=size, timeout=60)
        traffic.udp(source.pod, sink.pod, sink.pod_ip, size=1400, count=100, rate=1000)


def test_pcap_and_kernel():
    with topology.pair(frames_node.PcapNode, node.KernelNode) as lab:
        lab.up()
        talk(lab, 20 * MIB)
        a = lab.nodes[0]
        # The pod's stack leaves checksums and segmentation to its veth, which libpcap does not say.
        command.expect(a.count("unmarked-superframes") > 0 and a.count("unmarked-checksums") > 0,
                       f"offloads found: {a.tunnel(a.device)['kernel']}")
        command.expect_equal(a.count("pcap-dropped"), 0, "frames lost by libpcap")
        for mtu in (1500, 1450):
            for where, device in ((a.pod, "e0"), (a.host, "pod")):
                where.ip(f"link set {device} mtu {mtu}")
            if mtu == 1500:
                reported = a.pod.run("ping", "-n", "-c", "1", "-W", "1", "-s", "1472", "-M", "do", lab.nodes[1].pod_ip, check=False)
                command.expect("Frag needed and DF set (mtu = 1450)" in reported, f"a packet above the MTU: {reported}")


def test_pcap_and_weft():
    with topology.pair(frames_node.PcapNode, node.WeftNode) as lab:
        lab.up()
        talk(lab, 20 * MIB)


def test_tap_and_kernel():
    with topology.pair(frames_node.TapNode, node.KernelNode) as lab:
        lab.up()
        talk(lab, 20 * MIB)


def test_pcap_ipv6():
    """Two tunnels share the adapter, each with its family's frames."""
    with topology.pair(frames_node.PcapNode, node.KernelNode, ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        for source, sink in ((a, b), (b, a)):
            traffic.ping(source.pod, sink.pod_ip)
            traffic.ping(source.pod, sink.pod_ip6, size=1430)
            traffic.tcp(source.pod, sink.pod, sink.pod_ip6, size=5 * MIB)


def test_pcap_neighbours():
    with topology.pair(frames_node.PcapNode, node.KernelNode, ipv6=True) as lab:
        lab.up()
        frames_node.expect_gateway_answers(lab)


def test_pcap_stranger_and_forged_gateway():
    with topology.pair(frames_node.PcapNode, node.KernelNode) as lab:
        lab.up()
        frames_node.expect_claims_named(lab)


def test_pcap_books_balance():
    """Every frame that came is forwarded or has a drop's name."""
    with topology.pair(frames_node.PcapNode, node.KernelNode, without_ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.ping(a.pod, b.pod_ip)

        def taken():
            return sum(each["packets"] for each in a.tunnel(a.device)["toWire"]["packets"])

        def sent():
            return a.pod.devices()["e0"]["stats64"]["tx"]["packets"]

        command.wait_until(lambda: taken() == sent(), lambda: f"{taken()} frames taken of {sent()} sent")
        sent_, received = traffic.udp(a.pod, b.pod, b.pod_ip, size=100, count=20000, rate=20000, idle=3)
        command.wait_until(lambda: taken() + a.count("pcap-dropped") == sent(), lambda: f"{taken()} frames taken of {sent()} sent")
        command.expect_equal(received["datagrams"] + a.count("pcap-dropped"), sent_["datagrams"], "datagrams")


def test_pcap_adapter_goes_and_comes():
    with topology.pair(frames_node.PcapNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.ping(a.pod, b.pod_ip)
        for change, undo, said in (("link set pod name other", "link set other name pod", "adapter pod does not exist; this host has lo, u0, other"),
                                   ("link set pod down", "link set pod up", "adapter pod is down; set it up"),
                                   ("link set pod mtu 1400", "link set pod mtu 1450", "adapter pod has MTU 1400, less than the pods' 1450; raise it")):
            if "name" in change:
                a.host.ip("link set pod down")
            a.host.ip(change)
            if "name" in change:
                a.host.ip("link set other up")
            command.wait_until(lambda: said in a.conditions(), lambda: f"{change}: {a.status()['checks']}", timeout=15)
            command.expect_equal(a.health("/healthz")[0], 200, "nothing else fails")
            if "name" in undo:
                a.host.ip("link set other down")
            a.host.ip(undo, "link set pod up")
            command.wait_until(lambda: a.health("/readyz")[0] == 200, lambda: f"{undo}: {a.status()['checks']}", timeout=15)
            traffic.ping(a.pod, b.pod_ip)


def test_pcap_killed_under_traffic():
    """The pod's connection outlives its flanneld."""
    size = (400 if topology.are_sanitized() else 1200) * MIB
    with topology.pair(frames_node.PcapNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        receiving = traffic.Sink(b.pod, "tcp-sink")
        with a.pod.start(topology.find_program("traffic"), "tcp-send", f"--to={b.pod_ip}", f"--bytes={size}", "--seed=1") as sending:
            for _ in range(2):
                command.wait_until(lambda: a.tunnel(a.device)["toWire"]["bytes"] > 10 * MIB, "no traffic", timeout=20)
                command.expect(sending.poll() is None, "all was sent before the kill")
                a.down(signal.SIGKILL)
                a.up()
            command.finish(sending, "the sender", 60)
            command.expect_equal(sending.returncode, 0, "the sender's exit code")
        command.expect_equal(receiving.report()["bytes"], size, "bytes received")


def test_pcap_of_the_underlay_is_refused():
    with topology.pair(frames_node.FramesNode, node.KernelNode) as lab:
        a = lab.nodes[0]
        a.use(topology.leases())
        a.spawn(pod_device="pcap:u0")
        command.wait_until(lambda: "--pod-device=pcap:u0 is the interface for traffic between nodes" in a.log_text(), a.log_text)
