"""Bad input after start-up never ends the daemon: it is named, counted and shown. A wrong command line or net-conf ends it with one clear error."""

import json
import os
import socket
import struct

from lab import command, frames, lease, node, topology, traffic


def weft_pair(**options):
    return topology.pair(node.WeftNode, node.KernelNode, **options)


def expect_alive(lab):
    a, b = lab.nodes
    a.daemon.expect_running()
    traffic.ping(a.pod, b.pod_ip)


# What is wrong, the Node, a word that the log and the lease list must have.
BAD_NODES = [
    ("a CIDR that is none", lease.lease("bad-cidr", "192.168.77.9", "10.244.300.0/24").node(), "10.244.300.0/24"),
    ("a number as a CIDR",
     {**lease.lease("bad-type", "192.168.77.9", "10.244.9.0/24").node(), "spec": {"podCIDR": 7}}, "bad-type"),
    ("annotations that are a list", {"metadata": {"name": "bad-annotations", "annotations": []}, "spec": {}}, "bad-annotations"),
    ("a node that is a string", "bad-node", "#"),
    ("backend data that is no JSON",
     lease.lease("bad-backend", "192.168.77.9", "10.244.9.0/24").node(backend_data="{VNI"), "bad-backend"),
    ("a MAC of five bytes",
     lease.lease("bad-mac", "192.168.77.9", "10.244.9.0/24").node(backend_data='{"VNI":4096,"VtepMAC":"02:00:00:00:01"}'), "bad-mac"),
    ("a public IP that is none", lease.lease("bad-ip", "192.168.77.900", "10.244.9.0/24").node(), "bad-ip"),
]


def test_nodes():
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        for what, bad, word in BAD_NODES:
            a.write_nodes([a.lease.node(), bad, b.lease.node()])
            command.wait_until(lambda: any(word in each["name"] + each["reason"] for each in a.leases()["refused"]),
                               lambda: f"{what}: not refused by name: {a.leases()['refused']}", timeout=20)
            command.expect(word in a.log_text(), f"{what}: not in the log")
            command.expect_equal(a.status()["refusedNodes"], 1, f"{what}: refusedNodes")
            traffic.ping(a.pod, b.pod_ip, count=1)
        expect_alive(lab)


def test_lease_states():
    """Nodes that can be read but not used have a named state, and the other nodes keep working."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        odd = {
            "vni-mismatch": lease.Lease("n1", "192.168.77.11", "10.244.11.0/24", lease.mac_for("n1"), vni=5000).node(),
            "missing-mac": lease.Lease("n2", "192.168.77.12", "10.244.12.0/24", "").node(),
            "missing-public-ip": lease.lease("n3", "192.168.77.13", "10.244.13.0/24").node(public_ip=None),
            "foreign-backend": lease.lease("n4", "192.168.77.14", "10.244.14.0/24").node(backend_type="host-gw", backend_data="null"),
            "outside-network": lease.lease("n5", "192.168.77.15", "10.99.5.0/24").node(),
        }
        a.write_nodes([a.lease.node(), b.lease.node(), *odd.values()])
        command.wait_until(lambda: len(a.leases()["leases"]) == 2 + len(odd), lambda: f"leases: {a.leases()}", timeout=20)
        states = {row["node"]: row["ipv4"]["state"] for row in a.leases()["leases"]}
        expected = {node_["metadata"]["name"]: state for state, node_ in odd.items()}
        command.expect_equal({name: states[name] for name in expected}, expected, "states")
        expect_alive(lab)


def test_a_pod_forges_its_nodes_tunnel():
    """A pod sends to its own node's VTEP what b's would send: dropped by name, and nobody is advised to publish the pod's address."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        frame = frames.ethernet(a.lease.mac, b.lease.mac, frames.udp(b.pod_ip, a.pod_ip))
        with frames.Underlay(a.pod, a.pod_ip, a.lease.public_ip) as sender:
            sender.send(frames.vxlan(frame))
        command.wait_until(lambda: a.drops("toPods").get("pod-source") == 1, lambda: f"drops: {a.drops('toPods')}", timeout=10)
        text = a.host.run(lab.program("flannelctl"), "status", f"--admin={a.path('admin.sock')}", check=False)
        command.expect("--public-ip" not in text, f"status: {text}")
        expect_alive(lab)


