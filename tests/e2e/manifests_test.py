"""The chart, the kustomize bases and the plain YAML: one content, accepted by the API server, with command lines that flanneld takes."""

import copy
import filecmp
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

# VALUE: another than in EVERYTHING or the defaults, and what only then is rendered; None: a part is gone.
VALUES = {
    "global.imagePullSecrets": ([{"name": "my-secret"}], "- name: my-secret"),
    "podCidr": ("10.9.0.0/16", '"Network": "10.9.0.0/16"'),
    "podCidrv6": ("fd00:9::/56", '"IPv6Network": "fd00:9::/56"'),
    "netConf.existingConfigMap": ("my-conf", "name: my-conf"),
    "flannel.image.repository": ("example/linux", "image: example/linux:"),
    "flannel.image.tag": ("v9", "localhost/weft-linux:v9"),
    "flannel.args": (["--kube-subnet-mgr", "--v=9"], "--v=9"),
    "flannel.enableNFTables": (True, '"EnableNFTables": true'),
    "flannel.backend": ("host-gw", '"Type": "host-gw"'),
    "flannel.vni": (4097, '"VNI": 4097'),
    "flannel.backendPort": (4790, '"Port": 4790'),
    "flannel.mtu": (1400, '"MTU": 1400'),
    "flannel.directRouting": (True, '"DirectRouting": true'),
    "flannel.macPrefix": ("0E-2A", '"MacPrefix": "0E-2A"'),
    "flannel.healthz.port": (10244, "containerPort: 10244"),
    "flannel.healthz.livenessProbe": ({"periodSeconds": 31}, "periodSeconds: 31"),
    "flannel.healthz.readinessProbe": ({"periodSeconds": 11}, "periodSeconds: 11"),
    "flannel.resources": ({"limits": {"memory": "99Mi"}}, "memory: 99Mi"),
    "flannel.tolerations": ([{"key": "my-taint", "operator": "Exists"}], "key: my-taint"),
    "flannel.nodeSelector": ({"my-label": "yes"}, "my-label:"),
    "linux.enabled": (False, None),
    "windows.enabled": (False, None),
    "windows.image.repository": ("example/windows", "image: example/windows:"),
    "windows.image.tag": ("v9", "localhost/weft-windows:v9"),
    "windows.args": (["--iface=10.0.0.8"], "--iface=10.0.0.8"),
    "windows.apiServer.host": ("10.0.0.9", 'value: "10.0.0.9"'),
    "windows.apiServer.port": (443, 'value: "443"'),
    "windows.runAsUserName": ("NT AUTHORITY\\Local service", "Local service"),
    "windows.priorityClassName": ("my-class", "priorityClassName: my-class"),
    "windows.maxUnavailable": ("25%", "maxUnavailable: 25%"),
    "windows.resources": ({"limits": {"memory": "88Mi"}}, "memory: 88Mi"),
    "windows.tolerations": ([{"key": "my-taint", "operator": "Exists"}], "key: my-taint"),
    "windows.nodeSelector": ({"my-label": "yes"}, "my-label:"),
    "windows.cni.install": (False, None),
    "windows.cni.serviceCidr": ("10.99.0.0/16", "--service-cidr=10.99.0.0/16"),
    "windows.cni.args": (["--loopback-dsr"], "net-conf.json --loopback-dsr"),
    "windows.cleanup.nodes": (["win7"], 'nodeName: "win7"'),
    "windows.cleanup.args": (["--keep-vswitch"], "--keep-vswitch"),
    "windows.kubeProxy.enabled": (False, None),
    "windows.kubeProxy.image.repository": ("example/proxy", "image: example/proxy:"),
    "windows.kubeProxy.image.tag": ("v9", "kube-proxy:v9"),
    "windows.kubeProxy.networkName": ("cbr0", 'value: "cbr0"'),
    "windows.kubeProxy.args": (["--v=8"], "--v=8"),
    "namespace.create": (False, None),
    "rbac.create": (False, None),
    "serviceAccount.create": (False, None),
    "serviceAccount.name": ("my-account", "serviceAccountName: my-account"),
    "podMonitor.enabled": (False, None),
    "podMonitor.interval": ("77s", "interval: 77s"),
    "podMonitor.labels": ({"my-label": "yes"}, "my-label:"),
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
    whole = {path for path, (value, _) in VALUES.items() if isinstance(value, (dict, list))}

    def leaves(value, path=""):
        if path in whole or not isinstance(value, dict):
            return {path}
        return set().union(*(leaves(inner, f"{path}.{name}".lstrip(".")) for name, inner in value.items()))

    command.expect_equal(leaves(defaults), set(VALUES), "the values of values.yaml, against those of this test")
    before = render(nested(EVERYTHING))
    there = objects(before)
    for path, (value, expected) in VALUES.items():
        after = render(nested(EVERYTHING | {path: value}))
        if expected is None:
            left = objects(after)
            command.expect(left and len(after) < len(before), f"{path}: nothing is gone")
            command.expect(len(left) == len(there) or {key: each for key, each in there.items() if key in left} == left, f"what {path} leaves")
        else:
            command.expect(expected in after and expected not in before, f"{path}: {expected!r} is not what it renders")


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
