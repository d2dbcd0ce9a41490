"""Three nodes: packets for several peers in one batch reach each its own."""

import contextlib
import signal
import socket

from lab import command, node, topology, traffic

MIB = 1 << 20
FLOWS, ROUNDS = 16, 8  # with two peers a whole batch: 256
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


@contextlib.contextmanager
def held(daemon):
    """What arrives meanwhile, the daemon finds all at once."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def in_one_batch(lab, ways, address_of):
    """`ways`: (sender, receiver) of which each sends FLOWS x ROUNDS datagrams, taking turns, while a is held. Each arrives, where it should,
    in its flow's order, and nothing else does."""
    a = lab.nodes[0]
    for one, other in ways:
        traffic.ping(one.pod, address_of(other), count=1)  # addresses of the links are known from now on
    with contextlib.ExitStack() as open_:
        sinks = {}
        for _, receiver in ways:
            if receiver.name not in sinks:
                sinks[receiver.name] = sockets_of(open_, receiver.pod, 1, address_of(receiver))[0]
                sinks[receiver.name].bind((address_of(receiver), PORT))
        sources = [sockets_of(open_, sender.pod, FLOWS, address_of(sender)) for sender, _ in ways]
        with held(a.daemon):
            for number in range(ROUNDS):
                for flow in range(FLOWS):
                    for (sender, receiver), sockets in zip(ways, sources):
                        sockets[flow].sendto(payload(sender, receiver, flow, number), (address_of(receiver), PORT))
        for name, sink in sinks.items():
            mine = [(sender, receiver) for sender, receiver in ways if receiver.name == name]
            wanted = {(address_of(sender), flow): [payload(sender, receiver, flow, number) for number in range(ROUNDS)]
                      for sender, receiver in mine for flow in range(FLOWS)}
            found = {key: [] for key in wanted}
            for count in range(len(mine) * FLOWS * ROUNDS):
                try:
                    data, source = sink.recvfrom(100)
                except TimeoutError:
                    lost = {key: len(wanted[key]) - len(got) for key, got in found.items() if got != wanted[key]}
                    raise command.Failure(f"only {count} of {len(mine) * FLOWS * ROUNDS} came to {name}; lost by sender and flow: {lost}") from None
                key = source[0], int(data.split(b"flow ")[1][:2])
                command.expect(key in found, f"{data} from {source[0]} came to {name}")
                found[key].append(data)
            command.expect_equal(found, wanted, f"what came to {name}, by sender and flow")


def test_to_two_peers():
    with two_peers() as lab:
        lab.up()
        a, b, c = lab.nodes
        in_one_batch(lab, [(a, b), (a, c)], lambda each: each.pod_ip)


def test_to_two_peers_ipv6():
    with two_peers(ipv4=False, ipv6=True) as lab:
        lab.up()
        a, b, c = lab.nodes
        in_one_batch(lab, [(a, b), (a, c)], lambda each: each.pod_ip6)


def test_from_two_peers():
    with two_peers() as lab:
        lab.up()
        a, b, c = lab.nodes
        in_one_batch(lab, [(b, a), (c, a)], lambda each: each.pod_ip)


def test_tcp_among_all():
    """Each pod talks to both others at once."""
    with two_peers() as lab:
        lab.up()
        a, b, c = lab.nodes
        streams = [command.Background(lambda one=one, other=other: traffic.tcp(one.pod, other.pod, other.pod_ip, 64 * MIB))
                   for one, other in ((a, b), (b, c), (c, a))]
        for each in streams:
            each.result()
        for one, other in ((b, a), (c, b), (a, c)):
            traffic.ping(one.pod, other.pod_ip)
