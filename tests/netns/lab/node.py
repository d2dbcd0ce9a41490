"""A node (namespace with an underlay address) and a pod behind it, its tunnel either the kernel's or weft's."""

import http.client
import ipaddress
import json
import os
import re
import signal
import socket
import time

from . import command, daemon, footprint, lease, namespace

VNI = 4096
PORT = 4789
DEVICE = f"flannel.{VNI}"
DEVICE6 = f"flannel-v6.{VNI}"
SUPERFRAMES = f"weft4.{VNI}"  # where superframes leave whole
SUPERFRAMES6 = f"weft6.{VNI}"


def answer(connection, path, timeout):
    """Status and body of a GET on an open connection."""
    began = time.monotonic()
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode()
    command.within(time.monotonic() - began, timeout, f"GET {path}")
    return response.status, body


def gateway(subnet):
    return str(ipaddress.ip_network(subnet)[1])


def pod_address(subnet):
    return str(ipaddress.ip_network(subnet)[2])


class Node:
    """What both kinds share: forwarding, the pod, and the veth between them. The lab provides the underlay device `u0`."""

    def __init__(self, lab, own, mtu=1500):
        self.lab = lab
        self.lease = own
        self.name = own.name
        self.mtu = mtu
        self.host = namespace.Namespace(own.name)
        self.pod = namespace.Namespace(own.name + "-pod")
        self.others = []  # further pods
        self.host.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1, net__ipv6__conf__all__accept_dad=0,
                         net__ipv6__conf__default__accept_dad=0)
        self.pod.sysctl(net__ipv6__conf__all__accept_dad=0, net__ipv6__conf__default__accept_dad=0)
        if lab.without_ipv6:
            for each in (self.host, self.pod):
                each.sysctl(net__ipv6__conf__all__disable_ipv6=1, net__ipv6__conf__default__disable_ipv6=1)

    def overhead(self):
        """Bytes that the tunnel takes from the pods' MTU."""
        return 70 if self.lease.subnet6 else 50

    def join_pod(self):
        namespace.connect(self.pod, "e0", self.host, "pod", self.mtu - self.overhead())
        for subnet in filter(None, (self.lease.subnet, self.lease.subnet6)):
            length = ipaddress.ip_network(subnet).prefixlen
            self.host.ip(f"addr add {gateway(subnet)}/{length} dev pod")
            self.pod.ip(f"addr add {pod_address(subnet)}/{length} dev e0", f"route add default via {gateway(subnet)} dev e0")

    def add_pod(self, word, number):
        """Another pod of this node, with its subnet's address of that number; its namespace."""
        pod = namespace.Namespace(f"{self.name}-{word}")
        self.others.append(pod)
        pod.sysctl(net__ipv6__conf__all__accept_dad=0, net__ipv6__conf__default__accept_dad=0)
        namespace.connect(pod, "e0", self.host, word, self.mtu - self.overhead())
        for subnet in filter(None, (self.lease.subnet, self.lease.subnet6)):
            own, length = ipaddress.ip_network(subnet)[number], 128 if ":" in subnet else 32
            pod.ip(f"addr add {own}/{length} dev e0", f"route add {gateway(subnet)} dev e0", f"route add default via {gateway(subnet)} dev e0")
            self.host.ip(f"route add {own}/{length} dev {word}")
            if ":" in subnet:  # the host's address is on another device, where no neighbour solicits it
                self.host.ip(f"addr add {gateway(subnet)}/128 dev {word} nodad")
        return pod

    @property
    def pod_ip(self):
        return pod_address(self.lease.subnet)

    @property
    def pod_ip6(self):
        return pod_address(self.lease.subnet6)

    @property
    def zero(self):
        """The first address of the subnet: flannel's device address, source of the host's own traffic."""
        return str(ipaddress.ip_network(self.lease.subnet)[0])

    def down(self):
        """Ends its programs, if it has any."""

    def close(self):
        for pod in [self.pod, *self.others]:
            pod.close()
        self.host.close()


class KernelNode(Node):
    """Set up as Linux flannel does: no learning, permanent neighbour and forwarding entries, on-link routes through `.0`."""

    kind = "kernel"

    def up(self):
        own = self.lease
        if own.subnet:
            self._device(DEVICE, own.public_ip, own.mac, self.mtu - 50, f"{self.zero}/32")
        if own.subnet6:
            self._device(DEVICE6, own.public_ip6, own.mac6, self.mtu - 70, f"{ipaddress.ip_network(own.subnet6)[0]}/128")

    def _device(self, device, local, mac, mtu, address):
        self.host.ip(
            f"link add {device} address {mac} mtu {mtu} type vxlan id {VNI} local {local} dev u0 dstport {PORT} nolearning udpcsum",
            f"addr add {address} dev {device}",
            f"link set {device} up")

    def add_peer(self, peer):
        for device, subnet, mac, public_ip in self._halves(peer):
            zero = ipaddress.ip_network(subnet)[0]
            self.host.ip(f"neigh replace {zero} lladdr {mac} dev {device} nud permanent")
            self.host.run("bridge", "fdb", "replace", mac, "dev", device, "dst", public_ip, "self", "permanent")
            self.host.ip(f"route replace {subnet} via {zero} dev {device} onlink")

    def _halves(self, peer):
        own = self.lease
        if own.subnet and peer.subnet:
            yield DEVICE, peer.subnet, peer.mac, peer.public_ip
        if own.subnet6 and peer.subnet6:
            yield DEVICE6, peer.subnet6, peer.mac6, peer.public_ip6

    def use(self, leases):
        for peer in leases:
            if peer.name != self.name:
                self.add_peer(peer)