def test_lease_file():
    """A file that is truncated, not JSON, or gone: a condition is shown, the known leases stay, and the next good file is read."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        path = a.path("nodes.json")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        for what, spoil in (("truncated", lambda: lease.write_text(path, good[:len(good) // 2])),
                            ("not JSON", lambda: lease.write_text(path, "\x00\x01garbage")),
                            ("empty", lambda: lease.write_text(path, "")),
                            ("gone", lambda: os.unlink(path))):
            spoil()
            command.wait_until(lambda: a.status()["source"].get("condition"), f"{what}: status shows no condition", timeout=20)
            expect_alive(lab)
            lease.write_text(path, good)
            command.wait_until(lambda: not a.status()["source"].get("condition"), f"{what}: the condition stays", timeout=20)
        command.expect("nodes.json" in a.log_text(), "the log does not name the file")
        expect_alive(lab)


def inner(a, b):
    return frames.udp(b.pod_ip, a.pod_ip)


def ethernet(a, b, payload=None, **changes):
    return frames.ethernet(changes.pop("destination", a.lease.mac), changes.pop("source", b.lease.mac),
                           payload if payload is not None else inner(a, b), **changes)


# Name of the counter, and how a frame earns it.
BAD_FRAMES = [
    ("not-vxlan", lambda a, b: b"\x08\0\0"),
    ("not-vxlan", lambda a, b: frames.vxlan(ethernet(a, b), flags=0)),
    ("foreign-vni", lambda a, b: frames.vxlan(ethernet(a, b), vni=4097)),
    ("foreign-mac", lambda a, b: frames.vxlan(ethernet(a, b, destination="02:11:22:33:44:55"))),
    ("foreign-mac", lambda a, b: frames.vxlan(ethernet(a, b, destination="ff:ff:ff:ff:ff:ff"))),
    ("foreign-subnet", lambda a, b: frames.vxlan(ethernet(a, b, frames.udp(b.pod_ip, "10.244.77.7")))),
    ("not-ip", lambda a, b: frames.vxlan(ethernet(a, b, b"\0" * 28, ether_type=0x0806))),
    ("vlan-tagged", lambda a, b: frames.vxlan(ethernet(a, b, b"\0\x05\x08\0" + inner(a, b), ether_type=0x8100))),
    ("inner-malformed", lambda a, b: frames.vxlan(ethernet(a, b)[:20])),
    ("inner-malformed", lambda a, b: frames.vxlan(ethernet(a, b, frames.ipv4(b.pod_ip, a.pod_ip, total_length=1000)))),
    ("inner-malformed", lambda a, b: frames.vxlan(ethernet(a, b, b"\x4f" + inner(a, b)[1:]))),
]


class PodSocket:
    """What arrives at UDP port 9 of a node's pod."""

    def __init__(self, where):
        with where.pod.entered():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((where.pod_ip, 9))
        self.socket.settimeout(20)

    def until(self, last):
        """The datagrams up to `last`, which the test has sent after all others."""
        found = []
        try:
            while last not in found:
                found.append(self.socket.recv(100))
        except TimeoutError:
            raise command.Failure(f"{last} did not arrive, only {found}") from None
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def good(a, b, data):
    """A frame that must arrive: sent last, its arrival shows that the earlier frames were judged."""
    return frames.vxlan(ethernet(a, b, frames.udp(b.pod_ip, a.pod_ip, data=data)))


def test_frames():
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        expected = dict.fromkeys((name for name, _ in BAD_FRAMES), 0)
        with PodSocket(a) as pod, frames.Underlay(b.host, b.lease.public_ip, a.lease.public_ip) as underlay:
            underlay.send(good(a, b, b"first"))
            pod.until(b"first")
            before = a.drops("toPods")
            for name, make in BAD_FRAMES:
                underlay.send(make(a, b), times=3)
                expected[name] += 3

            def counted():
                now = a.drops("toPods")
                return {name: now.get(name, 0) - before.get(name, 0) for name in expected}
            command.wait_until(lambda: counted() == expected, lambda: f"drops by name: got {counted()}, expected {expected}", timeout=20)
            tunnel = a.tunnel()
            example = next(each["example"] for each in tunnel["toPods"]["packets"] if each["name"] == "foreign-mac")
            command.expect(example.pop("destinationMAC") in ("02:11:22:33:44:55", "ff:ff:ff:ff:ff:ff"), f"the MAC of the example: {example}")
            command.expect(example.pop("at"), "the example has no time")
            command.expect_equal(example, {"outer": b.lease.public_ip, "peer": "b", "vni": tunnel["vni"], "sourceMAC": b.lease.mac,
                                           "innerSource": b.pod_ip, "innerDestination": a.pod_ip}, "an example of foreign-mac")
            underlay.send(good(a, b, b"last"))
            command.expect_equal(pod.until(b"last"), [b"last"], "what reached the pod after bad frames")
        expect_alive(lab)


