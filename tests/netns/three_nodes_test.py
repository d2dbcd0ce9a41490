"""Three nodes: packets for several peers in one batch reach each its own."""

import contextlib
import signal
import socket

from lab import command, node, topology, traffic
from lab.capture import Capture

MIB = 1 << 20
FLOWS, ROUNDS = 16, 8  # with two peers at most a whole batch: 256
PORT = 9


def two_peers(**options):
    """a and b are weft's, c is the kernel's."""
    return topology.three((node.WeftNode, node.WeftNode, node.KernelNode), **options)


def sockets_of(open_, where, count, address):
    with where.entered():
        made = [open_.enter_context(socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
    for each in made:
        each.settimeout(20)
    return made


def payload(sender, receiver, flow, number):
    """One size for all, so that they could travel as one superframe."""
    return f"{sender.name} to {receiver.name}, flow {flow:02}, {number:02}".encode()


def sharing_a_socket(lab, open_, peers, address_of):
    """Flows of a's pod to both peers that leave through the same one of the daemon's 256 sockets, as the outer source port shows: two lists of
    sockets; those at the same index share one. Only these packets could be joined into one superframe."""
    a = lab.nodes[0]
    tried = [sockets_of(open_, a.pod, 64, address_of(each)) for each in peers]
    destination = "ipv6.dst" if ":" in address_of(a) else "ip.dst"
    with Capture(lab, a.host, filter_=f"udp dst port 4789 and src host {a.lease.public_ip or a.lease.public_ip6}") as capture:
        for sockets in zip(*tried):  # taking turns, for packets to one peer may rightly be joined, and hide
            for each, one in zip(peers, sockets):
                one.sendto(b"which way", (address_of(each), PORT))
        rows = []

        def seen():
            rows[:] = [row for row in capture.rows(["udp.srcport", "udp.dstport", destination]) if row["udp.dstport"][1:] == [str(PORT)]]
            return len(rows) == 128

        command.wait_until(seen, lambda: f"{len(rows)} of 128 frames seen: some were lost, or joined across peers", timeout=20)
    outer = {(row[destination][1], int(row["udp.srcport"][1])): row["udp.srcport"][0] for row in rows}
    by_port = [{outer[address_of(each), one.getsockname()[1]]: one for one in sockets} for each, sockets in zip(peers, tried)]
    shared = sorted(by_port[0].keys() & by_port[1].keys())[:FLOWS]
    command.expect(len(shared) > 0, "no two flows to different peers share a socket; try more")
    return [[found[port] for port in shared] for found in by_port]


@contextlib.contextmanager
def held(daemon):
    """What arrives meanwhile, the daemon finds all at once."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def in_one_batch(lab, open_, ways, sources, address_of):
    """`ways`: (sender, receiver); each sender sends ROUNDS datagrams from each of its sockets in `sources`, taking turns, while a is
    stopped. Each arrives at its receiver, in its flow's order, and nothing else does."""
    sinks = {}
    for _, receiver in ways:
        if receiver.name not in sinks:
            sinks[receiver.name] = sockets_of(open_, receiver.pod, 1, address_of(receiver))[0]
            sinks[receiver.name].bind((address_of(receiver), PORT))
    flows = range(len(sources[0]))
    with held(lab.nodes[0].daemon):
        for flow in flows:
            for number in range(ROUNDS):
                for (sender, receiver), sockets in zip(ways, sources):
                    sockets[flow].sendto(payload(sender, receiver, flow, number), (address_of(receiver), PORT))
    for name, sink in sinks.items():
        expected = {(address_of(sender), flow): [payload(sender, receiver, flow, number) for number in range(ROUNDS)]
                  for sender, receiver in ways if receiver.name == name for flow in flows}
        found = {key: [] for key in expected}
        while sum(map(len, found.values())) < len(expected) * ROUNDS:
            try:
                data, source = sink.recvfrom(100)
            except TimeoutError:
                lost = {key: len(expected[key]) - len(got) for key, got in found.items() if got != expected[key]}
                raise command.Failure(f"not all of {len(expected) * ROUNDS} came to {name}; lost by sender and flow: {lost}") from None
            key = source[0], int(data.split(b"flow ")[1][:2])
            command.expect(key in found, f"{data} from {source[0]} came to {name}")
            found[key].append(data)
        command.expect_equal(found, expected, f"what came to {name}, by sender and flow")


def introduce(ways, address_of):
    """Addresses of the links are known from now on, so that no packet waits for one."""
    for sender, receiver in ways:
        traffic.ping(sender.pod, address_of(receiver), count=1)


def to_two_peers(address_of, **options):
    with two_peers(**options) as lab, contextlib.ExitStack() as open_:
        lab.up()
        a, b, c = lab.nodes
        introduce([(a, b), (a, c)], address_of)
        in_one_batch(lab, open_, [(a, b), (a, c)], sharing_a_socket(lab, open_, (b, c), address_of), address_of)


def test_to_two_peers():
    to_two_peers(lambda each: each.pod_ip)


def test_to_two_peers_ipv6():
    to_two_peers(lambda each: each.pod_ip6, ipv4=False, ipv6=True)


def test_from_two_peers():
    with two_peers() as lab, contextlib.ExitStack() as open_:
        lab.up()
        a, b, c = lab.nodes
        introduce([(b, a), (c, a)], lambda each: each.pod_ip)
        sources = [sockets_of(open_, each.pod, FLOWS, each.pod_ip) for each in (b, c)]
        in_one_batch(lab, open_, [(b, a), (c, a)], sources, lambda each: each.pod_ip)


def test_tcp_among_all():
    """Each pod talks to both other pods at once."""
    with two_peers() as lab:
        lab.up()
        a, b, c = lab.nodes
        streams = [command.Background(lambda one=one, other=other: traffic.tcp(one.pod, other.pod, other.pod_ip, 64 * MIB))
                   for one, other in ((a, b), (b, c), (c, a))]
        for each in streams:
            each.result()
        for one, other in ((b, a), (c, b), (a, c)):
            traffic.ping(one.pod, other.pod_ip)
