"""The way with the zip, on a new node: the lines of deploy/windows/README.md, in cmd, as they stand there."""

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile

from lab import command, lease, peers, topology

from cluster import windows
from cluster.cluster import weft_only
from windows_test import POD_NAMESPACE, behind, forget_service, make_namespace, make_service

GUIDE = os.path.join(topology.ROOT, "deploy", "windows", "README.md")
NO_SECTIONS = re.compile(r"\[(HKEY_LOCAL_MACHINE\\HARDWARE|HKEY_CURRENT_USER\\Volatile|.*\\Services\\(EventLog\\)?$)")


def guide(title):
    """The commands of a section for the node's console."""
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read()
    section = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.M | re.S)
    command.expect(section, f"{GUIDE} has no section {title!r}")
    lines = re.sub(r" \^\n\s*", " ", section.group(1)).splitlines()
    found = [re.sub(r"\s+#.*", "", line.strip()) for line in lines if line.startswith("    ")]
    return [line for line in found if not re.match(r"kubectl |\$config |token=|config=|curl |helm |sc |ren |flannelctl ", line)]


class Node(windows.Weft):
    """A machine whose flanneld.exe is a service: no program of the test's own starts or stops it."""

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        with zipfile.ZipFile(io.BytesIO(package())) as archive:
            self.top = os.path.commonpath(archive.namelist())
            archive.extractall(self.drive(""))
        self.first = self.top

    def drive(self, path):
        return os.path.join(self.prefix, "drive_c", path)

    def console(self, title, since=""):
        """Types the section's lines; `since`: from the one that begins so."""
        lines = guide(title)
        first = next((number for number, line in enumerate(lines) if line.startswith(since)), None)
        command.expect(first is not None, f"{title!r} has no line {since!r} to type")
        for line in lines[first:]:
            for given, here in {"WIN": self.name, "10.0.0.8": self.address, "weft-VERSION-windows-amd64": self.top}.items():
                line = re.sub(rf"\b{re.escape(given)}\b", here, line)
            if line.startswith("tar "):  # Wine has none; it was unpacked
                continue
            if line.startswith("cd "):
                self.here = line[3:]
                continue
            if "service install" in line:
                line += " --manage-firewall=false"  # Wine's cannot be read
            self.cluster.say(rf"C:\{self.here}> {line}")
            self.wine("cmd", "/c", rf"cd /d C:\{self.here} & {line}")

    def join_cluster(self):
        """C:\\k, as the guide has it made on another machine."""
        token = self.cluster.control.account_token()
        self.cluster.secrets.append(token)
        os.makedirs(self.drive("k"))
        authority = windows.windows_path(self.cluster.control.path("ca.crt"))
        lease.write_text(self.drive("k/flannel.kubeconfig"),
                         json.dumps(self.cluster.control.kubeconfig({"token": token}, **{"certificate-authority": authority})))
        lease.write_text(self.drive("k/net-conf.json"), json.dumps(self.net_conf))

    def unpack_second_build(self):
        """Other bytes under another version."""
        self.top, old = self.top.replace("-windows", "-second-windows"), self.top
        shutil.copytree(self.drive(old), self.drive(self.top))
        with open(self.drive(f"{self.top}/flanneld.exe"), "ab") as program:
            program.write(SECOND)

    def start_upstream(self):
        self.flavour = windows.Upstream.flavour
        self.flags |= {"kubeconfig-file": r"C:\k\flannel.kubeconfig", "net-config-path": r"C:\k\net-conf.json", "subnet-file": None}
        self._start(*self.command_line())
        command.wait_until(lambda: "Running backend" in self.log_text(), self.last_words, timeout=30)
        self.cluster.settle("upstream's flanneld.exe takes over", with_traffic=False)

    def ctl(self, *words, check=True):
        return self.wine(r"C:\weft\flannelctl.exe", *words, check=check)

    def files(self):
        """{path: digest} of the drive."""
        found = {}
        for folder, folders, names in os.walk(self.drive("")):
            found |= {os.path.join(folder, each) + "/": "" for each in folders}
            for each in names:
                path = os.path.join(folder, each)
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
        return {os.path.relpath(path, self.drive("")): digest for path, digest in found.items()}

    def registry(self):
        """Its lines, with their keys."""
        found, key = set(), ""
        self.wine("reg", "export", "HKLM", windows.windows_path(self.path("registry")), "/y")
        with open(self.path("registry"), encoding="utf-16") as file:
            for line in file.read().splitlines():
                key = line if line.startswith("[") else key
                found.add((key, line))
        return found

    def node_state(self):
        return {"files": self.files(), "registry": self.registry(), "HNS": {key: json.dumps(each) for key, each in self.hns("dump").items()},
                "routes": sorted(json.dumps(each, sort_keys=True) for each in self.host.show("route"))}


def difference(was, now):
    """What is there now and was not, and what was there and is not, or not as it was; without what Windows itself writes."""
    if isinstance(was, dict):
        was, now = set(was.items()), set(now.items())
    return tuple(sorted(map(str, each)) for each in (set(now) - set(was), set(was) - set(now)))


