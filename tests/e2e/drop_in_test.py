"""The command lines that start upstream's flanneld today, each with exactly the variables and files that it finds there.

They run in a separate root folder in which /etc, /run and /var/lib have no other files. Parts that only Windows has (paths,
SYSTEMROOT) are left out."""

import base64
import secrets

from lab import command, traffic

from cluster import relay
from cluster.cluster import nightly, weft_only
from cluster.member import PATH

NET_CONF = '{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}'
ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"

# As rke2's agent writes it: the authority as a file, the server a load balancer on this machine, the token inline.
RKE2 = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority: /var/lib/rancher/rke2/agent/server-ca.crt
    server: https://127.0.0.1:6443
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    namespace: default
    user: flannel
  name: flannel
current-context: flannel
kind: Config
preferences: {{}}
users:
- name: flannel
  user:
    token: {token}
"""

# As kubeadm writes it: everything inline.
KUBEADM = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {authority}
    server: {server}
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: kubernetes-admin
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
kind: Config
preferences: {{}}
users:
- name: kubernetes-admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def base64_of(path):
    return base64.b64encode(read(path).encode()).decode()


def start(cluster, words, environment, files):
    """b as usual, a with these words, variables and files."""
    a, b = cluster.members["a"], cluster.add("b")
    a.spawn_as(words, environment, files)
    b.spawn()
    a.wait_ready()
    b.wait_ready()
    cluster.settle("start")
    traffic.tcp(a.pod, b.pod, b.pod_ip, 1 << 20)
    return a


def test_rke2(cluster):
    a = cluster.add("a")
    folder = "/var/lib/rancher/rke2/agent"
    with relay.Relay(a.host, 6443, cluster.control.address):
        start(cluster, [f"--kubeconfig-file={folder}/flannel.kubeconfig", "--ip-masq", "--kube-subnet-mgr",
                        "--iptables-forward-rules=false", f"--iface={a.address}", f"--net-config-path={folder}/flanneld-net-conf.json"],
              {"NODE_NAME": "a", "PATH": PATH},
              {f"{folder}/flannel.kubeconfig": RKE2.format(token=a.token), f"{folder}/server-ca.crt": read(cluster.control.path("ca.crt")),
               f"{folder}/flanneld-net-conf.json": NET_CONF})
    command.wait_until(a.subnet_env, "subnet.env is whole")
    command.expect_equal(a.subnet_env()["FLANNEL_IPMASQ"], "true", "FLANNEL_IPMASQ")


def start_in_cluster(cluster, container="", files=(), **variables):
    """As the HostProcess DaemonSet does: in-cluster credentials below the folder `container`, the Node's name by the Pod's."""
    a = cluster.members.get("a") or cluster.add("a")
    cluster.make_pod("kube-flannel-ds-x7k2p", "kube-flannel", node="a")
    token = cluster.control.account_token()
    cluster.secrets.append(token)
    return start(cluster, ["--kube-subnet-mgr", "--iface", a.address],
                 {"PATH": PATH, "POD_NAME": "kube-flannel-ds-x7k2p", "POD_NAMESPACE": "kube-flannel",
                  "KUBERNETES_SERVICE_HOST": cluster.control.address, "KUBERNETES_SERVICE_PORT": "6443", **variables},
                 {f"{container}{ACCOUNT_FOLDER}/token": token, f"{container}{ACCOUNT_FOLDER}/ca.crt": read(cluster.control.path("ca.crt")),
                  "/etc/kube-flannel/net-conf.json": NET_CONF, **dict(files)})


def test_in_cluster(cluster):
    a = start_in_cluster(cluster)
    command.expect_equal(a.subnet_env()["FLANNEL_IPMASQ"], "false", "FLANNEL_IPMASQ")
    command.expect(("get", "pods") in cluster.audit.requested(a), "a never requested its Pod")


@weft_only
def test_host_process(cluster):
    """The container's files lie under a folder of the host's. Upstream needs containerd's bind mounts instead."""
    start_in_cluster(cluster, "/var/lib/containers/4711", CONTAINER_SANDBOX_MOUNT_POINT="/var/lib/containers/4711")


