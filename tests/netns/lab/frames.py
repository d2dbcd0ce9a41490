"""VXLAN payloads byte by byte, valid or invalid on purpose, sent from a chosen underlay address."""

import socket
import struct

SO_NO_CHECK = 11


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ipv4(source, destination, payload=b"weft", protocol=17, ttl=63, ecn=0, total_length=None):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, total_length or 20 + len(payload), 1, 0, ttl, protocol, 0,
                         socket.inet_aton(source), socket.inet_aton(destination))
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def udp(source, destination, source_port=7, destination_port=9, data=b"weft"):
    length = 8 + len(data)
    header = struct.pack("!HHHH", source_port, destination_port, length, 0)
    pseudo = socket.inet_aton(source) + socket.inet_aton(destination) + struct.pack("!BBH", 0, 17, length)
    value = checksum(pseudo + header + data) or 0xFFFF
    return ipv4(source, destination, header[:6] + struct.pack("!H", value) + data)


def ethernet(destination, source, payload, ether_type=0x0800):
    return mac(destination) + mac(source) + struct.pack("!H", ether_type) + payload


def vxlan(frame, vni=4096, flags=0x08):
    return struct.pack("!BxxxI", flags, vni << 8) + frame


class Underlay:
    """A UDP socket of a namespace, bound to `address`, as any host on the underlay might have one."""

    def __init__(self, where, address, to, port=4789, ecn=0):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with where.entered():
            self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        if ecn:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        self.to = (to, port)

    def send(self, payload, times=1):
        for _ in range(times):
            self.socket.sendto(payload, self.to)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
