"""Upstream flanneld with its `udp` backend, the classic tunnel in user space: what bench/run measures weft against.

It keeps its leases in etcd, which runs on the first node, so that no API server is needed.
"""

import base64
import http.client
import json
import os
import signal

from . import command, daemon, lease, node, peers

ETCD_PORT = 2379
OVERHEAD = 28  # outer IPv4 and UDP, nothing else


class UpstreamUdpNode(node.Node):
    """The lab's lease has subnet and public IP; the daemons exchange them by themselves."""

    kind = "udp"

    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        self.folder = os.path.join(lab.folder, own.name)
        os.makedirs(self.folder, exist_ok=True)
        self.daemons = {}

    def overhead(self):
        return OVERHEAD

    def up(self):
        endpoint = self.lab.nodes[0].lease.public_ip, ETCD_PORT
        if self.lab.nodes[0] is self:
            self._start_etcd(*endpoint)
        subnet_file = self._path("subnet.env")
        # This daemon takes a requested subnet from an old subnet file.
        lease.write_text(subnet_file, f"FLANNEL_NETWORK={self.lab.network}\nFLANNEL_SUBNET={node.gateway(self.lease.subnet)}/24\n")
        self._start("flanneld", "--etcd-endpoints=http://%s:%d" % endpoint, "--iface=u0", f"--subnet-file={subnet_file}",
                    "--iptables-forward-rules=false")
        self.daemons["flanneld"].wait_until_started(lambda: "flannel0" in self.host.devices(),
                                                    lambda: f"upstream flanneld of {self.name} made no flannel0: {self._last_words('flanneld')}", 30)

    def use(self, leases):
        """Nothing to configure. A ping proves that it has the other nodes' leases, and uses the requested subnet."""
        for other in self.lab.nodes[:self.lab.nodes.index(self)]:
            self.pod.run("ping", "-n", "-c", "1", "-w", "15", other.pod_ip, timeout=20)

    def _start_etcd(self, address, port):
        url = f"http://{address}:{port}"
        self._start("etcd", "--data-dir", self._path("etcd"), "--unsafe-no-fsync", "--log-level=warn", f"--listen-client-urls={url}",
                    f"--advertise-client-urls={url}", "--listen-peer-urls=http://127.0.0.1:2380")
        conf = json.dumps({"Network": self.lab.network, "Backend": {"Type": "udp"}})
        self.daemons["etcd"].wait_until_started(lambda: self._put(address, port, "/coreos.com/network/config", conf),
                                                lambda: f"etcd does not answer: {self._last_words('etcd')}", 15)

    def _put(self, address, port, key, value):
        connection = http.client.HTTPConnection(address, port, timeout=3)
        body = {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(value.encode()).decode()}
        try:
            with self.host.entered():
                connection.connect()
            connection.request("POST", "/v3/kv/put", json.dumps(body))
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def _start(self, name, *flags):
        with open(self._path(f"{name}.log"), "a", encoding="utf-8") as log:
            process = self.host.start(peers.find(name), *flags, stdout=log, stderr=log)
        self.daemons[name] = daemon.Daemon(f"{name} of {self.name}", process, self._path(f"{name}.log"), peer=True)

    def _last_words(self, name):
        return self.daemons[name].last_words()

    def _path(self, name):
        return os.path.join(self.folder, name)

    def down(self):
        ending, self.daemons = list(self.daemons.values()), {}
        command.add_failures(None, command.failures([lambda each=each: each.stop(signal.SIGKILL) for each in reversed(ending)]))
