"""The chart, the kustomize bases and the plain YAML: one content, accepted by the API server, with command lines that flanneld takes."""

import copy
import filecmp
import fnmatch
import json
import os
import subprocess
import tempfile

import yaml

from lab import command, lease, peers, topology

from cluster.cluster import nightly, weft_only

DEPLOY = os.path.join(topology.ROOT, "deploy")
CHART = os.path.join(DEPLOY, "chart", "weft")
PLAIN = ("windows/flannel-windows.yaml", "windows/kube-proxy-windows.yaml", "linux/flannel.yaml", "windows/cleanup-windows.yaml")
EVERYTHING = {"linux.enabled": True, "windows.kubeProxy.enabled": True, "podMonitor.enabled": True, "namespace.create": True,
              "windows.apiServer.host": "10.0.0.1", "windows.cleanup.nodes": ["win1", "win2"],
              "windows.cni.install": True, "windows.cni.serviceCidr": "10.96.0.0/12"}

# VALUE: another than in EVERYTHING or the defaults, what then appears, and the only places that change; None: a part is gone, and nothing else.
LINUX, WINDOWS, PROXY = "DaemonSet/weft-linux/*", "DaemonSet/weft-windows/*", "DaemonSet/kube-proxy-windows/*"
NET_CONF = "ConfigMap/kube-flannel-cfg/data/net-conf.json/"
STARTED = ("initContainers/install-cni", "containers/kube-flannel")  # both before kube-proxy, so without Services
VALUES = {
    "global.imagePullSecrets": ([{"name": "my-secret"}], "my-secret", "*/template/spec/imagePullSecrets/my-secret/name"),
    "podCidr": ("10.9.0.0/16", "10.9.0.0/16", NET_CONF + "Network"),
    "podCidrv6": ("fd00:9::/56", "fd00:9::/56", NET_CONF + "IPv6Network", NET_CONF + "EnableIPv6"),
    "netConf.existingConfigMap": ("my-conf", "my-conf", "DaemonSet/weft-*/volumes/flannel-cfg/configMap/name", "ConfigMap/*"),
    "flannel.image.repository": ("example/linux", "example/linux:", LINUX + "/containers/kube-flannel/image"),
    "flannel.image.tag": ("v9", "localhost/weft-linux:v9", LINUX + "/containers/kube-flannel/image"),
    "flannel.args": (["--kube-subnet-mgr", "-v=9"], "-v=9", "DaemonSet/weft-*/containers/kube-flannel/args"),
    "flannel.enableNFTables": (True, "true", NET_CONF + "EnableNFTables"),
    "flannel.backend": ("host-gw", "host-gw", NET_CONF + "Backend/*", PROXY + "/env/KUBE_NETWORK/value", PROXY + "/initContainers/*",
                        PROXY + "/containers/kube-proxy/command", PROXY + "/volumeMounts/source-vip/*", PROXY + "/volumes/source-vip/name"),
    "flannel.vni": (4097, "4097", NET_CONF + "Backend/VNI", PROXY + "/env/KUBE_NETWORK/value"),
    "flannel.backendPort": (4790, "4790", NET_CONF + "Backend/Port"),
    "flannel.mtu": (1400, "1400", NET_CONF + "Backend/MTU"),
    "flannel.directRouting": (True, "true", NET_CONF + "Backend/DirectRouting"),
    "flannel.macPrefix": ("0E-2A", "0E-2A", NET_CONF + "Backend/MacPrefix"),
    "flannel.healthz.port": (10244, "10244", "DaemonSet/weft-*/ports/healthz/containerPort", "DaemonSet/weft-*/containers/kube-flannel/args"),
    "flannel.healthz.livenessProbe": ({"periodSeconds": 31}, "31", "DaemonSet/weft-*/livenessProbe/periodSeconds"),
    "flannel.healthz.readinessProbe": ({"periodSeconds": 11}, "11", "DaemonSet/weft-*/readinessProbe/periodSeconds"),
    "flannel.resources": ({"limits": {"memory": "99Mi"}}, "99Mi", LINUX + "/resources/limits/memory"),
    "flannel.tolerations": ([{"key": "my-taint", "operator": "Exists"}], "my-taint", LINUX + "/tolerations/*"),
    "flannel.nodeSelector": ({"my-label": "yes"}, "yes", LINUX + "/template/spec/nodeSelector/my-label"),
    "linux.enabled": (False, None),
    "windows.enabled": (False, None),
    "windows.image.repository": ("example/windows", "example/windows:", "DaemonSet/*-windows/*/image", "Job/*/image"),
    "windows.image.tag": ("v9", "localhost/weft-windows:v9", "DaemonSet/*-windows/*/image", "Job/*/image"),
    "windows.args": (["--iface=10.0.0.8"], "--iface=10.0.0.8", WINDOWS + "/containers/kube-flannel/args"),
    "windows.apiServer.host": ("10.0.0.9", "10.0.0.9", *(f"{WINDOWS}/{each}/env/KUBERNETES_SERVICE_HOST/value" for each in STARTED)),
    "windows.apiServer.port": (7443, "7443", *(f"{WINDOWS}/{each}/env/KUBERNETES_SERVICE_PORT/value" for each in STARTED)),
    "windows.runAsUserName": ("NT AUTHORITY\\Local service", "Local service", "*/windowsOptions/runAsUserName"),
    "windows.priorityClassName": ("my-class", "my-class", "DaemonSet/*-windows/*/priorityClassName"),
    "windows.maxUnavailable": ("25%", "25%", "DaemonSet/*-windows/*/maxUnavailable"),
    "windows.resources": ({"limits": {"memory": "88Mi"}}, "88Mi", WINDOWS + "/containers/kube-flannel/resources/limits/memory"),
    "windows.tolerations": ([{"key": "my-taint", "operator": "Exists"}], "my-taint", "DaemonSet/*-windows/*/tolerations/*"),
    "windows.nodeSelector": ({"my-label": "yes"}, "yes", WINDOWS + "/template/spec/nodeSelector/my-label"),
    "windows.cni.install": (False, None),
    "windows.cni.serviceCidr": ("10.99.0.0/16", "--service-cidr=10.99.0.0/16", WINDOWS + "/initContainers/install-cni/command"),
    "windows.cni.args": (["--loopback-dsr"], "--node-address=$(NODE_IP) --loopback-dsr", WINDOWS + "/initContainers/install-cni/command"),
    "windows.cleanup.nodes": (["win7"], "win7", "Job/*", WINDOWS + "/nodeAffinity/*/matchFields/*"),
    "windows.cleanup.args": (["--keep-vswitch"], "--keep-vswitch", "Job/*/containers/cleanup/args"),
    "windows.kubeProxy.enabled": (False, None),
    "windows.kubeProxy.image.repository": ("example/proxy", "example/proxy:", PROXY + "/containers/kube-proxy/image"),
    "windows.kubeProxy.image.tag": ("v9", "kube-proxy:v9", PROXY + "/containers/kube-proxy/image"),
    "windows.kubeProxy.networkName": ("cbr0", "cbr0", PROXY + "/env/KUBE_NETWORK/value"),
    "windows.kubeProxy.args": (["--v=8"], "--v=8", PROXY + "/containers/kube-proxy/command"),
    "namespace.create": (False, None),
    "rbac.create": (False, None),
    "serviceAccount.create": (False, None),
    "serviceAccount.name": ("my-account", "my-account", "DaemonSet/weft-*/serviceAccountName", "ClusterRoleBinding/flannel/subjects/*", "ServiceAccount/*"),
    "podMonitor.enabled": (False, None),
    "podMonitor.interval": ("77s", "77s", "PodMonitor/weft/spec/podMetricsEndpoints/0/interval"),
    "podMonitor.labels": ({"my-label": "yes"}, "yes", "PodMonitor/weft/metadata/labels/my-label"),
}


