"""What all tests share: the underlay, and etcd with an API server on it; brought up once."""

import os
import secrets
import shutil
import tempfile

from lab import command, namespace, topology

from . import control_plane

API = "192.168.80.1"
FIRST_NODE = 11  # 192.168.80.11, fd80::11
NAMES = "abcdef"


def address(name):
    return f"192.168.80.{FIRST_NODE + NAMES.index(name)}"


def address6(name):
    return f"fd80::{FIRST_NODE + NAMES.index(name)}"


class Site:
    def __init__(self):
        self.logs = os.path.join(topology.ROOT, "build", "logs", "e2e")
        shutil.rmtree(self.logs, ignore_errors=True)
        os.makedirs(self.logs)
        self.tokens = {name: f"planted-token-of-{name}-{secrets.token_hex(16)}" for name in NAMES}
        self.flags = ()  # flags of the API server, next to the usual ones
        self.control = self.folder = self.api = None

    def up(self):
        """`api` is None until it is up."""
        self.folder = tempfile.mkdtemp(prefix="weft-e2e-")
        self.fabric = namespace.Namespace("fabric")
        self.fabric.ip("link add br0 type bridge", "link set br0 up")
        where = self.join("api", "api", f"{API}/24", "fd80::1/64")
        self.control = control_plane.ControlPlane(where, API, os.path.join(self.folder, "control"), self.logs, self.tokens.values())
        self.control.up()
        self.api = self.control.api

    def join(self, word, port, *addresses):
        """A namespace with these addresses on the underlay, device eth0."""
        made = namespace.Namespace(word)
        made.sysctl(net__ipv6__conf__default__accept_dad=0)
        namespace.connect(made, "eth0", self.fabric, port)
        self.fabric.ip(f"link set {port} master br0")
        made.ip(*(f"addr add {each} dev eth0" for each in addresses))
        return made

    def part(self, port):
        """At once, which the end of a namespace is not."""
        self.fabric.ip(f"link delete {port}")

    def restart_apiserver(self, *flags):
        self.control.stop_apiserver()
        self.start_apiserver(*flags)

    def start_apiserver(self, *flags):
        self.flags = flags
        self.control.start_apiserver(*flags)

    def tidy(self):
        """The state after `up`, after any test: an API server with its usual flags, and no objects and no nodes of ours."""
        for port in self.fabric.devices():
            if port.startswith("to-"):  # of a node that could not be made
                self.part(port)
        if not self.control.etcd or self.control.etcd.ended():
            self.control.start_etcd()
        if not self.control.apiserver or self.control.apiserver.ended():
            self.start_apiserver()
        elif self.flags:
            self.restart_apiserver()
        for pod in self.api.request("GET", "/api/v1/pods")["items"]:  # nothing else removes those of a Node that is gone
            place = pod["metadata"]
            self.api.delete_all(f"/api/v1/namespaces/{place['namespace']}/pods/{place['name']}?gracePeriodSeconds=0")
        self.api.request("DELETE", "/api/v1/nodes")
        command.wait_until(lambda: not self.api.nodes(), "no Node is left", peer=True)

    def close(self):
        try:
            if self.control:
                self.control.close()
        finally:
            namespace.delete_own()
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.control = self.folder = self.api = None
