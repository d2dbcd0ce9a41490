"""The container of the Windows DaemonSet, as containerd's shim starts it: the chart's command line, variables and mounts."""

import http.client
import os
import shutil

from lab import command, lease

from cluster import windows
from cluster.cluster import weft_only
from manifests_test import daemon_set, nested, objects, render

POINT = "CONTAINER_SANDBOX_MOUNT_POINT"
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"


class Container(windows.Weft):
    """`pod`: the template's spec. Its folders lie on drive C, where a new node's do."""

    values = {}  # of the chart
    build = b""  # appended to the image's programs: another build

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.found = objects(render(nested(self.values | {"windows.apiServer.host": cluster.control.address,
                                                          "windows.args": [f"--iface={self.address}"]})))
        self.spec = daemon_set(self.found, "weft-windows")["spec"]["template"]["spec"]
        self.conf = self.found["ConfigMap", "kube-flannel", "kube-flannel-cfg"]["data"]

    def expanded(self, *words):
        return [word.replace(f"%{POINT}%", "C:\\hpc") for word in words]

    def variables_of(self, container):
        fields = {"spec.nodeName": self.name, "metadata.name": "weft-windows-x7k2p", "metadata.namespace": "kube-flannel", "status.hostIP": self.address}
        return {each["name"]: each.get("value") or fields[each["valueFrom"]["fieldRef"]["fieldPath"]] for each in container.get("env", [])}

    def words_of(self, container):
        """Its command line, as the kubelet and then containerd's shim hand it on."""
        words = [*container["command"], *container.get("args", [])]
        for name, value in self.variables_of(container).items():
            words = [word.replace(f"$({name})", value) for word in words]
        return self.expanded(*words)

    def run(self, container):
        """A container, to its end."""
        return self.wine(*self.words_of(container))

    def spawn(self):
        container = self.spec["containers"][0]
        mounts = {f"{mount['mountPath'].strip('/')}/{name}": text for mount in container["volumeMounts"] for name, text in self.conf.items()}
        token = self.cluster.control.account_token()
        self.cluster.secrets.append(token)
        with open(self.cluster.control.path("ca.crt"), encoding="utf-8") as authority:
            mounts |= {f"{ACCOUNT}/token": token, f"{ACCOUNT}/ca.crt": authority.read(), f"{ACCOUNT}/namespace": "kube-flannel"}
        for name, text in mounts.items():
            os.makedirs(os.path.dirname(self.drive(f"hpc/{name}")), exist_ok=True)
            lease.write_text(self.drive(f"hpc/{name}"), text)
        self.environment.pop("NODE_NAME")
        self.environment |= self.variables_of(container)
        self.environment[POINT] = "C:\\hpc\\"  # with the shim's last backslash
        words = self.words_of(container)
        command.expect_equal(words[0], "C:\\hpc\\flanneld.exe", "the program")
        for program in ("flanneld", "flannelctl"):
            shutil.copy(windows.our(program, self.emulated_host), self.drive(f"hpc/{program}.exe"))
            with open(self.drive(f"hpc/{program}.exe"), "ab") as file:
                file.write(self.build)
        for each in self.spec.get("initContainers", []):
            self.run(each)
        self._start(windows.WINE, *words)
        self.flags = {}

    def subnet_file(self):
        return self.drive("run/flannel/subnet.env")

    def probe(self, kind):
        """The status that the kubelet gets."""
        container = self.spec["containers"][0]
        get = container[kind]["httpGet"]
        port = next(each["containerPort"] for each in container["ports"] if each["name"] == get["port"])
        connection = http.client.HTTPConnection(self.address, port, timeout=10)
        with self.host.entered():
            connection.connect()
        connection.request("GET", get["path"])
        return connection.getresponse().status


class WithSdnOverlay(Container):
    """Its CNI configuration, written before flanneld runs, needs the node's address."""

    values = {"windows.cni.install": True, "windows.cni.serviceCidr": "10.96.0.0/12",
              "windows.cni.args": ["--delegate=sdnoverlay", r"--conf-dir=C:\etc\cni\net.d"]}


@weft_only
def test_joins(cluster):
    """Without a kubeconfig and without kube-proxy: in-cluster credentials, the address of the chart, net-conf.json of the ConfigMap."""
    a, b = cluster.add("a", kind=WithSdnOverlay), cluster.add("b")
    b.spawn()
    a.spawn()
    a.wait_ready()
    b.wait_ready()
    cluster.settle("the DaemonSet's pod joins", with_traffic=False)
    command.wait_until(lambda: a.probe("readinessProbe") == 200, lambda: f"readiness: {a.last_words()}", timeout=20)
    command.expect_equal(a.probe("livenessProbe"), 200, "liveness")
    command.expect_equal(a.network()["type"], "Overlay", "the network")
    with open(a.drive("etc/cni/net.d/10-flannel.conflist"), encoding="utf-8") as file:
        command.expect(f'"ProviderAddress": "{a.address}"' in file.read(), "the CNI configuration lacks the node's address")
    command.expect_equal(a.subnet_env()["FLANNEL_SUBNET"], "10.244.1.1/24", "FLANNEL_SUBNET")
    command.expect(os.path.exists(a.drive("ProgramData/weft/ledger.json")), "no ledger on the node's own drive")
    command.expect(not os.path.exists(a.drive("hpc/run")), "files in the container's folder, which ends with the pod")