def nested(values):
    """{"a.b": 1} as {"a": {"b": 1}}."""
    out = {}
    for path, value in values.items():
        inner, *outer = reversed(path.split("."))
        place = out
        for name in reversed(outer):
            place = place.setdefault(name, {})
        place[inner] = value
    return out


helms = ["helm", "helm3"] if peers.OLDEST else ["helm"]  # the second nightly


def helm(*words, values=None, check=True):
    """What each of `helms` prints, but for empty lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "values.yaml")
        lease.write_text(path, json.dumps(values or {}))
        done, *others = [subprocess.run([peers.find(name), *words, "-f", path], capture_output=True, text=True, check=False) for name in helms]
    command.expect(not check or done.returncode == 0, f"helm {words[0]}: {done.stderr.strip()}")
    for other in others:
        texts = [[line for line in each.stdout.splitlines() if line] for each in (done, other)]
        command.expect_equal((done.returncode, texts[0]), (other.returncode, texts[1]), f"helm {words[0]}: Helm 4 instead of Helm 3")
    return done


def render(values=None):
    return helm("template", "weft", CHART, "--namespace", "kube-flannel", values=values).stdout


def objects(text):
    """By kind, namespace and name."""
    return {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each}


def places(value, path=""):
    """{place: text} of what is in objects. An element of a list has its name or number in the place; a list of words is one text, JSON is read."""
    if path.endswith(".json"):
        value = json.loads(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = " ".join(value)
    if isinstance(value, list):
        value = {each.get("name", i): each for i, each in enumerate(value)}
    if not isinstance(value, dict):
        return {path: value if isinstance(value, str) else json.dumps(value)}
    return {place: text for name, inner in value.items() for place, text in places(inner, f"{path}/{name}".lstrip("/")).items()}


def rendered_places(values):
    return places({f"{kind}/{name}": each for (kind, _, name), each in objects(render(values)).items()})


def plain(*names):
    found = {}
    for name in names:
        with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
            found |= objects(file.read())
    return found


def daemon_set(found, name):
    return next(each for key, each in found.items() if key[0] == "DaemonSet" and key[2] == name)


def flanneld_words(found, name):
    return daemon_set(found, name)["spec"]["template"]["spec"]["containers"][0]["args"]


@weft_only
def test_lint(cluster):
    for values in ({}, nested(EVERYTHING)):
        said = helm("lint", "--strict", CHART, values=values).stdout
        command.expect("[WARNING]" not in said and "[ERROR]" not in said, said)


@nightly
@weft_only
def test_helm_3_prints_the_same(cluster):
    command.run(os.path.join(topology.ROOT, "tests", "e2e", "peers.sh"), "helm3")
    helms.append("helm3")
    try:
        for test in (test_lint, test_role_is_the_manuals, test_every_value_has_effect, test_health_port_off, test_refused_values, test_upstreams_values,
                     test_cleanup):
            test(cluster)
    finally:
        helms.remove("helm3")


@weft_only
def test_plain_yaml_is_the_charts(cluster):
    """Byte for byte what deploy/render.sh writes."""
    command.run(os.path.join(DEPLOY, "render.sh"), cluster.folder)
    for name in PLAIN:
        command.expect(filecmp.cmp(os.path.join(cluster.folder, name), os.path.join(DEPLOY, name), shallow=False),
                       f"deploy/{name} is not what the chart renders; run deploy/render.sh")


@weft_only
def test_kustomize_agrees(cluster):
    """kustomize, and kubectl's own, build the objects of the plain YAML."""
    for folder, names in (("windows", PLAIN[:1]), ("linux", PLAIN[2:3]), ("kustomize", (PLAIN[0], PLAIN[2]))):
        for words in ((peers.find("kustomize"), "build"), (peers.find("kubectl"), "kustomize")):
            built = objects(command.run(*words, os.path.join(DEPLOY, folder)))
            command.expect(built, f"{folder}: nothing built")
            command.expect_equal(built, plain(*names), f"{os.path.basename(words[0])} {folder}")