SECOND = b"the second build"
ZIP = []


def package():
    """The zip that deploy/package.sh makes of the build."""
    if not ZIP:
        with tempfile.TemporaryDirectory() as folder:
            command.run(os.path.join(topology.ROOT, "deploy", "package.sh"), "--no-build", "--only=windows", f"--output={folder}/dist")
            name = next(each for each in os.listdir(f"{folder}/dist") if each.endswith(".zip"))
            with open(f"{folder}/dist/{name}", "rb") as file:
                ZIP.append(file.read())
    return ZIP[0]


KUBE_PROXY = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "hostnameOverride": "a",
              "healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249"}


def start_kube_proxy(a):
    """With the cluster's configuration, and what flannelctl.exe sets in it."""
    control = a.cluster.control
    a.cluster.api.patch_node_status(a.name, {"status": {"addresses": [{"type": "InternalIP", "address": a.address}]}})
    admin = control.kubeconfig({"client-certificate": windows.windows_path(control.path("admin.crt")),
                                "client-key": windows.windows_path(control.path("admin.key"))},
                               **{"certificate-authority": windows.windows_path(control.path("ca.crt"))})
    config = KUBE_PROXY | {"clusterCIDR": a.cluster.network, "clientConnection": {"kubeconfig": a.write("admin.kubeconfig", json.dumps(admin))}}
    rendered = a.ctl("source-vip", "-o", "kube-proxy-config", f"--kube-proxy-config={a.write('cluster.conf', json.dumps(config))}")
    a.start_program("kube-proxy.exe", f"--config={a.write('kube-proxy.yaml', rendered)}", "--v=4")


def cni(a, verb):
    """A pod, as containerd makes and removes it: the plugins of the file that flannelctl.exe installed."""
    folder = a.drive("Program Files/containerd/cni/conf")
    with open(os.path.join(folder, sorted(os.listdir(folder))[0]), encoding="utf-8") as file:
        installed = json.load(file)
    command.expect_equal(len(installed["plugins"]), 1, "plugins")
    config = {"cniVersion": installed["cniVersion"], "name": installed["name"], **installed["plugins"][0]}
    return a.plugin(f"{config['type']}.exe", verb, config, "c1", POD_NAMESPACE)


def kept(a, what, *changes):
    """While this happens, HNS keeps networks, endpoints and routes: what differs is none of those."""
    before = a.hns("dump")
    for change in changes:
        change()
    after = a.hns("dump")
    for kind in ("networks", "endpoints"):
        command.expect_equal([each["id"] for each in after[kind]], [each["id"] for each in before[kind]], f"{kind} after: {what}")
    command.expect_equal(a.policies("RemoteSubnetRoute"), [each["Settings"] for each in before["networks"][0]["policies"]
                                                           if each["Type"] == "RemoteSubnetRoute"], f"routes after: {what}")


@weft_only
def test_whole_life(cluster):
    """Installed, a pod, a service, upgraded, back to upstream and again to weft, removed: nothing is left."""
    a, b = cluster.add("a", kind=Node), cluster.add("b")
    b.spawn()
    before = a.node_state()
    a.join_cluster()
    a.console("(b) Windows service from the zip")
    a.console("See that it works")
    cluster.settle("the service joins", with_traffic=False)

    make_namespace(a)
    import windows_test
    folder = a.drive("Program Files/containerd/cni/conf"); os.makedirs(folder)
    c = windows_test.overlay_config(a)
    lease.write_text(folder + "/10-flannel.conflist", json.dumps({"cniVersion": c.pop("cniVersion"), "name": c.pop("name"), "plugins": [c]}))
    pod = cni(a, "ADD")["ips"][0]["address"].split("/")[0]
    start_kube_proxy(a)
    make_service(cluster, "web", "10.96.0.50", a=pod, b="10.244.2.5")
    try:
        found = behind(a, "10.96.0.50")
        command.expect_equal((found.get("10.244.2.5"), found.get(pod, (None,))[0]), ((True, b.address), False), "the service's endpoints")
        kept(a, "an upgrade", a.unpack_second_build, lambda: a.console("Upgrade"), lambda: a.console("See that it works"))
        with open(a.drive("weft/flanneld.exe"), "rb") as now:
            command.expect(now.read().endswith(SECOND), "the first build is still installed")
        kept(a, "upstream's in its place", lambda: a.console("Back to upstream"), a.start_upstream)
        kept(a, "weft again", a.down, lambda: a.console("(b) Windows service from the zip", since=r"C:\weft\flanneld.exe service install"))
    finally:
        forget_service(cluster, "web")
    while a.programs:
        a.programs.pop().stop()
    cni(a, "DEL")
    a.console("Remove")
    for folder in ("k", "weft", a.top, a.first):
        shutil.rmtree(a.drive(folder))
    after = a.node_state()
    for kind, was in before.items():
        command.expect_equal(difference(was, after[kind]), ([], []), f"{kind}: left, and lost")
