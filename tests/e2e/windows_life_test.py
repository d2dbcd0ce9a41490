"""A Windows node's whole life, from a new machine to one with nothing of ours left: with the zip by the lines of deploy/windows/README.md, in
cmd, as they stand there; with the containers of the chart; and with flanneld.exe in place of upstream's."""

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
from cluster.cluster import nightly, weft_only
from manifests_test import daemon_set, nested, objects, render
from windows_daemon_set_test import Container
from windows_host_gw_test import wait_for_machine
from windows_test import POD_NAMESPACE, behind, forget_service, make_namespace, make_service, start_kube_proxy

GUIDE = os.path.join(topology.ROOT, "deploy", "windows", "README.md")


def guide(title, way):
    """The commands of a section for the node's console, without those after a paragraph that is for another way: "(a)", "In (b)"."""
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read()
    section = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.M | re.S)
    command.expect(section, f"{GUIDE} has no section {title!r}")
    found, named = [], way
    for paragraph in re.split(r"\n\n|\n(?=- )", re.sub(r" [\^\\]\n\s*", " ", section.group(1)).strip("\n")):
        begin = re.match(r"(?:- |In )?\(([abc])\)", paragraph)
        named = begin.group(1) if begin else named
        if named == way:
            found += [re.sub(r"\s+#.*", "", line.strip()) for line in paragraph.splitlines() if line.startswith("    ")]
    return [line for line in found if not re.match(r"kubectl |\$config |token=|config=|curl |helm |flannelctl ", line)]


class Service(windows.Weft):
    """A machine whose flanneld.exe is a service: no program of the test's own starts or stops it."""

    way = "b"
    variables = {"FLANNELD_MANAGE_FIREWALL": "false"}  # Wine's cannot be read

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.here = ""
        with zipfile.ZipFile(io.BytesIO(package())) as archive:
            self.top = os.path.commonpath(archive.namelist())
            archive.extractall(self.drive(""))
        for program in ("flanneld", "flannelctl") if self.emulated_host else ():
            shutil.copy(windows.our(program, True), self.drive(f"{self.top}/{program}.exe"))

    def console(self, title, since="", until=None):
        """Types the section's lines; `since`: from the one that begins so; `until`: up to the one before the one that begins so."""
        lines = guide(title, self.way)
        ends = [next((number for number, line in enumerate(lines) if line.startswith(begin)), None) for begin in (since, until or since)]
        command.expect(None not in ends, f"{title!r} has no line {since!r} or {until!r} to type")
        for line in lines[ends[0]:ends[1] if until else None]:
            for given, here in {"WIN": self.name, "10.0.0.8": self.address, "weft-VERSION-windows-amd64": self.top,
                                "flannel.4096": self.network_name}.items():
                line = re.sub(rf"\b{re.escape(given)}\b", here, line)
            if line.startswith("tar "):  # Wine has none; it was unpacked
                continue
            if line.startswith("cd "):
                self.here = line[3:]
                continue
            command.expect(not re.match(r"sc(\.exe)? (stop|start) ", line), f"{title!r}: {line!r} does not wait; type net")
            self.cluster.say(rf"C:\{self.here}> {line}")
            self.wine("cmd", "/c", rf"cd /d C:\{self.here} & {line}")

    def join(self):
        """With C:\\k, as the guide has it made on another machine."""
        token = self.cluster.control.account_token()
        self.cluster.secrets.append(token)
        os.makedirs(self.drive("k"))
        lease.write_text(self.drive("k/flannel.kubeconfig"), self.kubeconfig({"token": token}))
        lease.write_text(self.drive("k/net-conf.json"), json.dumps(self.net_conf))
        self.console("(b) Windows service from the zip")
        self.console("See that it works")

    def install_cni(self):
        self.console("CNI")

    def start_kube_proxy(self):
        """With the cluster's configuration, and what flannelctl.exe sets in it; a bridge needs the network's name alone."""
        if self.net_conf["Backend"]["Type"] == "host-gw":
            start_kube_proxy(self.cluster, self, "cbr0")
            return
        config = KUBE_PROXY | {"clusterCIDR": self.cluster.network, "clientConnection": {"kubeconfig": self.write("admin.kubeconfig", self.administrator())}}
        rendered = self.wine(r"C:\weft\flannelctl.exe", "source-vip", "-o", "kube-proxy-config",
                             f"--kube-proxy-config={self.write('cluster.conf', json.dumps(config))}")
        self.start_program("kube-proxy.exe", f"--config={self.write('kube-proxy.yaml', rendered)}", "--v=4")

    def upgrade(self):
        self.top, old = self.top.replace("-windows", "-second-windows"), self.top
        shutil.copytree(self.drive(old), self.drive(self.top))
        with open(self.drive(f"{self.top}/flanneld.exe"), "ab") as program:
            program.write(SECOND)
        self.console("Upgrade")
        self.console("See that it works")
        with open(self.drive("weft/flanneld.exe"), "rb") as now:
            command.expect(now.read().endswith(SECOND), "the first build is still installed")

    def back_to_upstream(self):
        self.console("Back to upstream")
        start_upstream(self, r"C:\k\flannel.kubeconfig", r"C:\k\net-conf.json")

    def return_to_weft(self):
        self.down()
        self.console("(b) Windows service from the zip", since=r"C:\weft\flanneld.exe service install")

    def remove(self):
        self.console("Remove")
        for folder in ("k", "weft", self.top):
            shutil.rmtree(self.drive(folder))