@weft_only
def test_role_is_the_manuals(cluster):
    rendered = objects(render({"namespace": {"create": True}}))
    for key, each in plain("rbac.yaml").items():
        command.expect_equal(rendered.get(key), each, f"{key}")


@weft_only
def test_every_value_has_effect(cluster):
    """Each leaf of values.yaml, changed alone, next to values that switch all parts on."""
    with open(os.path.join(CHART, "values.yaml"), encoding="utf-8") as file:
        defaults = yaml.safe_load(file)
    whole = {path for path, (value, *_) in VALUES.items() if isinstance(value, (dict, list))}

    def leaves(value, path=""):
        if path in whole or not isinstance(value, dict):
            return {path}
        return set().union(*(leaves(inner, f"{path}.{name}".lstrip(".")) for name, inner in value.items()))

    command.expect_equal(leaves(defaults), set(VALUES), "the values of values.yaml, against those of this test")
    before = rendered_places(nested(EVERYTHING))
    command_lines = set()
    for path, (value, expected, *only) in VALUES.items():
        after = rendered_places(nested(EVERYTHING | {path: value}))
        command_lines.add(after.get("DaemonSet/weft-linux/spec/template/spec/containers/kube-flannel/args", ""))
        if expected is None:
            command.expect(after and after.items() < before.items(), f"{path}: nothing is gone, or something else differs")
            continue
        changed = {place for place in {*before, *after} if before.get(place) != after.get(place)}
        elsewhere = [place for place in changed if not any(fnmatch.fnmatchcase(place, each) for each in only)]
        command.expect(not elsewhere, f"{path} changes {elsewhere}")
        for each in only:
            command.expect(any(fnmatch.fnmatchcase(place, each) for place in changed), f"{path}: nothing changes at {each}")
        command.expect(any(expected in after.get(place, "") and expected not in before.get(place, "") for place in changed),
                       f"{path}: {expected!r} is not what it sets")
    for line in command_lines:
        command.expect("(weft)" in command.run(topology.find_program("flanneld"), *line.split(), "--version"), f"flanneld {line}: no version")