class WeftNode(Node):
    """A flanneld with its files in a folder of its own, leases from a file."""

    kind = "weft"
    under = ()  # the words of a command that runs the program

    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        self.folder = os.path.join(lab.folder, own.name)
        os.makedirs(self.folder, exist_ok=True)
        self.daemon = None  # a daemon.Daemon, from its start until the test ends it
        self.before = None  # the host's footprint before the daemon's first start
        self.health_address, self.health_port = "127.0.0.1", 10244
        self.options = {
            "lease-source": "file:" + self.path("nodes.json"),
            "node-name": own.name,
            "net-config-path": self.path("net-conf.json"),
            "iface": own.public_ip or own.public_ip6,
            "subnet-file": self.path("subnet.env"),
            "healthz-port": str(self.health_port),
            "admin": self.path("admin.sock"),
            "state-dir": self.path("state"),
            "dataplane": "userspace",
        }
        lease.write_text(self.path("net-conf.json"), json.dumps(self.net_conf()))

    def path(self, name):
        return os.path.join(self.folder, name)

    def net_conf(self):
        conf = {"Backend": {"Type": "vxlan", "VNI": VNI, "Port": PORT}}
        if self.lease.subnet:
            conf["Network"] = self.lab.network
        else:
            conf["EnableIPv4"] = False
        if self.lease.subnet6:
            conf["EnableIPv6"] = True
            conf["IPv6Network"] = self.lab.network6
        return conf

    def use(self, leases):
        self.write_nodes([each.node() for each in leases])

    def write_nodes(self, nodes):
        lease.write_nodes(self.path("nodes.json"), nodes)

    @property
    def process(self):
        return self.daemon and self.daemon.process

    def spawn(self, **options):
        """Starts the program without waiting for it; options as flags, None leaves one out."""
        command.expect(self.daemon is None, f"flanneld of {self.name} was not ended")
        chosen = {**self.options, **{key.replace("_", "-"): value for key, value in options.items()}}
        flags = [f"--{key}={value}" for key, value in chosen.items() if value is not None]
        self.before = self.before or footprint.take(self.host)
        with open(self.path("flanneld.log"), "a", encoding="utf-8") as log:
            process = self.host.start(*self.under, self.lab.program("flanneld"), *flags, stdout=log, stderr=log)
        self.daemon = daemon.Daemon(f"flanneld of {self.name}", process, self.path("flanneld.log"))

    def up(self, **options):
        self.spawn(**options)
        self.wait_ready()

    def wait_ready(self, timeout=15):
        self.daemon.wait_until_started(lambda: self.health("/readyz", timeout)[0] == 200,
                                       lambda: f"{self.name} is not ready: {self.last_words()}", timeout)

    def expect_exit(self, code, what):
        """Waits until the daemon ends by itself, as the test expects."""
        ending, self.daemon = self.daemon, None
        ending.expect_exit(code, what)

    def last_words(self):
        return daemon.last_line(self.path("flanneld.log"))

    def log_text(self):
        return daemon.text(self.path("flanneld.log"))

    def health(self, path, timeout=3):
        """Status and body, or (0, reason) while there is no listener or no answer in time."""
        try:
            with self.host.entered():
                connection = http.client.HTTPConnection(self.health_address, self.health_port, timeout=command.patience(timeout))
                connection.connect()
            return answer(connection, path, timeout)
        except OSError as error:
            return 0, str(error)

    def admin(self, path, timeout=5):
        """A document of the admin endpoint."""
        connection = http.client.HTTPConnection("weft")
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(command.patience(timeout))  # http.client sets it where it connects itself
        connection.sock.connect(self.path("admin.sock"))
        status, body = answer(connection, path, timeout)
        command.expect_equal(status, 200, f"admin {path}: {body.strip()}")
        return json.loads(body)

    def status(self):
        return self.admin("/v1/status")

    def leases(self, **options):
        return self.admin("/v1/leases", **options)

    def tunnel(self, device=DEVICE):
        for each in self.status()["tunnels"]:
            if each["device"] == device:
                return each
        raise command.Failure(f"status of {self.name} shows no tunnel {device}")

    def drops(self, direction, device=DEVICE):
        """{name: packets} of a direction ("toWire", "toPods"), without "forward" and without zeros."""
        counts = self.tunnel(device)[direction]["packets"]
        return {each["name"]: each["packets"] for each in counts if each["packets"] and each["name"] != "forward"}

    def pid(self):
        return self.process.pid  # `ip netns exec` becomes the program

    def resident_kib(self):
        """Exact, unlike the other counts of the kernel."""
        with open(f"/proc/{self.pid()}/smaps_rollup", encoding="ascii") as file:
            return int(re.search(r"^Rss:\s+(\d+) kB", file.read(), re.MULTILINE)[1])

    def down(self, how=signal.SIGTERM):
        """Ends the daemon; its exit code, which must be the right one. SIGKILL simulates a crash. The daemon may
        leave only what the manual lists on the host."""
        if self.daemon is None:
            return None
        ending, self.daemon = self.daemon, None
        code = ending.stop(how)
        self.expect_unchanged_host()
        return code

    def beyond_leaving(self, found):
        """Those of footprint.differences that are against the manual. By it vxlan leaves subnet.env, and on the host the table of --ip-masq."""
        return footprint.without_left_table(found)

    def expect_unchanged_host(self):
        left = self.beyond_leaving(footprint.differences(self.before, footprint.take(self.host)))
        command.expect(not left, f"the host of {self.name} is not as before its daemon's first start: {'; '.join(left)}")

    def close(self):
        try:
            self.down()
        finally:
            super().close()


class WholeNode(WeftNode):
    """Sends superframes whole."""

    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        self.options["superframes"] = "whole"
