"""A node of the cluster: a namespace on the underlay, a flanneld in it, and a pod behind a bridge as its CNI plugin makes one."""

import contextlib
import http.client
import ipaddress
import json
import os
import re
import shutil
import signal
import socket

from lab import command, daemon, footprint, lease, namespace, node, peers, topology

from . import site

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEVICES = {"ipv4": "flannel.4096", "ipv6": "flannel-v6.4096"}
PODS_DEVICES = ("pod", "cni0")
HEALTH = 10254

# A root folder in which nothing is configured but what lies in $1; the rest of the words is the program.
OWN_ROOT = 'for d in /etc /run /var/lib; do mount -t tmpfs none $d; done; cp -a "$1/." /; shift; exec "$@"'


class Member:
    """Shared by both kinds. A test may change `flags`, `environment` and `net_conf` before `up`."""

    on_sigterm = 0  # flanneld's exit code

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.address, self.address6 = site.address(name), site.address6(name)
        self.token = cluster.site.tokens[name]
        self.host = cluster.site.join(name, f"to-{name}", f"{self.address}/24", f"{self.address6}/64")
        self.host.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        self.pod = None
        self.daemon = None  # a daemon.Daemon, from its start until the test ends it
        self.touched = False  # whether weft ran here: then what upstream's flanneld finds at its start may be weft's fault
        self.root = ""  # where paths of the daemon's begin, seen from here
        self.folder = os.path.join(cluster.folder, name)
        os.makedirs(self.folder)
        self.net_conf = {"Network": cluster.network, "Backend": dict(cluster.backend)}
        self.environment = {"PATH": PATH, "NODE_NAME": name}
        self.flags = {
            "kube-subnet-mgr": "true",
            "kubeconfig-file": self.path("kubeconfig"),
            "net-config-path": self.path("net-conf.json"),
            "subnet-file": self.path("subnet.env"),
            "iface": "eth0",
            "ip-masq": "true",
            "healthz-ip": "127.0.0.1",
            "healthz-port": HEALTH,
        }
        self.write_kubeconfig({"token": self.token})

    @property
    def vni(self):
        return self.net_conf["Backend"].get("VNI", 4096)

    def device(self, family):
        """The name of its tunnel's device."""
        return DEVICES[family].replace("4096", str(self.vni))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_kubeconfig(self, user, **cluster):
        lease.write_text(self.path("kubeconfig"), json.dumps(self.cluster.control.kubeconfig(user, **cluster)))

    # ---- The daemon

    def command_line(self):
        return [self.program(), *(f"--{name}={value}" for name, value in self.flags.items() if value is not None)]

    def spawn(self):
        """Starts it without waiting."""
        lease.write_text(self.path("net-conf.json"), json.dumps(self.net_conf))
        self._start(*self.command_line())

    def spawn_as(self, words, environment, files):
        """Starts it with exactly these words and variables, in a root folder with `files` ({path: text}) and programs only."""
        shutil.copytree("/etc/alternatives", self.path("root") + "/etc/alternatives", symlinks=True)  # iptables is a link there
        for path, text in files.items():
            path = self.path("root") + re.sub("^/var/run/", "/run/", path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            lease.write_text(path, text)
        self.environment = environment
        self.flags = {"subnet-file": "/run/flannel/subnet.env", "admin": "/run/flannel/weft.sock"}  # the defaults
        self._start("sh", "-ec", OWN_ROOT, "sh", self.path("root"), self.program(), *words)
        self.root = f"/proc/{self.process.pid}/root"

    @property
    def process(self):
        return self.daemon and self.daemon.process

    def _start(self, *words):
        command.expect(self.daemon is None, f"flanneld of {self.name} was not ended")
        self.touched |= self.kind != "upstream"
        self.daemon = daemon.Daemon(f"{self.kind} flanneld of {self.name}", self._start_process(*words), self.log_path(), self.on_sigterm,
                                    peer=not self.touched)

    def _start_process(self, *words):
        with open(self.log_path(), "a", encoding="utf-8") as log:
            return self.host.start(*words, env=self.environment, stdout=log, stderr=log)

    def up(self):
        self.spawn()
        self.wait_ready()

    def wait_ready(self, timeout=60):
        """Ready by /readyz; without /readyz, once the daemon has written subnet.env."""
        self.daemon.wait_until_started(self.ready, lambda: f"{self.name} is not ready: {self.last_words()}", timeout)
        self.join_pod()

    def ready(self):
        return self.health("/readyz")[0] == 200 if "healthz-port" in self.flags else bool(self.subnet_env())

    def running(self):
        """Whether the test has started it, and not ended it."""
        return self.daemon is not None

    def ended(self):
        """Programs of this node that ended by themselves, as sentences."""
        return [*filter(None, [self.daemon and self.daemon.ended()])]

    def expect_exit(self, code, what):
        """Waits until flanneld ends by itself, as the test expects."""
        ending, self.daemon = self.daemon, None
        ending.expect_exit(code, what)

    def down(self, how=signal.SIGTERM):
        """Ends flanneld; its exit code, which must be the right one. SIGKILL simulates a crash."""
        if self.daemon is None:
            return None
        ending, self.daemon = self.daemon, None
        return ending.stop(how)

    def log_path(self):
        return os.path.join(self.cluster.logs, f"{self.name}.log")

    def log_text(self):
        return daemon.text(self.log_path())

    def shown(self):
        """{place: text} of all text that the daemon shows."""
        return {"the log": self.log_text() if os.path.exists(self.log_path()) else ""}

    def last_words(self):
        return daemon.last_line(self.log_path())

    def health(self, path):
        """Status and body, or (0, reason) while there is no listener."""
        try:
            with self.host.entered():
                connection = http.client.HTTPConnection("127.0.0.1", HEALTH, timeout=command.patience(3))
                connection.connect()
            return node.answer(connection, path, 3)
        except OSError as error:
            return 0, str(error)

    # ---- What is on the node

    def subnet_env(self):
        """subnet.env as a dict; empty while there is none, or while it lacks its last line, as upstream's sometimes does."""
        with contextlib.suppress(FileNotFoundError), open(self.root + self.flags["subnet-file"], encoding="utf-8") as file:
            text = file.read()
            return dict(line.split("=", 1) for line in text.splitlines()) if "FLANNEL_IPMASQ=" in text else {}
        return {}

    def routes(self, family="ipv4"):
        """Pod networks of other nodes that this node sends into its tunnel."""
        if self.device(family) not in self.host.devices():
            return set()
        rows = self.host.show("-" + family[-1], "route", "show", "dev", self.device(family))
        return {route["dst"] for route in rows if route.get("protocol") != "kernel"}

    def join_pod(self):
        """A bridge and a pod with the addresses and the MTU of subnet.env; those of another subnet are removed first."""
        env = self.subnet_env()
        gateways = [env[key] for key in ("FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET") if key in env]
        if self.pod and self.gateways == gateways:
            return
        self.leave_pod()
        self.gateways = gateways
        self.pod = namespace.Namespace(f"{self.name}-pod")
        self.pod.sysctl(net__ipv6__conf__default__accept_dad=0)
        namespace.connect(self.pod, "eth0", self.host, "pod", env["FLANNEL_MTU"])
        self.host.ip(f"link add cni0 mtu {env['FLANNEL_MTU']} type bridge", "link set pod master cni0", "link set cni0 up",
                     *(f"addr add {each} dev cni0{' nodad' if ':' in each else ''}" for each in gateways))
        for each in gateways:
            gateway = ipaddress.ip_interface(each)
            self.pod.ip(f"addr add {gateway.ip + 1}/{gateway.network.prefixlen} dev eth0{' nodad' if ':' in each else ''}",
                        f"route add default via {gateway.ip} dev eth0")

    def leave_pod(self):
        if self.pod:
            self.pod.close()
            self.host.ip("link delete cni0")
            self.pod = None

    @property
    def pod_ip(self):
        return self.pod_address("ipv4")

    def pod_address(self, family):
        return str(ipaddress.ip_interface(self.gateways[family == "ipv6"]).ip + 1)

    @property
    def zero(self):
        """The tunnel device's address: source of the node's own traffic to pods elsewhere."""
        return str(ipaddress.ip_interface(self.gateways[0]).network[0])

    def close(self):
        found = command.failures([self.down])
        if self.pod:
            self.pod.close()
        self.cluster.site.part(f"to-{self.name}")
        self.host.close()
        command.add_failures(None, found)


class Upstream(Member):
    kind = "upstream"

    @staticmethod
    def program():
        return peers.find("flanneld")

    def forget_device(self):
        """Deletes its tunnel device, which it leaves at its end, and with it its MAC."""
        self.host.ip(f"link delete {self.device('ipv4')}")

    def table(self, family="ipv4"):
        """{subnet: (MAC, public IP)} as programmed into the kernel."""
        device = self.device(family)
        if device not in self.host.devices():
            return {}
        macs = {row["dst"]: row["lladdr"] for row in self.host.show("-" + family[-1], "neigh", "show", "dev", device, "nud", "permanent")}
        peers = {row["mac"]: row["dst"] for row in json.loads(command.run(
            "bridge", "-n", self.host.name, "-json", "fdb", "show", "dev", device) or "[]") if "dst" in row}
        hops = {subnet: macs.get(subnet.split("/")[0]) for subnet in self.routes(family)}
        return {subnet: (mac, peers.get(mac)) for subnet, mac in hops.items()}


class Weft(Member):
    kind = "weft"
    find = staticmethod(topology.find_program)  # the path of a program of ours, by its name

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.flags |= {"dataplane": "userspace", "admin": self.path("admin.sock"), "state-dir": self.path("state")}
        self.before = None  # the host's footprint before the first start, without the pod's part

    def _start(self, *words):
        self.before = self.before or footprint.take(self.host, PODS_DEVICES)
        super()._start(*words)

    def down(self, how=signal.SIGTERM):
        """What it leaves on the host is only what it may."""
        if self.daemon is None:
            return None
        code = super().down(how)
        left = footprint.without_left_table(footprint.differences(self.before, footprint.take(self.host, PODS_DEVICES)))
        if self.net_conf["Backend"]["Type"] == "host-gw" or self.net_conf["Backend"].get("DirectRouting"):
            left = footprint.without_left_routes(left)
        command.expect(not left, f"the host of {self.name} is not as before its daemon's first start: {'; '.join(left)}")
        return code

    @staticmethod
    def program():
        return topology.find_program("flanneld")

    def flannelctl(self, *words, check=True):
        """flannelctl in this node."""
        return self.host.run(self.find("flannelctl"), *words, "--admin", self.root + self.flags["admin"], check=check)

    def shown(self):
        found = super().shown()
        if self.running() and not self.daemon.ended() and os.path.exists(self.root + self.flags["admin"]):
            for path in ("/v1/status", "/v1/leases", "/v1/plan", "/v1/nothing"):
                found[f"the admin socket's {path}"] = self.admin(path)
            for path in ("/healthz", "/readyz"):
                found[path] = self.health(path)[1]
        return found

    def admin(self, path):
        """The answer of the admin socket, of any status."""
        connection = http.client.HTTPConnection("weft")
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(command.patience(5))
        connection.sock.connect(self.root + self.flags["admin"])
        return node.answer(connection, path, 5)[1]

    def leases(self):
        """{node: row} of the lease table."""
        return {row["node"]: row for row in json.loads(self.flannelctl("leases", "-o", "json"))["leases"]}

    def status(self):
        """Its exit code, which shows health, is ignored."""
        return json.loads(self.flannelctl("status", "-o", "json", check=False))

    def servers(self):
        """The state of each API server, by its URL."""
        return {each["server"].split(" ")[0]: each for each in self.status()["source"]["servers"]}

    def servers_in_use(self):
        return [url for url, each in self.servers().items() if each["inUse"]]

    def table(self, family="ipv4"):
        """{subnet: (MAC, public IP)} of the peers in use, as far as the kernel has their routes too."""
        routes = self.routes(family)
        halves = [row[family] for row in self.leases().values() if family in row]
        return {half["subnet"]: (half["vtepMAC"], half["publicIP"]) for half in halves
                if half["usable"] and half["state"] != "self" and half["subnet"] in routes}


KINDS = {"weft": Weft, "upstream": Upstream}