@weft_only
def test_kube_proxy_and_backend(cluster):
    """kube-proxy takes flannel's network, whose name depends on VNI and backend, also where the ConfigMap is another flannel's; it waits for a
    source VIP on an overlay alone."""
    for values, network, before in (({}, "flannel.4096", "source-vip"), ({"flannel.vni": 5000}, "flannel.5000", "source-vip"),
                                    ({"flannel.backend": "host-gw"}, "cbr0", "network"),
                                    ({"flannel.backend": "host-gw", "windows.kubeProxy.networkName": "mine"}, "mine", "network")):
        for conf in ("", "my-conf"):
            found = objects(render(nested(EVERYTHING | values | {"netConf.existingConfigMap": conf})))
            pod = daemon_set(found, "kube-proxy-windows")["spec"]["template"]["spec"]
            container = pod["containers"][0]
            command.expect_equal({each["name"]: each.get("value") for each in container["env"]}["KUBE_NETWORK"], network, f"KUBE_NETWORK with {values}")
            command.expect_equal([each["name"] for each in pod["initContainers"]], [before], f"what kube-proxy waits for with {values}")
            command.expect_equal("--source-vip" in container["command"][-1], before == "source-vip", f"--source-vip with {values}")
            volumes = {each["name"] for each in pod["volumes"]}
            mounts = {mount["name"] for each in (container, *pod["initContainers"]) for mount in each.get("volumeMounts", [])}
            command.expect_equal(volumes, mounts, f"volumes with {values}")


@weft_only
def test_notes(cluster):
    """What the chart does not do is said after an installation."""
    words = ("install", "weft", CHART, "--namespace", "kube-flannel", "--dry-run=client", "--set", "linux.enabled=true,windows.kubeProxy.enabled=true")
    said = command.run(peers.find("helm"), *words, "--set", "netConf.existingConfigMap=my-conf,flannel.vni=5000").split("NOTES:")[-1]
    for words in ("Nothing installs a CNI configuration or plugin on the Linux nodes", "HNS's network flannel.5000"):
        command.expect(words in said, f"the notes lack {words!r}: {said}")


@weft_only
def test_health_port_off(cluster):
    """No port, no probes, nothing to scrape."""
    text = render(nested(EVERYTHING | {"flannel.healthz.port": 0}))
    for word in ("healthz", "Probe", "PodMonitor", "--healthz-port"):
        command.expect(word not in text, f"{word} is rendered")


