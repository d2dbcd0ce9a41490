"""Helpers of bench/sync: arrival times of packets at a network device, and upstream's daemon."""

import contextlib
import os
import socket
import struct
import threading
import time

from lab import command, peers
from measured import Measured

ETH_P_IP = 0x0800
SO_TIMESTAMPNS = 35
DEVICE = "flannel.4096"


class Arrivals:
    """Arrival time of TCP data from `server` at a device, by the kernel's clock."""

    def __init__(self, where, device, server):
        with where.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self.socket.bind((device, ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.server = socket.inet_aton(server)
        self._first = None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                packet, control, _, _ = self.socket.recvmsg(80, 64)
                header = 4 * (packet[0] & 15)
                if packet[9] != socket.IPPROTO_TCP or packet[12:16] != self.server:
                    continue
                size = int.from_bytes(packet[2:4], "big") or 65536  # 0: a superframe beyond 64 KiB
                if size > header + 4 * (packet[header + 12] >> 4) and self._first is None:
                    seconds, nanoseconds = struct.unpack("qq", control[0][2])
                    self._first = seconds * 10**9 + nanoseconds

    def forget(self):
        self._first = None

    def first(self):
        """The first arrival since `forget`, in nanoseconds, as time.time_ns()."""
        return command.wait_until(lambda: self._first, "no packet came from the API server")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def routes(where):
    """Destinations of routes to peers' pod networks through the tunnel, as in /proc/net/route."""
    rows = (line.split() for line in where.read("/proc/net/route").splitlines())
    return {row[1] for row in rows if row[0] == DEVICE and row[7] == "00FFFFFF"}


def start_upstream(cluster, environment, timeout):
    """From exec to subnet.env and a route for every peer; start_ms is None if that takes longer than `timeout`."""
    subnet_file = cluster.path("upstream.env")
    daemon = Measured(cluster.client, peers.find("flanneld"), "--kube-subnet-mgr", f"--kubeconfig-file={cluster.path('kubeconfig')}",
                      f"--net-config-path={cluster.path('net-conf.json')}", f"--subnet-file={subnet_file}", "--iface=u0",
                      "--iptables-forward-rules=false", NODE_NAME="upstream", **environment)
    expected = cluster.nodes + 1  # weft has published its own
    found, started, seen = {"env_ms": None, "start_ms": None, "routes": 0}, None, 0
    while started is None and time.monotonic() - daemon.began < timeout:
        command.expect(daemon.process.poll() is None, f"upstream flanneld ended: {daemon.last_line()}")
        if found["env_ms"] is None and os.path.exists(subnet_file):
            found["env_ms"] = (time.monotonic() - daemon.began) * 1e3
        began = time.monotonic()
        seen = len(routes(cluster.client))
        if found["env_ms"] is not None and seen >= expected:
            started = (time.monotonic() - daemon.began) * 1e3
        time.sleep(max(0.02, 4 * (time.monotonic() - began)))  # polling takes at most a fifth of the time
    found.update({"start_ms": started, "routes": seen})
    user, system, peak = daemon.end()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(subnet_file)
    if DEVICE in cluster.client.devices():
        cluster.client.ip(f"link delete {DEVICE}")
    return {**found, "cpu_ms": user + system, "user_cpu_ms": user, "peak_rss_mib": peak}
