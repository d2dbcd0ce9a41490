"""One pod, however it sends, cannot stop another pod's traffic. How late it makes that is judged by tests/soak/fairness.sh: never here."""

import re

from lab import command, flood, node, topology, traffic

PINGS = 120
MOST_ON_THEIR_WAY = 25
LOST = 2
LATE = 5.0  # ms, of the ninth decile

# What the loud pod does, and how many calls a second (0: as fast as it can).
LOADS = [
    ("superframe-1", 20),
    ("superframe-1", 5),
    ("superframe-48", 0),
    ("segments-1", 0),
    ("segments-1", 3000),
    ("datagrams", 0),
    ("many-flows", 0),
    ("segments-1398", 0),
]


def ping(source, address, count, interval=0.02):
    """(lost, ninth decile in ms)."""
    seconds = round(count * interval) + 3
    output = source.run("ping", "-n", "-i", str(interval), "-c", str(count), "-w", str(seconds), "-W", "1", address, check=False,
                        timeout=seconds + 10)
    times = sorted(float(each) for each in re.findall(r"time=([\d.]+)", output))
    # What was never sent because the machine was busy was not lost on the way.
    lost = len(traffic.unanswered(output, MOST_ON_THEIR_WAY)[0])
    return lost, (times[min(len(times) - 1, len(times) * 9 // 10)] if times else float("inf"))


NEXT = 3  # after the loud pod's 2
SAME_QUEUE = 2 + 8  # the loud pod's at first, which then gets another one


def two_pods(subject, quiet=NEXT, **options):
    """A lab whose node a has a second pod, `quiet`."""
    lab = topology.pair(subject, node.KernelNode, **options)
    lab.nodes[0].quiet = lab.nodes[0].add_pod("quiet", quiet)
    return lab


def extra(a, kind, family=4):
    """Extra arguments of packet sockets."""
    if not kind.startswith("superframe"):
        return ()
    mac = a.host.devices()["pod"]["address"]
    return "e0", mac, a.pod_ip if family == 4 else a.pod_ip6


def with_load(a, b, kind, rate, count=PINGS, family=4):
    address = b.pod_ip if family == 4 else b.pod_ip6
    with flood.Flood(a.pod, kind, address, rate, extra(a, kind, family)):
        return ping(a.quiet, address, count)


def is_fair(lost, late):
    return lost <= LOST and late < LATE


def loads(subject, which, **options):
    """Each once; what is lost gets a second chance, for the machine may have been busy."""
    family = 6 if options.get("ipv6") else 4
    with two_pods(subject, **options) as lab:
        lab.up()
        a, b = lab.nodes
        ping(a.quiet, b.pod_ip if family == 4 else b.pod_ip6, 3)
        for kind, rate in which:
            tries = []
            while len(tries) < 2 and not (tries and tries[-1][0] <= LOST):
                tries.append(with_load(a, b, kind, rate, family=family))
            command.expect(tries[-1][0] <= LOST, f"next to {kind} {rate or 'unpaced'}: (lost of {PINGS}, p90 in ms) {tries}")


def test_other_pods_are_served(subject):
    loads(subject, LOADS)


def test_a_pod_of_the_same_queue_is_served():
    loads(node.WeftNode, [("superframe-1", 20), ("segments-1", 0), ("datagrams", 0), ("segments-1398", 0)], quiet=SAME_QUEUE)


def test_other_pods_are_served_over_ipv6(subject):
    loads(subject, [("superframe-1", 20), ("segments-1", 0), ("datagrams", 0)], ipv4=False, ipv6=True)


def test_every_drop_has_a_name():
    """Superframes that no socket makes, and what the device had no room for."""
    with two_pods(node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        with flood.Flood(a.pod, "superframe-1", b.pod_ip, 20, extra(a, "superframe-1")):
            command.wait_until(lambda: a.drops("toWire").get("tiny-segments", 0) >= 60_000, lambda: f"drops: {a.drops('toWire')}", timeout=20)
        with flood.Flood(a.pod, "datagrams", b.pod_ip):
            command.wait_until(lambda: kernel_count(a, "device-tx-dropped"), lambda: f"kernel counts: {a.tunnel()['kernel']}", timeout=20)
        text = a.host.run(lab.program("flannelctl"), "status", "--admin", a.path("admin.sock"), check=False)
        for word in ("tiny-segments", "device-tx-dropped", "a pod sent faster"):
            command.expect(word in text, f"status does not say {word}: {text}")


def test_sockets_keep_their_superframes():
    """64 segments of 18 bytes, the least that sockets make at once, arrive."""
    with two_pods(node.WeftNode) as lab:
        lab.up()
        a, b = lab.nodes
        with a.pod.entered():
            sender = flood.udp_socket(b.pod_ip, 18)
        before = a.tunnel()["toWire"]["packets"][0]["packets"]
        sender.send(b"x" * 18 * 64)
        command.wait_until(lambda: a.tunnel()["toWire"]["packets"][0]["packets"] >= before + 64, "64 datagrams on the wire", timeout=10)
        command.expect_equal(a.drops("toWire").get("tiny-segments"), None, "refused superframes")


def kernel_count(a, name, device=node.DEVICE):
    return next((each["value"] for each in a.tunnel(device)["kernel"] if each["name"] == name), 0)


def test_empty_datagrams_delay_no_pod():
    """They need no VNI and no MAC, so any host can send them."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        ping(a.pod, b.pod_ip, 3)
        for kind in ("one-byte-to-vxlan", "empty-to-vxlan"):
            with flood.Flood(b.host, kind, a.lease.public_ip, 10_000):
                lost, _ = ping(a.pod, b.pod_ip, 100, interval=0.01)
                command.expect(lost <= 1, f"next to {kind}: {lost} of 100 pings were lost")
        command.expect(kernel_count(a, "empty-datagram") > 1000, f"kernel counts: {a.tunnel()['kernel']}")