class BridgeService(Service):
    emulated_host = True  # Wine writes no routes


class InPlace(Service):
    """A machine where another program, such as nssm, runs upstream's flanneld.exe: the test in its place."""

    way = "c"
    flavour = windows.Upstream.flavour

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.here = "flannel"
        for folder in ("flannel", "etc/kube-flannel"):
            os.makedirs(self.drive(folder))
        shutil.copy(peers.find("flanneld.exe"), self.drive("flannel/flanneld.exe"))
        lease.write_text(self.drive("etc/kube-flannel/net-conf.json"), json.dumps(self.net_conf))
        # Their defaults, but on drive C, where this process is not.
        self.flags = {"kube-subnet-mgr": "true", "iface": self.address, "ip-masq": "true", "kubeconfig-file": self.flags["kubeconfig-file"],
                      "net-config-path": r"C:\etc\kube-flannel\net-conf.json", "subnet-file": r"C:\run\flannel\subnet.env"}
        self.environment |= self.variables

    def command_line(self):
        """Upstream's, whichever program lies there."""
        return [windows.WINE, r"C:\flannel\flanneld.exe", *(f"--{name}={value}" for name, value in self.flags.items())]

    def spawn(self):
        self._start(*self.command_line())

    def subnet_file(self):
        return self.drive("run/flannel/subnet.env")

    def wine(self, *words, **options):
        """`net` stops and starts what that program runs, and waits."""
        service = re.search(r" & net (stop|start) flanneld$", words[-1]) if words[0] == "cmd" else None
        if not service:
            return super().wine(*words, **options)
        if service.group(1) == "stop":
            return self.down()
        with open(self.drive("flannel/flanneld.exe"), "rb") as program:
            self.flavour = windows.Weft.flavour if b"(weft)" in program.read() else windows.Upstream.flavour
        return self.up()


class Pods(Container):
    """A machine whose programs are the chart's HostProcess containers."""

    values = {"windows.kubeProxy.enabled": True, "windows.cni.install": True, "windows.cni.serviceCidr": "10.96.0.0/12"}

    def __init__(self, cluster, name):
        backend = {"flannel.backend": cluster.backend["Type"], "flannel.vni": cluster.backend.get("VNI", 4096),
                   "flannel.backendPort": cluster.backend.get("Port", 4789)}
        self.values = self.values | backend
        super().__init__(cluster, name)

    def join(self):
        self.up()

    def install_cni(self):
        """By the init container."""

    def start_kube_proxy(self):
        """cmd's part of its line is manifests_test's."""
        pod = daemon_set(self.found, "kube-proxy-windows")["spec"]["template"]["spec"]
        os.makedirs(self.drive("var/lib/kube-proxy"))
        lease.write_text(self.drive("var/lib/kube-proxy/kubeconfig.conf"), self.administrator())
        for folder in ("kube-proxy", "source-vip"):
            os.makedirs(self.drive(f"hpc/{folder}"))
        os.symlink(peers.find("kube-proxy.exe"), self.drive("hpc/kube-proxy/kube-proxy.exe"))
        for each in pod["initContainers"]:
            self.run(each)
        line = self.words_of(pod["containers"][0])[-1]
        if " do " in line:
            with open(self.drive("hpc/source-vip/address"), encoding="utf-8") as file:
                line = line.split(" do ")[1].replace("%i", file.read().strip())
        program, *words = line.split()
        self.environment |= {each["name"]: each["value"] for each in pod["containers"][0]["env"] if "value" in each}
        self.start_program("kube-proxy.exe", *words, program=program)

    def upgrade(self):
        self.down()
        self.build = SECOND
        self.up()

    def back_to_upstream(self):
        self.down()
        start_upstream(self, windows.windows_path(self.path("kubeconfig")), r"C:\hpc\etc\kube-flannel\net-conf.json")

    def return_to_weft(self):
        self.down()
        self.flavour = windows.Weft.flavour
        self.up()

    def remove(self):
        self.down()
        job = next(each for key, each in objects(render(nested({"windows.cleanup.nodes": [self.name]}))).items() if key[0] == "Job")
        self.run(job["spec"]["template"]["spec"]["containers"][0])
        for folder in ("hpc", "var/lib/kube-proxy"):
            shutil.rmtree(self.drive(folder))