def test_outer_checksums():
    """A wrong one is counted once: the socket's buffer was not full."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes

        def kernel(name):
            return next(each["value"] for each in a.tunnel()["kernel"] if each["name"] == name)
        before = kernel("udp-checksum-errors")
        with PodSocket(a) as pod, frames.Underlay(b.host, b.lease.public_ip, a.lease.public_ip) as underlay:
            with b.host.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
                for size in (10, 1000):  # the kernel checks short ones before it looks for the socket
                    datagram = struct.pack("!HHHH", 50000, 4789, 8 + size, 0xDEAD) + bytes(size)
                    raw.sendto(frames.ipv4(b.lease.public_ip, a.lease.public_ip, datagram), (a.lease.public_ip, 0))
            underlay.send(good(a, b, b"last"))
            pod.until(b"last")
        command.expect_equal((kernel("udp-checksum-errors") - before, kernel("socket-overflow")), (2, 0), "wrong checksums, and overflows")


def test_illegal_ecn():
    """Outer congestion on a packet that does not speak ECN must be dropped: RFC 6040 section 4.2."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        with frames.Underlay(b.host, b.lease.public_ip, a.lease.public_ip, ecn=3) as underlay:
            underlay.send(frames.vxlan(ethernet(a, b)), times=3)
        command.wait_until(lambda: a.drops("toPods").get("ecn-illegal") == 3, lambda: f"drops: {a.drops('toPods')}", timeout=20)


def test_pod_packets():
    """What pods should not send is dropped by name too."""
    with weft_pair() as lab:
        lab.up()
        a, b = lab.nodes
        a.host.ip(f"route add 10.244.200.0/24 dev {node.DEVICE}")
        a.pod.run("ping", "-c", "2", "-i", "0.1", "-W", "1", "10.244.200.1", check=False)
        command.wait_until(lambda: a.drops("toWire").get("no-route") == 2, lambda: f"drops: {a.drops('toWire')}", timeout=20)


def forged(a, b, source_mac, source_ip, data):
    return frames.vxlan(frames.ethernet(a.lease.mac, source_mac, frames.udp(source_ip, a.pod_ip, data=data)))


def peer_check(mode, expected):
    """`expected`: which of (foreign outer address and inner source, foreign outer but a lease's inner, a peer's outer but our own pods'
    inner) are accepted."""
    with weft_pair() as lab:
        a, b = lab.nodes
        a.host.sysctl(net__ipv4__conf__all__rp_filter=0)
        b.host.ip("addr add 192.168.77.66/24 dev u0")
        lab.up(peer_check=mode)
        dropped = 2 - sum(expected[:2])
        with PodSocket(a) as pod, frames.Underlay(b.host, "192.168.77.66", a.lease.public_ip) as foreign, \
                frames.Underlay(b.host, b.lease.public_ip, a.lease.public_ip) as peer:
            foreign.send(forged(a, b, "02:66:66:66:66:66", "10.244.66.6", b"foreign"))
            foreign.send(forged(a, b, b.lease.mac, b.pod_ip, b"overwritten"))
            peer.send(forged(a, b, b.lease.mac, "10.244.1.77", b"ourselves"))
            peer.send(good(a, b, b"last"))
            arrived = pod.until(b"last")
        command.expect_equal((b"foreign" in arrived, b"overwritten" in arrived, b"ourselves" in arrived), expected, f"--peer-check={mode}: let in")
        command.wait_until(lambda: a.drops("toPods").get("own-source", 0) == 1 - expected[2], lambda: f"own-source: {a.drops('toPods')}", timeout=20)
        command.wait_until(lambda: a.drops("toPods").get("unknown-peer", 0) == dropped,
                           lambda: f"--peer-check={mode}: unknown-peer: {a.drops('toPods')}, expected {dropped}", timeout=20)
        expect_alive(lab)


def test_peer_check_lease():
    peer_check("lease", (False, True, False))


def test_peer_check_strict():
    peer_check("strict", (False, False, False))


def test_peer_check_off():
    peer_check("off", (True, True, True))


