"""Open vSwitch with its datapath in user space (`datapath_type=netdev`), which bench/run compares with weft.

Each node has its own database, switch daemon, sockets and files. Two OpenFlow rules move the frames between the pod and the VXLAN port, the
least that a switch can do. The pods are on one segment and know each other's MAC address.
"""

import os
import signal

from . import command, daemon, node, peers

ROOT = os.path.join(peers.CACHE, "openvswitch")  # the Debian packages, unpacked by cmake/bootstrap.sh bench
PROGRAMS = {"ovsdb-tool": "usr/bin/ovsdb-tool", "ovs-vsctl": "usr/bin/ovs-vsctl", "ovs-ofctl": "usr/bin/ovs-ofctl",
            "ovsdb-server": "usr/sbin/ovsdb-server", "ovs-vswitchd": "usr/lib/openvswitch-switch/ovs-vswitchd"}
POD_PORT, TUNNEL_PORT = 1, 2  # of the bridge


def missing():
    return [name for name, path in PROGRAMS.items() if not os.access(os.path.join(ROOT, path), os.X_OK)]


def program(name):
    command.expect(not missing(), f"Open vSwitch is missing in {ROOT}; run: cmake/bootstrap.sh bench")
    return os.path.join(ROOT, PROGRAMS[name])


def version():
    return command.run(program("ovs-vsctl"), "--version").splitlines()[0].split()[-1]


class OpenVSwitchNode(node.Node):
    kind = "ovs"

    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        self.folder = os.path.join(lab.folder, own.name)
        os.makedirs(self.folder, exist_ok=True)
        self.daemons = []

    def _path(self, name):
        return os.path.join(self.folder, name)

    def up(self):
        """The underlay's address moves to the bridge of the underlay, through which the switch looks up routes of tunnels."""
        schema = os.path.join(ROOT, "usr/share/openvswitch/vswitch.ovsschema")
        self._run("ovsdb-tool", "create", self._path("conf.db"), schema)
        self._start("ovsdb-server", self._path("conf.db"), f"--remote=punix:{self._path('db.sock')}")
        self._start("ovs-vswitchd", f"unix:{self._path('db.sock')}")
        self._vsctl("--no-wait", "init")
        self._bridge("br-phy")
        self._vsctl("add-port", "br-phy", "u0")
        self.host.ip(f"addr del {self.lease.public_ip}/24 dev u0", f"addr add {self.lease.public_ip}/24 dev br-phy", "link set br-phy up")
        self._bridge("br-int")
        self.host.ip("addr flush dev pod")
        self._vsctl("add-port", "br-int", "pod", "--", "set", "interface", "pod", f"ofport_request={POD_PORT}")
        # The switch does not complete checksums and does not cut superframes of a pod.
        self.pod.run("ethtool", "-K", "e0", "tx", "off", "tso", "off", "gso", "off", "gro", "off")

    def use(self, leases):
        for peer in leases:
            if peer.name == self.name:
                continue
            self._vsctl("add-port", "br-int", "vx", "--", "set", "interface", "vx", "type=vxlan", f"ofport_request={TUNNEL_PORT}",
                        f"options:remote_ip={peer.public_ip}", f"options:key={node.VNI}", f"options:dst_port={node.PORT}", "options:csum=true")
            for one, other in ((POD_PORT, TUNNEL_PORT), (TUNNEL_PORT, POD_PORT)):
                self._run("ovs-ofctl", "add-flow", f"unix:{self._path('br-int.mgmt')}", f"in_port={one},actions={other}")
        for other in self.lab.nodes:
            if other is not self:
                address = node.pod_address(other.lease.subnet)
                mac = other.pod.show("link", "show", "dev", "e0")[0]["address"]
                self.pod.ip(f"route replace {address}/32 dev e0", f"neigh replace {address} lladdr {mac} dev e0 nud permanent")

    def _bridge(self, name):
        self._vsctl("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "fail_mode=secure" if name == "br-int"
                    else "fail_mode=standalone")

    def _vsctl(self, *words):
        self._run("ovs-vsctl", f"--db=unix:{self._path('db.sock')}", "--timeout=15", *words)

    def _run(self, name, *words):
        self.host.run("env", *self._environment(), program(name), *words)

    def _environment(self):
        return [*(f"OVS_{each}={self.folder}" for each in ("RUNDIR", "LOGDIR", "DBDIR", "SYSCONFDIR")),
                f"OVS_PKGDATADIR={os.path.join(ROOT, 'usr/share/openvswitch')}"]

    def _start(self, name, *words):
        log = self._path(f"{name}.log")
        with open(log, "a", encoding="utf-8") as file:
            process = self.host.start("env", *self._environment(), program(name), *words, f"--unixctl={self._path(name)}.ctl",
                                      f"--pidfile={self._path(name)}.pid", stdout=file, stderr=file)
        self.daemons.append(daemon.Daemon(f"{name} of {self.name}", process, log, peer=True))
        self.daemons[-1].wait_until_started(lambda: os.path.exists(f"{self._path(name)}.ctl"),
                                            lambda: f"{name} of {self.name} does not start: {daemon.last_line(log)}", 5)

    def down(self):
        ending, self.daemons = self.daemons, []
        command.add_failures(None, command.failures([lambda each=each: each.stop(signal.SIGKILL) for each in reversed(ending)]))
