"""Loads that a pod, or any host on the underlay, may cause on a node. As a program: flood.py KIND DESTINATION RATE [DEVICE MAC SOURCE], until it is
ended; RATE: calls a second, 0: as fast as it can. `ready` is printed before the first."""

import os
import socket
import struct
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lab import command, frames  # noqa: E402

UDP_SEGMENT = 103
SOL_PACKET, PACKET_VNET_HDR = 263, 15
NEEDS_CSUM, GSO_TCPV4, GSO_TCPV6 = 1, 1, 4
CLOSED = 9  # UDP port without a listener


def udp_socket(destination, segment=0, port=CLOSED):
    family = socket.AF_INET6 if ":" in destination else socket.AF_INET
    made = socket.socket(family, socket.SOCK_DGRAM)
    if segment:
        made.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, segment)
    made.connect((destination, port))
    return made


def datagrams(destination, data, segment=0, port=CLOSED):
    """One send each: segments of a superframe, a datagram, or nothing at all."""
    made = udp_socket(destination, segment, port)
    return lambda: made.send(data)


def many_flows(destination, data):
    """A datagram of another source port each time."""
    made = [udp_socket(destination) for _ in range(400)]
    turn = iter(range(1 << 62))
    return lambda: made[next(turn) % len(made)].send(data)


def superframe(device, mac, source, destination, payload, segment):
    """One that no socket makes, by a packet socket as containers may have one."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    raw.bind((device, 0))
    v6 = ":" in destination
    length = 20 + payload
    family = socket.AF_INET6 if v6 else socket.AF_INET
    addresses = socket.inet_pton(family, source) + socket.inet_pton(family, destination)
    pseudo = addresses + (struct.pack("!IHBB", length, 0, 0, 6) if v6 else struct.pack("!BBH", 0, 6, length))
    tcp = struct.pack("!HHIIBBHHH", 4000, CLOSED, 1, 1, 5 << 4, 0x10, 1000, ~frames.checksum(pseudo) & 0xFFFF, 0)
    if v6:
        ip = struct.pack("!IHBB", 6 << 28, length, 6, 64) + addresses
    else:
        ip = frames.ipv4(source, destination, b"", protocol=6, total_length=20 + length)
    own = open(f"/sys/class/net/{device}/address", encoding="ascii").read().strip() if os.path.exists(f"/sys/class/net/{device}") else mac
    ethernet = frames.mac(mac) + frames.mac(own) + struct.pack("!H", 0x86DD if v6 else 0x0800)
    start = len(ethernet) + len(ip)
    header = struct.pack("=BBHHHH", NEEDS_CSUM, GSO_TCPV6 if v6 else GSO_TCPV4, start + 20, segment, start, 16)
    whole = header + ethernet + ip + tcp + b"x" * payload
    return lambda: raw.send(whole)


def make(kind, destination, device="", mac="", source=""):
    if kind == "superframe-1":
        return superframe(device, mac, source, destination, 60_000, 1)
    if kind == "superframe-48":
        return superframe(device, mac, source, destination, 60_000, 48)
    return {
        "segments-1": lambda: datagrams(destination, b"x" * 64, 1),
        "segments-1398": lambda: datagrams(destination, b"x" * (1398 * 40), 1398),
        "datagrams": lambda: datagrams(destination, b"x"),
        "many-flows": lambda: many_flows(destination, b"x"),
        "empty-to-vxlan": lambda: datagrams(destination, b"", port=4789),
        "one-byte-to-vxlan": lambda: datagrams(destination, b"x", port=4789),
    }[kind]()


class Flood:
    """Runs in `where` as long as the block."""

    def __init__(self, where, kind, destination, rate=0, extra=()):
        self.process = where.start(sys.executable, os.path.abspath(__file__), kind, destination, str(rate), *extra, stdout=-1)

    def __enter__(self):
        command.expect_equal(self.process.stdout.readline().strip(), "ready", "the first line of the load")
        return self

    def __exit__(self, *_):
        command.expect(self.process.poll() is None, "the load has ended by itself")
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def main():
    kind, destination, rate, *extra = sys.argv[1:]
    send = make(kind, destination, *extra)
    rate = int(rate)
    print("ready", flush=True)
    began = time.monotonic()
    sent = 0
    while True:
        try:
            for _ in range(max(1, rate // 1000)):
                sent += 1
                send()
        except OSError:  # a full queue, or what came back of an earlier one
            pass
        if rate:
            ahead = began + sent / rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)


if __name__ == "__main__":
    main()