def rewrite_source(host, address, each_second):
    """Packets from the host into the tunnel get the source `address`: all, or every second one; without conntrack, as by a router."""
    choice = "numgen inc mod 2 == 0" if each_second else ""
    host.run("nft", "-f", "-", stdin=f"""
        table ip elsewhere {{
          chain out {{ type filter hook postrouting priority 0; udp dport 4789 {choice} ip saddr set {address}; }}
        }}""")


def behind_snat(b):
    rewrite_source(b.host, "192.168.77.66", each_second=False)
    return "192.168.77.66"


def alternating(b):
    rewrite_source(b.host, "192.168.77.66", each_second=True)
    return "192.168.77.66"


def re_addressed(b):
    """The node sends from its new address, and its annotation still has the old one, which it keeps for a while."""
    b.host.ip("addr add 192.168.77.9/24 dev u0", f"link delete {node.DEVICE}")
    old = b.lease
    b.lease = lease.Lease(**{**old.__dict__, "public_ip": "192.168.77.9"})
    b.up()
    b.lease = old
    return "192.168.77.9"


def test_peers_that_send_from_elsewhere():
    """`lease` drops none of their packets, `strict` all; both name the peer and its source address."""
    for elsewhere in (behind_snat, alternating, re_addressed):
        for mode in ("lease", "strict"):
            with weft_pair() as lab:
                a, b = lab.nodes
                a.host.sysctl(net__ipv4__conf__all__rp_filter=0)
                lab.up(peer_check=mode)
                what = f"{elsewhere.__name__}, --peer-check={mode}"
                traffic.ping(b.pod, a.pod_ip)
                command.expect_equal(a.tunnel().get("strictWouldDrop"), 0 if mode == "lease" else None, f"{what}: before")
                address = elsewhere(b)
                b.use([a.lease])
                if mode == "lease":
                    traffic.ping(b.pod, a.pod_ip, count=40, interval=0.02)
                    command.expect(a.tunnel()["strictWouldDrop"] > 0, f"{what}: strict would have dropped nothing")
                else:
                    lost = b.pod.run("ping", "-n", "-i", "0.02", "-c", "40", "-W", "1", a.pod_ip, check=False)
                    command.expect(" 40 received" not in lost, f"{what}: nothing was lost")
                peer = next(each for each in a.status()["peers"] if each["node"] == "b")
                command.expect_equal(peer.get("otherSource"), address, f"{what}: status")
                text = a.host.run(lab.program("flannelctl"), "status", "--admin", a.path("admin.sock"), check=False)
                command.expect(f"peer b sends from {address}" in text, f"{what}: status does not say so: {text}")


FLAGS, CONFIGURATION = 2, 1  # exit codes

# What is wrong, options or a net-conf that make it so, exit code, words of the one error line.
WRONG_STARTS = [
    ("an unknown flag", {"no_such_flag": "1"}, None, FLAGS, ["no-such-flag"]),
    ("a port that is no number", {"healthz_port": "many"}, None, FLAGS, ["healthz-port"]),
    ("a data plane that is none", {"dataplane": "magic"}, None, FLAGS, ["dataplane"]),
    ("a peer check that is none", {"peer_check": "maybe"}, None, FLAGS, ["peer-check"]),
    ("a port out of range", {"healthz_port": "70000"}, None, FLAGS, ["healthz-port"]),
    ("net-conf that is no JSON", {}, "{", CONFIGURATION, ["net-conf.json"]),
    ("a back end that weft has not", {}, '{"Network":"10.244.0.0/16","Backend":{"Type":"ipsec"}}', CONFIGURATION, ["ipsec"]),
    ("no Network", {}, '{"Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}', CONFIGURATION, ["Network"]),
    ("an address that is none", {"public_ip": "nat"}, None, CONFIGURATION, ["public-ip"]),
]


def test_wrong_start():
    with weft_pair() as lab:
        a, _ = lab.nodes
        for what, options, net_conf, code, words in WRONG_STARTS:
            a.use([each.lease for each in lab.nodes])
            lease.write_text(a.path("net-conf.json"), net_conf or json.dumps(a.net_conf()))
            open(a.path("flanneld.log"), "w", encoding="utf-8").close()
            a.spawn(**options)
            a.expect_exit(code, what)
            for word in words:
                command.expect(word in a.log_text(), f"{what}: the error does not name {word}: {a.last_words()}")