@weft_only
def test_refused_values(cluster):
    """A misspelt name, or a value that cannot work, names itself."""
    for values, word in (({"flannel.bakend": "vxlan"}, "bakend"), ({"windows.apiserver": {"host": "x"}}, "apiserver"), ({"widnows": {}}, "widnows"),
                         ({"flannel.backend": "wireguard"}, "backend"), ({"flannel.backendPort": 70000}, "backendPort"),
                         ({"flannel.vni": "4096"}, "vni"), ({"podCidr": "10.244.0.0"}, "podCidr"), ({"windows.maxUnavailable": 0}, "maxUnavailable"),
                         ({"windows.cleanup.nodes": ["Not_a_node"]}, "nodes"),
                         ({"windows.apiServer.host": "https://10.0.0.1:6443"}, "host"), ({"netpol.enabled": True}, "netpol"),
                         ({"flannel.GBP": True}, "GBP")):
        done = helm("template", "weft", CHART, values=nested(values), check=False)
        command.expect(done.returncode != 0 and word in done.stderr, f"{values}: exit {done.returncode}: {done.stderr.strip()}")


@weft_only
def test_upstreams_values(cluster):
    """What upstream's chart has and weft does not use is no error; the rest means the same."""
    values = {"podCidr": "10.42.0.0/16", "flannel": {"backend": "vxlan", "vni": 4096, "backendPort": 4789, "cniBinDir": "/opt/cni/bin", "cniConf": "{}",
                                                     "skipCNIConfigInstallation": True, "flannel_cni": {"image": {"tag": "v1"}},
                                                     "args": ["--ip-masq", "--kube-subnet-mgr", "--iface=eth1"]},
              "netpol": {"enabled": False, "image": {"tag": "v1"}}, "linux": {"enabled": True}}
    found = objects(render(values))
    conf = json.loads(found["ConfigMap", "kube-flannel", "kube-flannel-cfg"]["data"]["net-conf.json"])
    command.expect_equal(conf, {"Network": "10.42.0.0/16", "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}}, "net-conf.json")
    for name in ("weft-linux", "weft-windows"):
        command.expect("--iface=eth1" in flanneld_words(found, name), f"{name} lacks --iface=eth1")


def dry_run(cluster, text, check=True):
    path = os.path.join(cluster.folder, "objects.yaml")
    lease.write_text(path, text)
    try:
        return cluster.control.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", path)
    except command.Failure as failure:
        command.expect(not check, str(failure))
        return str(failure)


# The parts of the Prometheus operator's definition that our object uses; unknown fields are refused.
MONITORS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podmonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PodMonitor, plural: podmonitors, singular: podmonitor, listKind: PodMonitorList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [selector]
            properties:
              selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
              podMetricsEndpoints:
                type: array
                items: {type: object, properties: {port: {type: string}, path: {type: string}, interval: {type: string}}}
"""


@weft_only
def test_server_accepts(cluster):
    """By server-side dry run with strict validation; and it does refuse what is wrong."""
    for name in (*PLAIN, "windows/account-token.yaml"):
        with open(os.path.join(DEPLOY, name), encoding="utf-8") as file:
            text = file.read()
        said = dry_run(cluster, text)
        command.expect_equal(said.count("(server dry run)"), len(objects(text)), f"{name}: {said}")
    path = os.path.join(cluster.folder, "monitors.yaml")
    lease.write_text(path, MONITORS)
    cluster.control.kubectl("apply", "-f", path)
    try:
        cluster.control.kubectl("wait", "--for=condition=Established", "crd/podmonitors.monitoring.coreos.com", "--timeout=30s")
        text = render(nested(EVERYTHING))
        said = dry_run(cluster, text)
        command.expect_equal(said.count("(server dry run)"), len(objects(text)), said)
    finally:
        cluster.control.kubectl("delete", "-f", path)
    good = daemon_set(plain(PLAIN[0]), "weft-windows")
    for change, word in (({"hostNetwork": False}, "hostNetwork"), ({"hostNetwrok": True}, "hostNetwrok")):
        bad = copy.deepcopy(good)
        bad["spec"]["template"]["spec"] |= change
        said = dry_run(cluster, json.dumps(bad), check=False)
        command.expect(word in said, f"with {change} the server says {said}")


@weft_only
def test_rolling_update(cluster):
    """One node at a time, and nothing is done to the network when a pod ends."""
    for name in PLAIN:
        for key, each in plain(name).items():
            if key[0] == "DaemonSet":
                command.expect_equal(each["spec"]["updateStrategy"], {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}, f"{key}")
                for container in each["spec"]["template"]["spec"]["containers"]:
                    command.expect("lifecycle" not in container, f"{key} has a hook")


@weft_only
def test_selectors(cluster):
    """No API server lets them change, so an upgrade with another label in one would fail."""
    for key, each in objects(render(nested(EVERYTHING))).items():
        if key[0] == "DaemonSet":
            component = key[2].removeprefix("weft-")
            ours = {"app.kubernetes.io/name": "weft", "app.kubernetes.io/component": component}
            command.expect_equal(each["spec"]["selector"]["matchLabels"], ours if key[2].startswith("weft-") else {"k8s-app": key[2]}, f"{key}")


@weft_only
def test_command_lines(cluster):
    """flanneld takes the flags of the manifests, and would name a flag that it does not know."""
    found = plain(PLAIN[0], PLAIN[2])
    linux = topology.find_program("flanneld")
    windows = (os.path.join(topology.ROOT, "tests", "wine", "run.sh"), os.path.join(topology.ROOT, "build", "windows", "bin", "flanneld.exe"))
    for words, name in (((linux,), "weft-linux"), (windows, "weft-windows")):
        flags = flanneld_words(found, name)
        command.expect("(weft)" in command.run(*words, *flags, "--version", timeout=120), f"{name}: no version")
        done = subprocess.run([*words, *flags, "--no-such-flag", "--version"], capture_output=True, text=True, check=False)
        command.expect(done.returncode == 2 and "no-such-flag" in done.stderr, f"{name} takes --no-such-flag: {done.stderr}")


@weft_only
def test_cleanup(cluster):
    """The nodes that weft leaves get a Job each, and no flanneld; flannelctl takes its flags, and would refuse one that it does not know."""
    found = objects(render({"windows": {"cleanup": {"nodes": ["win1", "win2"], "args": ["--keep-vswitch"]}}}))
    terms = daemon_set(found, "weft-windows")["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    command.expect_equal([field["values"] for term in terms["nodeSelectorTerms"] for field in term["matchFields"]], [["win1"], ["win2"]], "nodes without flanneld")
    jobs = [each["spec"]["template"]["spec"] for key, each in found.items() if key[0] == "Job"]
    command.expect_equal([each["nodeName"] for each in jobs], ["win1", "win2"], "nodes with a Job")
    words = jobs[0]["containers"][0]["args"]
    program = topology.find_program("flannelctl")
    command.expect("Remove flanneld from this node" in command.run(program, *words, "--help"), f"flannelctl {words}")
    done = subprocess.run([program, *words, "--no-such-flag"], capture_output=True, text=True, check=False)
    command.expect(done.returncode == 2 and "no-such-flag" in done.stderr, f"flannelctl takes --no-such-flag: {done.stderr}")
    command.expect(not any(key[0] == "Job" for key in objects(render())), "a Job without a node")


@weft_only
def test_kube_proxy_command_line(cluster):
    """cmd.exe starts kube-proxy with the address that is in the file."""
    pod = daemon_set(plain(PLAIN[1]), "kube-proxy-windows")["spec"]["template"]["spec"]
    shell, *words, line = pod["containers"][0]["command"]
    written = r"%CONTAINER_SANDBOX_MOUNT_POINT%\source-vip\address"
    command.expect(written in line and pod["initContainers"][0]["command"][-1].endswith(">" + written), "one writes what the other reads")
    with tempfile.TemporaryDirectory() as folder:
        lease.write_text(os.path.join(folder, "vip"), "10.244.3.2\r\n")
        inside = f"Z:{folder}".replace("/", "\\")
        line = line.replace(written, f"{inside}\\vip").replace(r"%CONTAINER_SANDBOX_MOUNT_POINT%\kube-proxy\kube-proxy.exe", "echo") \
            .replace("$(NODE_NAME)", "worker-1")
        said = command.run(os.path.join(topology.ROOT, "tests", "wine", "run.sh"), shell, *words, line, timeout=120)
    command.expect("--source-vip=10.244.3.2 --hostname-override=worker-1 --kubeconfig=" in said, f"cmd.exe starts {said!r}")