class BridgePods(Pods):
    emulated_host = True  # Wine writes no routes


# Empty folders that stay, because other programs use them, too.
SHARED = ("etc/", "etc/cni/", "etc/cni/net.d/", "run/", "run/flannel/", "var/", "var/lib/", "var/lib/cni/", "var/lib/cni/networks/",
          "var/lib/cni/flannel/")


def files(a):
    """{path: digest} of drive C."""
    found = {}
    for folder, folders, names in os.walk(a.drive("")):
        found |= {os.path.relpath(os.path.join(folder, each), a.drive("")) + "/": "" for each in folders}
        for each in names:
            path = os.path.join(folder, each)
            with open(path, "rb") as file:
                found[os.path.relpath(path, a.drive(""))] = hashlib.sha256(file.read()).hexdigest()
    return {path: digest for path, digest in found.items() if path not in SHARED}


def registry(a):
    """Its lines, with their keys."""
    found, key = set(), ""
    a.wine("reg", "export", "HKLM", windows.windows_path(a.path("registry")), "/y")
    with open(a.path("registry"), encoding="utf-16") as file:
        for line in file.read().splitlines():
            key = line if line.startswith("[") else key
            found.add((key, line))
    return {each for each in found if not each[0].endswith("\\Control\\ServiceCurrent]")}  # Windows' own count of starts


# Of the emulator's dump: kube-proxy's, containerd's, and the emulator's own counters.
OTHERS = ("load_balancers", "namespaces", "drawn", "settled_ms")


def state_of(a):
    return {"files": files(a), "registry": registry(a), "HNS": {key: json.dumps(each) for key, each in a.hns("dump").items() if key not in OTHERS},
            "routes": sorted(json.dumps(each, sort_keys=True) for each in a.host.show("route"))}


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


def start_upstream(a, kubeconfig, net_conf):
    a.flavour = windows.Upstream.flavour
    a.flags = {"kube-subnet-mgr": "true", "iface": a.address, "ip-masq": "true", "kubeconfig-file": kubeconfig, "net-config-path": net_conf,
               "subnet-file": r"C:\run\flannel\subnet.env"}  # its own default is of the current drive, here this machine's
    a._start(*a.command_line())
    command.wait_until(lambda: "Running backend" in a.log_text(), a.last_words, timeout=30)
    a.cluster.settle("upstream's flanneld.exe takes over", with_traffic=False)


CONTAINERD = r"""version = 2
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "C:\\opt\\cni\\bin"
  conf_dir = "C:\\etc\\cni\\net.d"
"""


def install_containerd(a):
    """Its config.toml, and the plugins where that says."""
    for name in ("win-overlay.exe", "win-bridge.exe", "flannel.exe", "host-local.exe"):
        os.makedirs(a.drive("opt/cni/bin"), exist_ok=True)
        os.symlink(peers.find(name), a.drive(f"opt/cni/bin/{name}"))
    os.makedirs(a.drive("Program Files/containerd"))
    lease.write_text(a.drive("Program Files/containerd/config.toml"), CONTAINERD)


def cni(a, verb):
    """A pod, as containerd makes and removes it: the plugin of the first file there."""
    folder = a.drive("etc/cni/net.d")
    with open(os.path.join(folder, sorted(os.listdir(folder))[0]), encoding="utf-8") as file:
        installed = json.load(file)
    command.expect_equal(len(installed["plugins"]), 1, "plugins")
    config = {"cniVersion": installed["cniVersion"], "name": installed["name"], **installed["plugins"][0]}
    def once():
        text = a.wine("cmd", "/c", rf"cd /d C:\ & C:\opt\cni\bin\{config['type']}.exe", stdin=json.dumps(config), check=False, CNI_COMMAND=verb,
                      CNI_CONTAINERID="c1", CNI_NETNS=POD_NAMESPACE, CNI_IFNAME="eth0", CNI_PATH=r"C:\opt\cni\bin")
        return json.loads(text) if text.strip() else {}

    answer = once()
    # On a bridge flannel's plugin may draw the host endpoint's address, which HNS refuses; the kubelet tries again.
    if "code" in answer and a.net_conf["Backend"]["Type"] == "host-gw":
        answer = once()
    command.expect("code" not in answer, f"{config['type']}.exe {verb}: {answer}")
    return answer


def settle(a, what):
    """All routes of node a are there; the other node is b."""
    if a.net_conf["Backend"]["Type"] == "host-gw":
        wait_for_machine(a, a.cluster.members["b"], what)
    else:
        a.cluster.settle(what, with_traffic=False)