@weft_only
def test_service_without_answer(cluster):
    """Nothing answers at the service's address, as on a Windows node before kube-proxy works. The kubelet's kubeconfig names a server,
    which gets our own token; the kubelet's certificate and token stay unused."""
    control = cluster.control
    control.authority.sign("node-a", "/O=system:nodes/CN=system:node:a", "extendedKeyUsage=clientAuth")
    planted = f"planted-token-of-the-kubelet-{secrets.token_hex(16)}"
    cluster.secrets += [planted, base64_of(control.path("node-a.key"))]
    a = cluster.add("a")
    a.host.ip("route add 10.96.0.1 dev eth0", "neighbour add 10.96.0.1 lladdr 02:00:00:00:00:99 dev eth0")  # packets are lost without an error
    text = KUBEADM.format(server=control.url, authority=base64_of(control.path("ca.crt")), certificate=base64_of(control.path("node-a.crt")),
                          key=base64_of(control.path("node-a.key"))) + f"    token: {planted}\n"
    start_in_cluster(cluster, files={"/etc/kubernetes/kubelet.conf": text}, KUBERNETES_SERVICE_HOST="10.96.0.1")
    users = {row["user"].get("username") for row in cluster.audit.entries(a)}
    command.expect_equal(users, {"system:serviceaccount:kube-flannel:flannel"}, "who a is to the API server")
    service, kubelets = a.status()["source"]["servers"]
    # The limits of one address and of all of them end together.
    silent = "failed: no answer" in service["text"] or "failed: no connection within 10 s" in service["text"]
    command.expect(silent and not service["inUse"], f"the service: {service}")
    command.expect(kubelets["inUse"] and kubelets["server"].startswith(control.url) and "/etc/kubernetes/kubelet.conf" in kubelets["server"],
                   f"the kubelet's server: {kubelets}")


def test_kubeadm(cluster):
    """A client certificate inline, booleans written as 1."""
    a = cluster.add("a")
    control = cluster.control
    control.authority.sign("kubelet", "/CN=system:serviceaccount:kube-flannel:flannel", "extendedKeyUsage=clientAuth")
    cluster.secrets += [line for line in read(control.path("kubelet.key")).splitlines() if "-" not in line]
    cluster.secrets.append(base64_of(control.path("kubelet.key")))
    start(cluster, ["--kubeconfig-file=/etc/k/config", f"--iface={a.address}", "--ip-masq=1", "--kube-subnet-mgr=1"],
          {"NODE_NAME": "a", "PATH": PATH},
          {"/etc/k/config": KUBEADM.format(server=control.url, authority=base64_of(control.path("ca.crt")),
                                           certificate=base64_of(control.path("kubelet.crt")), key=base64_of(control.path("kubelet.key"))),
           "/etc/kube-flannel/net-conf.json": NET_CONF})


@nightly
def test_api_url_over_kubeconfig(cluster):
    """Functional row of upstream: with both, the URL is used."""
    a, b = cluster.add("a"), cluster.add("b")
    a.write_kubeconfig({"token": a.token}, server="https://192.168.80.254:1")
    a.flags["kube-api-url"] = cluster.control.url
    cluster.start(a, b)


def dual_stack(cluster, subnets_of_a, subnets_of_b):
    cluster.families = ("ipv4", "ipv6")
    a, b = cluster.add("a", subnets=subnets_of_a), cluster.add("b", subnets=subnets_of_b)
    for each in (a, b):
        each.net_conf |= {"EnableIPv6": True, "IPv6Network": "fd10:244::/48"}
    cluster.start(a, b)
    for source, sink in ((a, b), (b, a)):
        for family in cluster.families:
            traffic.ping(source.pod, sink.pod_address(family), size=1430, fragment=False)
            traffic.tcp(source.pod, sink.pod, sink.pod_address(family), 8 << 20)


def test_dual_stack(cluster):
    dual_stack(cluster, ["10.244.1.0/24", "fd10:244:0:1::/64"], ["fd10:244:0:2::/64", "10.244.2.0/24"])


@nightly
def test_dual_stack_ipv6_first(cluster):
    dual_stack(cluster, ["fd10:244:0:1::/64", "10.244.1.0/24"], ["10.244.2.0/24", "fd10:244:0:2::/64"])


@nightly
def test_one_family_of_two_subnets(cluster):
    """A Node with both, in a cluster that has IPv4 enabled only."""
    cluster.start(cluster.add("a", subnets=["fd10:244:0:1::/64", "10.244.1.0/24"]), cluster.add("b"))


def test_everything_by_environment(cluster):
    """FLANNELD_ and the flag's name, as the manual promises."""
    a, b = cluster.add("a"), cluster.add("b")
    a.environment |= {"FLANNELD_" + name.upper().replace("-", "_"): str(value) for name, value in a.flags.items()}
    a.command_line = lambda: [a.program()]
    cluster.start(a, b)