def kept(a, what, change):
    """Meanwhile HNS keeps networks, endpoints and routes."""
    before = a.hns("dump")
    change()
    settle(a, what)
    after = a.hns("dump")
    for kind in ("networks", "endpoints"):
        command.expect_equal([each["id"] for each in after[kind]], [each["id"] for each in before[kind]], f"{kind} after: {what}")
    command.expect_equal(a.policies("RemoteSubnetRoute"), [each["Settings"] for each in before["networks"][0]["policies"]
                                                           if each["Type"] == "RemoteSubnetRoute"], f"routes after: {what}")


def live(cluster, kind, **backend):
    """Installed, a pod, a service, upgraded, to upstream and back, removed: nothing is left, nothing lost. `backend`: another of net-conf's; then
    upstream's is left out."""
    cluster.backend = backend or cluster.backend
    bridge = cluster.backend["Type"] == "host-gw"
    a, b = cluster.add("a", kind=kind), cluster.add("b")
    b.spawn()
    install_containerd(a)
    before = state_of(a)
    a.join()
    settle(a, "it joins")
    a.install_cni()
    make_namespace(a)
    pod = cni(a, "ADD")["ips"][0]["address"].split("/")[0]
    cluster.api.patch_node_status(a.name, {"status": {"addresses": [{"type": "InternalIP", "address": a.address}]}})
    a.start_kube_proxy()
    make_service(cluster, "web", "10.96.0.50", a=pod, b="10.244.2.5")
    try:
        found = behind(a, "10.96.0.50")
        command.expect_equal((found.get("10.244.2.5"), found.get(pod, (None,))[0]), ((True,) if bridge else (True, b.address), False),
                             "the service's endpoints")
        kept(a, "an upgrade", a.upgrade)
        if not backend:
            kept(a, "upstream's in its place", a.back_to_upstream)
            kept(a, "weft again", a.return_to_weft)
    finally:
        forget_service(cluster, "web")
    while a.programs:
        a.programs.pop().stop()
    cni(a, "DEL")
    a.remove()
    after = state_of(a)
    for kind, was in before.items():
        command.expect_equal(difference(was, after[kind]), ([], []), f"{kind}: left, and lost")


@weft_only
def test_from_the_zip(cluster):
    live(cluster, Service)


@weft_only
def test_as_containers(cluster):
    live(cluster, Pods)


@weft_only
@nightly
def test_from_the_zip_host_gw(cluster):
    live(cluster, BridgeService, Type="host-gw")


@weft_only
@nightly
def test_from_the_zip_another_vni_and_port(cluster):
    live(cluster, Service, Type="vxlan", VNI=5000, Port=14789)


@weft_only
@nightly
def test_as_containers_host_gw(cluster):
    """The CNI configuration is written before flanneld.exe runs, and kube-proxy.exe waits for no source VIP."""
    live(cluster, BridgePods, Type="host-gw")


@weft_only
@nightly
def test_in_place_of_upstreams(cluster):
    """The same command line and the same configuration of CNI; nothing changes in HNS, there and back; and what is left at the end is upstream's."""
    a, b = cluster.add("a", kind=InPlace), cluster.add("b")
    b.spawn()
    a.up()
    cluster.settle("upstream's runs", with_traffic=False)
    network = a.network()
    a.console("(b) Windows service from the zip", since="tar ", until=r"C:\weft\flanneld.exe service install")
    a.here = "flannel"
    kept(a, "weft in place of upstream's", lambda: a.console("(c) In place of upstream's flanneld.exe"))
    command.expect_equal(a.flavour, windows.Weft.flavour, "whose flanneld.exe runs")
    install_containerd(a)
    os.makedirs(a.drive("etc/cni/net.d"))
    lease.write_text(a.drive("etc/cni/net.d/10-flannel.conflist"), a.wine(r"C:\weft\flannelctl.exe", "cni", "render", "--service-cidr=10.96.0.0/12"))
    a.wine(r"C:\weft\flannelctl.exe", "cni", "validate", "--service-cidr=10.96.0.0/12")
    with open(a.drive("weft/flanneld.exe"), "ab") as program:
        program.write(SECOND)
    kept(a, "an upgrade", lambda: a.console("Upgrade"))
    with open(a.drive("flannel/flanneld.exe"), "rb") as now:
        command.expect(now.read().endswith(SECOND), "the first build still runs")
    kept(a, "back to upstream's", lambda: a.console("Back to upstream"))
    command.expect_equal(a.flavour, windows.Upstream.flavour, "whose flanneld.exe runs")
    kept(a, "weft again", lambda: a.console("Upgrade"))
    a.console("Remove")
    command.expect_equal(a.network(), network, "upstream's network at the end")
    left = [path for path in ("ProgramData/weft", "run/flannel/subnet.env") if os.path.exists(a.drive(path))]
    command.expect_equal(left, [], "what flanneld.exe of ours wrote and is left")
