"""Windows nodes under Wine: ours, and the real Windows programs, unchanged, all on the HNS emulator."""

import ipaddress
import json
import os

from lab import command, daemon, peers

from cluster import windows
from cluster.cluster import nightly


def node(cluster, kind=windows.Upstream, prepare=lambda a, b: None):
    """Upstream's flanneld.exe on a, or ours, ready, next to upstream's Linux flanneld on b; `prepare`: before both start."""
    a, b = cluster.add("a", kind=kind), cluster.add("b")
    prepare(a, b)
    b.spawn()
    a.spawn()
    a.wait_ready()
    b.wait_ready()
    cluster.settle("flanneld.exe joins", with_traffic=False)
    return a, b


@nightly
def test_flanneld_vxlan(cluster):
    """Its network, its subnet.env, a route for each Linux peer, removed with the peer."""
    a, _ = node(cluster)
    network = a.network()
    command.expect_equal((network["type"], network["flags"], network["adapter"]), ("Overlay", 8, "eth0"), "the network")
    command.expect_equal(network["ipams"][0]["Subnets"][0]["IpAddressPrefix"], "10.244.1.0/24", "its subnet")
    command.expect_equal(len(a.policies("HostRoute")), 1, "HostRoute policies")
    command.expect_equal(a.subnet_env()["FLANNEL_SUBNET"], "10.244.1.1/24", "FLANNEL_SUBNET")
    command.expect_equal(a.hns("handles")["misuses"], 0, "handles that were used wrongly")
    command.expect(a.hns("calls")["functions"].get("HNSCall GET /globals/version"), "no program called vmcompute.dll for the version")
    cluster.bystander("far", "10.244.9.0/24")
    cluster.settle("far joins", with_traffic=False)
    cluster.api.delete_node("far")
    cluster.settle("far leaves", with_traffic=False)


def shape(network):
    """A network in HNS, without values that HNS or the time chose; policies by type and settings."""
    chosen = ("id", "dr_mac", "dr_mac_from_ms", "mac_block", "link_local_until_ms", "management_from_ms", "endpoints_made")
    network = {key: value for key, value in network.items() if key not in chosen}
    network["policies"] = sorted((json.dumps(each, sort_keys=True) for each in network["policies"]))
    return network


def test_weft_vxlan(cluster):
    """Ours makes the same objects in HNS as upstream's, with fewer calls; and restarts of HNS are repaired."""
    a, _ = node(cluster)
    theirs, their_calls = shape(a.network()), a.hns("calls")["total"]
    a.down()
    a.hns("restart", "networks=lost")
    a.flavour = windows.Weft.flavour
    a.spawn()
    a.wait_ready()
    cluster.settle("flanneld.exe of ours starts on an empty HNS", with_traffic=False)
    command.expect_equal(shape(a.network()), theirs, "what HNS holds")
    calls = a.hns("calls")["total"] - their_calls
    command.expect(calls < their_calls, f"{calls} calls, upstream made {their_calls}")
    command.expect_equal(a.hns("handles")["misuses"], 0, "handles that were used wrongly")
    cluster.bystander("far", "10.244.9.0/24")
    cluster.settle("far joins", with_traffic=False)
    cluster.api.delete_node("far")
    cluster.settle("far leaves", with_traffic=False)
    for networks in ("kept", "lost"):
        a.hns("restart", f"networks={networks}", "routes_kept=false", "endpoints_kept=false", "load_balancers_kept=false")
        cluster.settle(f"HNS restarts, networks {networks}, routes lost", with_traffic=False)


def test_weft_host(cluster):
    """On the emulated host: the first network moves the node's address, a static route follows it, the firewall allows the tunnel; the
    node recovers after a reboot."""
    a, b = cluster.add("a", kind=windows.Weft), cluster.add("b")
    a.emulated_host = True
    a.hns("put-route", "destination=10.8.0.0/16", f"gateway={b.address}", "adapter=eth0")
    b.spawn()
    a.spawn()
    a.wait_ready()
    b.wait_ready()
    cluster.settle("flanneld.exe of ours starts on an emulated machine", with_traffic=False)
    adapters = {each["name"]: each for each in a.hns("host")["adapters"]}
    command.expect_equal(adapters["vEthernet (eth0)"]["addresses"], [f"{a.address}/24"], "the addresses of the switch's adapter")
    command.expect_equal(adapters["eth0"]["addresses"], [], "the addresses of the NIC")

    def route():
        return [each["adapter"] for each in a.hns("host")["routes"] if each["destination"] == "10.8.0.0/16"] == [adapters["vEthernet (eth0)"]["index"]]

    command.wait_until(route, lambda: f"no static route on the switch's adapter: {a.hns('host')['routes']}", timeout=10)
    command.expect_equal(a.hns("host")["firewall"], [{"name": "OverlayTraffic4789UDP", "udpPort": 4789, "group": "weft"}], "the firewall's rules")
    a.hns("reboot")
    cluster.settle("the machine has rebooted", with_traffic=False)
    a.down()
    a.reset()
    command.expect_equal((a.hns("host")["firewall"], a.hns("dump")["networks"]), ([], []), "the firewall's rules and the networks after a reset")


def modifying(a):
    """How often each function of HNS that changes something was called."""
    return {name: count for name, count in a.hns("calls")["functions"].items()
            if any(word in name for word in ("Create", "Modify", "Delete", "POST", "DELETE")) and "Namespace" not in name}


def test_weft_takes_over(cluster):
    """Ours takes over upstream's network without a change in HNS, and upstream takes over ours; twice, with the endpoint of a pod."""
    a, _ = node(cluster)
    a.wine(windows.our("flannelctl"), "hns", "endpoint", "add", f"--network={a.network()['name']}", "--ip=10.244.1.7", "--name=pod")
    before = a.hns("dump")
    endpoints = [each["id"] for each in before["endpoints"]]
    command.expect(modifying(a) and endpoints, f"what upstream did is not counted: {a.hns('calls')}")
    for flavour in (windows.Weft.flavour, windows.Upstream.flavour) * 2:
        a.down()
        a.flavour = flavour
        calls = modifying(a)
        held = a.hns("dump")
        a.spawn()
        a.wait_ready()
        cluster.settle(f"{flavour} takes over", with_traffic=False)
        if flavour == windows.Weft.flavour:
            command.expect_equal(modifying(a), calls, "calls of ours that change HNS")
            command.expect_equal(a.hns("dump"), held, "all that HNS holds")
        # Upstream deletes each route and adds it again.
        command.expect_equal(shape(a.network()), shape(before["networks"][0]), f"the network after {flavour}")
        command.expect_equal([each["id"] for each in a.hns("dump")["endpoints"]], endpoints, f"endpoints after {flavour}")


def test_weft_reset(cluster):
    """Our objects are deleted, and upstream's stay; a second run does no harm, and a fresh start makes all of them again."""
    a, b = cluster.add("a", kind=windows.Weft), cluster.add("b")
    b.spawn()
    for _ in range(2):
        a.spawn()
        a.wait_ready()
        cluster.settle("flanneld.exe of ours starts on an empty HNS", with_traffic=False)
        made = shape(a.network())
        a.reset(check=False)
        command.expect_equal(shape(a.network()), made, "the network after a reset while flanneld.exe runs")
        a.down()
        a.reset("--dry-run")
        command.expect_equal(shape(a.network()), made, "the network after a dry run")
        for _ in range(2):
            a.reset()
            command.expect_equal(a.hns("dump")["networks"], [], "networks after a reset")
    for flavour in (windows.Upstream.flavour, windows.Weft.flavour):
        a.flavour = flavour
        a.spawn()
        a.wait_ready()
        cluster.settle(f"{flavour} starts", with_traffic=False)
        a.down()
    a.reset()
    command.expect_equal(shape(a.network()), made, "upstream's network after a reset of ours")


POD_NAMESPACE = "11112222-3333-4444-5555-666677778888"


def make_namespace(a):
    """A pod's network namespace, which on a real node the container runtime requests from HNS."""
    state = a.hns("dump")
    state["namespaces"].append({"id": POD_NAMESPACE, "type": "Guest", "compartment": 0, "endpoints": [], "containers": []})
    a.hns("load", f"state={json.dumps(state)}")


def overlay_config(a):
    """As flannel's CNI plugin hands it on to win-overlay."""
    return {"cniVersion": "1.0.0", "name": windows.NETWORK, "type": "win-overlay", "apiVersion": 2, "ipMasq": True,
            "endpointMacPrefix": "0E-2A", "clusterNetworkPrefix": "10.244.0.0/16",
            "policies": [{"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.244.0.0/16"]}}}],
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24"}]], "dataDir": windows.windows_path(a.path("ipam"))}}


def test_win_overlay(cluster):
    """A pod's endpoint exists on flanneld.exe's network, in the pod's namespace, while the pod lives."""
    a, _ = node(cluster)
    make_namespace(a)
    answer = a.plugin("win-overlay.exe", "ADD", overlay_config(a), "c1", POD_NAMESPACE)
    address = answer["ips"][0]["address"].split("/")[0]
    state = a.hns("dump")
    command.expect_equal(len(state["endpoints"]), 1, "endpoints")
    endpoint = state["endpoints"][0]
    command.expect_equal((endpoint["network"], endpoint["namespace"]), (a.network()["id"], POD_NAMESPACE), "where the endpoint stands")
    command.expect_equal(endpoint["addresses"][0]["ip"], address, "the endpoint's address")
    command.expect_equal(state["namespaces"][0]["endpoints"], [endpoint["id"]], "the namespace's endpoints")
    for _ in range(2):  # the second finds nothing, and is content
        a.plugin("win-overlay.exe", "DEL", overlay_config(a), "c1", POD_NAMESPACE)
    command.expect_equal(a.hns("dump")["endpoints"], [], "endpoints after DEL")
    command.expect_equal(a.hns("handles")["open"], 0, "handles that plugins left, which have ended")


def rendered(a, *flags):
    """The plugin's part of what `flannelctl cni render` prints, as containerd passes it on."""
    text = a.wine(windows.our("flannelctl"), "cni", "render", "--admin=none", "--service-cidr=10.96.0.0/12", f"--subnet-file={a.flags['subnet-file']}",
                  f"--net-config-path={a.flags['net-config-path']}", *flags)
    config = json.loads(text)
    command.expect_equal(len(config["plugins"]), 1, "plugins")
    return {"cniVersion": config["cniVersion"], "name": config["name"], **config["plugins"][0]}


def test_sdnoverlay(cluster):
    """Microsoft's plugin, with the configuration that flannelctl.exe renders: a pod whose packets are encapsulated with the node's address."""
    a, _ = node(cluster, windows.Weft)
    make_namespace(a)
    config = rendered(a, "--plugin=sdnoverlay", f"--node-address={a.address}", "--encap-overhead")
    pod = a.plugin("sdnoverlay.exe", "ADD", config, "c1", POD_NAMESPACE)["ips"][0]["address"].split("/")[0]
    state = a.hns("dump")
    command.expect_equal(len(state["networks"]), 1, "networks: the plugin takes flanneld's")
    endpoint = next(each for each in state["endpoints"] if each["addresses"][0]["ip"] == pod)
    command.expect_equal((endpoint["network"], endpoint["namespace"]), (a.network()["id"], POD_NAMESPACE), "where the endpoint stands")
    settings = {each["Type"]: each["Settings"] for each in endpoint["policies"]}
    command.expect_equal(settings["ProviderAddress"]["ProviderAddress"], a.address, "ProviderAddress")
    command.expect_equal(settings["OutBoundNAT"]["Exceptions"], ["10.244.0.0/16", "10.96.0.0/12"], "OutBoundNAT")
    command.expect_equal(settings["SDNRoute"], {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}, "SDNRoute")
    command.expect_equal(settings["EncapOverhead"], {"Overhead": 50}, "EncapOverhead")
    a.plugin("sdnoverlay.exe", "DEL", config, "c1", POD_NAMESPACE)
    command.expect_equal(a.hns("dump")["endpoints"], [], "endpoints after DEL")


def flannel(a, verb, subnet_file, check=True):
    """Flannel's CNI plugin as the runtime runs it, from the drive where its folders of fixed names are the node's own."""
    config = {"cniVersion": "0.3.1", "name": windows.NETWORK, "type": "flannel", "subnetFile": subnet_file,
              "dataDir": windows.windows_path(a.path("flannel")),
              "delegate": {"type": "win-overlay", "apiVersion": 2, "endpointMacPrefix": "0E-2A"}}
    folders = [os.path.dirname(os.path.realpath(peers.find(name))) for name in ("win-overlay.exe", "host-local.exe")]
    line = rf"c: & cd \ & {windows.windows_path(os.path.realpath(peers.find('flannel.exe')))}"
    text = a.wine("cmd", "/c", line, stdin=json.dumps(config), check=check, CNI_COMMAND=verb, CNI_CONTAINERID="c1", CNI_NETNS=POD_NAMESPACE,
                  CNI_IFNAME="eth0", CNI_PATH=";".join(windows.windows_path(folder) for folder in folders))
    return json.loads(text) if text.strip() else None


def test_flannel_cni(cluster):
    """Flannel's own plugin reads the subnet.env that our flanneld.exe wrote, and hands it on to win-overlay.exe: a pod of that subnet and that network."""
    a, _ = node(cluster, windows.Weft)
    make_namespace(a)
    missing = flannel(a, "ADD", windows.windows_path(a.path("no-subnet.env")), check=False)
    command.expect("no-subnet.env" in missing["msg"], f"without subnet.env it prints {missing}")
    command.expect_equal(a.hns("dump")["endpoints"], [], "endpoints without subnet.env")
    answer = flannel(a, "ADD", a.flags["subnet-file"])
    state = a.hns("dump")
    command.expect_equal(len(state["endpoints"]), 1, "endpoints")
    endpoint = state["endpoints"][0]
    address = ipaddress.ip_interface(answer["ips"][0]["address"])
    command.expect_equal(str(address.network), str(ipaddress.ip_interface(a.subnet_env()["FLANNEL_SUBNET"]).network), "the pod's subnet")
    command.expect_equal(endpoint["addresses"][0]["ip"], str(address.ip), "the endpoint's address")
    command.expect_equal((endpoint["network"], endpoint["namespace"]), (a.network()["id"], POD_NAMESPACE), "where the endpoint stands")
    command.expect_equal(a.subnet_env()["FLANNEL_IPMASQ"], "true", "FLANNEL_IPMASQ")
    command.expect("OutBoundNAT" in [each["Type"] for each in endpoint["policies"]], f"no masquerading: {endpoint['policies']}")
    for _ in range(2):  # the second finds nothing, and is content
        flannel(a, "DEL", a.flags["subnet-file"])
    command.expect_equal(a.hns("dump")["endpoints"], [], "endpoints after DEL")


def make_service(cluster, name, address, **pods):
    """Service `name` at address:80 with the backends `pods`: {node: address}."""
    cluster.api.request("POST", "/api/v1/namespaces/default/services", {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"clusterIP": address, "ports": [{"port": 80, "targetPort": 8080}]}})
    cluster.api.request("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name}}, "ports": [{"port": 8080}],
        "endpoints": [{"addresses": [pod], "conditions": {"ready": True}, "nodeName": node} for node, pod in pods.items()]})


def forget_service(cluster, name):
    for path in (f"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/{name}-1", f"/api/v1/namespaces/default/services/{name}"):
        cluster.api.request("DELETE", path)


def behind(a, address):
    """{pod address: (remote?, provider address)} of the load balancer that kube-proxy makes for a service's address."""
    def balanced():
        return [each for each in a.hns("dump")["load_balancers"] if address in json.dumps(each)]

    balancer = command.wait_until(balanced, lambda: f"no load balancer for {address}; {a.program_log('kube-proxy.exe')}", timeout=60)[0]
    found = {}
    for endpoint in a.hns("dump")["endpoints"]:
        if endpoint["id"] in balancer["endpoints"]:
            providers = [each["Settings"]["ProviderAddress"] for each in endpoint["policies"] if each["Type"] == "ProviderAddress"]
            found[endpoint["addresses"][0]["ip"]] = (bool(endpoint["flags"] & 1), *providers[:1])
    return found


def start_kube_proxy(cluster, a, network=windows.NETWORK, rendered=False):
    """The real one, as an administrator: its permissions are not tested. `rendered`: flannelctl sets mode, network and source VIP."""
    cluster.api.patch_node_status("a", {"status": {"addresses": [{"type": "InternalIP", "address": a.address}]}})
    config = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "kernelspace",
              "hostnameOverride": "a", "clusterCIDR": cluster.network, "featureGates": {"WinOverlay": True},
              "clientConnection": {"kubeconfig": a.write("admin.kubeconfig", a.administrator())},
              "winkernel": {"sourceVip": "10.244.1.200", "networkName": network},
              "healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249"}
    text = json.dumps(config)
    if rendered:
        for key in ("mode", "featureGates", "winkernel"):
            del config[key]
        text = source_vip(a, "-o", "kube-proxy-config", f"--kube-proxy-config={a.write('cluster.conf', json.dumps(config))}")
    return a.start_program("kube-proxy.exe", f"--config={a.write('kube-proxy.yaml', text)}", "--v=4")


@nightly
def test_kube_proxy(cluster):
    """It finds flanneld.exe's network and routes: a service's pod on the Linux node is a remote endpoint behind that node."""
    a, b = node(cluster)
    ours = a.endpoint("add", f"--network={windows.NETWORK}", "--ip=10.244.2.6", "--remote").strip()
    make_service(cluster, "web", "10.96.0.50", b="10.244.2.5")
    make_service(cluster, "known", "10.96.0.51", b="10.244.2.6")
    try:
        start_kube_proxy(cluster, a)
        command.expect_equal(behind(a, "10.96.0.50"), {"10.244.2.5": (True, b.address)}, "the service's endpoints")
        addresses = [each["addresses"][0]["ip"] for each in a.hns("dump")["endpoints"]]
        command.expect("10.244.1.200" in addresses, "no endpoint for the source VIP")
        command.expect_equal(behind(a, "10.96.0.51"), {"10.244.2.6": (True, b.address)}, "a service's endpoints that flannelctl made")
        command.expect_equal([each["id"] for each in a.hns("dump")["endpoints"] if each["addresses"][0]["ip"] == "10.244.2.6"], [ours],
                             "kube-proxy.exe takes the endpoint that stands")
    finally:
        for name in ("web", "known"):
            forget_service(cluster, name)


def test_weft_node(cluster):
    """A whole node, each program a process of its own on one HNS: our flanneld.exe, win-overlay.exe, kube-proxy.exe."""
    a, b = node(cluster, windows.Weft)
    make_namespace(a)
    answer = a.plugin("win-overlay.exe", "ADD", overlay_config(a), "c1", POD_NAMESPACE)
    pod = answer["ips"][0]["address"].split("/")[0]
    services = {"before": "10.96.0.50", "kept": "10.96.0.51", "lost": "10.96.0.52"}
    made = []
    try:
        make_service(cluster, "before", services["before"], a=pod, b="10.244.2.5")
        made.append("before")
        start_kube_proxy(cluster, a)
        found = behind(a, services["before"])
        command.expect_equal(found.get("10.244.2.5"), (True, b.address), "the pod behind the Linux node")
        command.expect_equal(found.get(pod, (None,))[0], False, "the pod of this node")
        for networks in ("kept", "lost"):
            a.hns("restart", f"networks={networks}", "routes_kept=false", "endpoints_kept=false", "load_balancers_kept=false")
            cluster.settle(f"HNS restarts, networks {networks}", with_traffic=False)
            make_service(cluster, networks, services[networks], b="10.244.2.6")
            made.append(networks)
            command.expect_equal(behind(a, services[networks]), {"10.244.2.6": (True, b.address)}, f"a service after HNS's restart, networks {networks}")
    finally:
        for name in made:
            forget_service(cluster, name)


UNKNOWN_INTERFACE = "0x800706B5"  # RPC_S_UNKNOWN_IF: HNS does not run, or starts


def proxys_objects(a):
    """Ids of the load balancers and the remote endpoints: on an overlay with weft, kube-proxy makes all of them."""
    state = a.hns("dump")
    return {each["id"] for each in (*state["load_balancers"], *(each for each in state["endpoints"] if each["flags"] & 1))}


def test_hns_is_away(cluster):
    """While HNS answers RPC_S_UNKNOWN_IF, kube-proxy.exe leaves its rules as they are (until 1.36 it took the network for lost and deleted them);
    so they survive if flanneld.exe leaves its network as it is, too. Services that change meanwhile work afterwards."""
    a, b = node(cluster, windows.Weft)
    a.hns("set", f"settings={json.dumps({'stopped_code': UNKNOWN_INTERFACE})}")
    services = {"before": "10.96.0.50", "meanwhile": "10.96.0.51"}
    made = []
    try:
        make_service(cluster, "before", services["before"], b="10.244.2.5")
        made.append("before")
        start_kube_proxy(cluster, a)
        command.expect_equal(behind(a, services["before"]), {"10.244.2.5": (True, b.address)}, "the service's endpoints")
        network, objects = a.network(), proxys_objects(a)
        a.hns("stop")
        make_service(cluster, "meanwhile", services["meanwhile"], b="10.244.2.6")
        made.append("meanwhile")
        noticed = "network is not present" if peers.OLDEST else "HNS is not running"
        log = a.program_log("kube-proxy.exe")
        command.wait_until(lambda: noticed in daemon.text(log), lambda: f"kube-proxy.exe does not notice that HNS is away: {log}", timeout=60)
        a.hns("start")
        for name, pod in (("before", "10.244.2.5"), ("meanwhile", "10.244.2.6")):
            command.expect_equal(behind(a, services[name]), {pod: (True, b.address)}, f"service {name!r}, once HNS is back")
        cluster.settle("HNS is back", with_traffic=False)
        command.expect_equal((a.network()["id"], shape(a.network())), (network["id"], shape(network)), "the network")
        if not peers.OLDEST:
            command.expect_equal(objects - proxys_objects(a), set(), "what kube-proxy.exe had made, and is gone")
    finally:
        for name in made:
            forget_service(cluster, name)


def host_local(a, verb, container, last="10.244.1.6", check=True, **config):
    """The real host-local on the store where flanneld.exe reserves, in a range of a few addresses: its answer."""
    config = {"cniVersion": "1.0.0", "name": windows.NETWORK, **config,
              "ipam": {"type": "host-local", "dataDir": STORE, "ranges": [[{"subnet": "10.244.1.0/24", "rangeEnd": last}]]}}
    text = a.wine(peers.find("host-local.exe"), stdin=json.dumps(config), check=check, CNI_COMMAND=verb, CNI_CONTAINERID=container, CNI_NETNS="none",
                  CNI_IFNAME="eth0", CNI_PATH="c:")
    return json.loads(text) if text.strip() else None


STORE = r"C:\var\lib\cni\networks"


def source_vip(a, *words, check=True):
    return a.wine(windows.our("flannelctl"), "source-vip", "--admin=none", f"--subnet-file={a.flags['subnet-file']}", *words, check=check)


def test_source_vip(cluster):
    """The real host-local never gives out the source VIP that flanneld.exe reserved, nor flanneld.exe an address of a pod; the real
    kube-proxy.exe starts with the configuration that flannelctl.exe renders."""
    a, b = cluster.add("a", kind=windows.Weft), cluster.add("b")
    first = host_local(a, "ADD", "early")["ips"][0]["address"]
    command.expect_equal(first, "10.244.1.2/24", "the address of a pod that was there before")
    b.spawn()
    a.spawn()
    a.wait_ready()
    b.wait_ready()
    vip = source_vip(a).strip()
    command.expect_equal(vip, "10.244.1.3", "the source VIP")
    given = [host_local(a, "ADD", f"pod{i}")["ips"][0]["address"] for i in range(3)]
    command.expect_equal(given, ["10.244.1.4/24", "10.244.1.5/24", "10.244.1.6/24"], "what host-local gives out")
    refused = host_local(a, "ADD", "one-more", check=False)
    command.expect("no IP addresses available" in refused["msg"], f"host-local: {refused}")
    host_local(a, "DEL", "early")
    a.down()
    a.spawn()
    a.wait_ready()
    command.expect_equal(source_vip(a).strip(), vip, "the source VIP after a restart")
    command.expect_equal(host_local(a, "ADD", "late")["ips"][0]["address"], first, "the address that was released")
    make_service(cluster, "web", "10.96.0.50", b="10.244.2.5")
    try:
        start_kube_proxy(cluster, a, rendered=True)
        command.expect_equal(behind(a, "10.96.0.50"), {"10.244.2.5": (True, b.address)}, "the service's endpoints")
        made = [each for each in a.hns("dump")["endpoints"] if each["addresses"][0]["ip"] == vip]
        command.expect_equal([(each["name"], each["namespace"], each["flags"] & 1) for each in made], [("", "00000000-0000-0000-0000-000000000000", 0)],
                             "kube-proxy.exe's endpoint of the source VIP, as it is recognized")
    finally:
        forget_service(cluster, "web")


def collect_garbage(a, *living):
    """As a runtime of CNI 1.1: releases the addresses of all containers but the living."""
    attachments = [{"containerID": each, "ifname": "eth0"} for each in living]
    host_local(a, "GC", "", cniVersion="1.1.0", **{"cni.dev/valid-attachments": attachments})


def test_source_vip_and_gc(cluster):
    """host-local's GC takes the source VIP for a dead container's address: flanneld.exe reserves the same one again, before a pod gets it,
    also that of kube-proxy.exe's endpoint at its next start; kube-proxy.exe goes on with it."""
    a = cluster.add("a", kind=windows.Weft)
    host_local(a, "ADD", "early")
    a.spawn()
    a.wait_ready()
    vip = source_vip(a).strip()
    command.expect_equal(vip, "10.244.1.3", "the source VIP")
    start_kube_proxy(cluster, a, rendered=True)

    def in_hns():
        return [each["id"] for each in a.hns("dump")["endpoints"] if each["addresses"][0]["ip"] == vip]

    made = command.wait_until(in_hns, lambda: f"kube-proxy.exe makes no endpoint {vip}; {a.program_log('kube-proxy.exe')}", timeout=60)
    file = a.drive(f"var/lib/cni/networks/{windows.NETWORK}/{vip}")
    old = os.stat(file).st_mtime_ns
    collect_garbage(a, "early")
    command.wait_until(lambda: os.path.exists(file) and os.stat(file).st_mtime_ns > old, lambda: f"{vip} is not released and reserved again", timeout=10)
    given = [host_local(a, "ADD", f"pod{i}")["ips"][0]["address"] for i in range(3)]
    command.expect_equal(given, ["10.244.1.4/24", "10.244.1.5/24", "10.244.1.6/24"], "what host-local gives out after its GC")
    refused = host_local(a, "ADD", "one-more", check=False)
    command.expect("no IP addresses available" in refused["msg"], f"host-local: {refused}")
    command.expect_equal((source_vip(a).strip(), in_hns()), (vip, made), "the source VIP, and kube-proxy.exe's endpoint of it")

    # While no container lives, lower addresses become free, too; then also while no flanneld.exe runs.
    old = os.stat(file).st_mtime_ns
    collect_garbage(a)
    command.wait_until(lambda: os.path.exists(file) and os.stat(file).st_mtime_ns > old, lambda: f"{vip} is not released and reserved again", timeout=10)
    command.expect_equal(source_vip(a).strip(), vip, "the source VIP after a GC without containers")
    a.down()
    collect_garbage(a)
    command.expect(not os.path.exists(file), f"{vip} is not released")
    a.spawn()
    a.wait_ready()
    command.wait_until(lambda: os.path.exists(file), lambda: f"{vip} is not reserved again: {os.listdir(os.path.dirname(file))}", timeout=10)
    given = [host_local(a, "ADD", f"new{i}")["ips"][0]["address"] for i in range(4)]
    command.expect_equal(sorted(given), [f"10.244.1.{i}/24" for i in (2, 4, 5, 6)], "what host-local gives out then")
    command.expect_equal((source_vip(a).strip(), in_hns()), (vip, made), "the source VIP, and kube-proxy.exe's endpoint of it, after that")


if peers.OLDEST:  # host-local has no GC there
    del test_source_vip_and_gc


def make_bridge(a):
    """An L2Bridge network as host-gw needs it, made by hand: upstream's makes its own through PowerShell, which Wine has not."""
    state = a.hns("dump")
    state["networks"].append({
        "id": "22223333-4444-5555-6666-777788889999", "name": "cbr0", "type": "L2Bridge", "flags": 0, "dns": {}, "policies": [],
        "dr_mac": "", "mac_block": "00-15-5D-00-0", "adapter": "eth0", "adapter_named": True, "management_from_ms": 0,
        "first_management_ip": a.address, "endpoints_made": 0,
        "ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.244.1.0/24",
                                                  "Routes": [{"NextHop": "10.244.1.2", "DestinationPrefix": "0.0.0.0/0"}]}]}]})
    a.hns("load", f"state={json.dumps(state)}")


@nightly
def test_win_bridge(cluster):
    """A pod's endpoint on an L2Bridge network, which win-bridge finds by its name."""
    a = cluster.add("a", kind=windows.Upstream)
    make_bridge(a)
    make_namespace(a)
    addresses = {"subnet": "10.244.1.0/24", "rangeStart": "10.244.1.3", "gateway": "10.244.1.2"}  # .2 is the bridge's own
    config = {"cniVersion": "1.0.0", "name": "cbr0", "type": "win-bridge", "apiVersion": 2,
              "ipam": {"type": "host-local", "ranges": [[addresses]], "dataDir": windows.windows_path(a.path("ipam"))}}
    answer = a.plugin("win-bridge.exe", "ADD", config, "c1", POD_NAMESPACE)
    address = answer["ips"][0]["address"].split("/")[0]
    endpoint = a.hns("dump")["endpoints"][0]
    command.expect_equal((endpoint["network"], endpoint["namespace"]), (a.network("cbr0")["id"], POD_NAMESPACE), "where it stands")
    command.expect_equal(endpoint["addresses"][0]["ip"], address, "its address")
    a.plugin("win-bridge.exe", "DEL", config, "c1", POD_NAMESPACE)
    command.expect_equal(a.hns("dump")["endpoints"], [], "endpoints after DEL")


@nightly
def test_hcsshim(cluster):
    """The library that all Go programs use parses every answer: v2 and v1, found, not found, already exists."""
    a = cluster.add("a", kind=windows.Upstream)
    read = json.loads(a.wine(peers.find("hcsshim-probe.exe")))
    routes = [each["Settings"] for each in read.pop("policies") if each["Type"] == "RemoteSubnetRoute"]
    command.expect_equal([each["DestinationPrefix"] for each in routes], ["10.245.9.0/24"], "routes")
    command.expect_equal(read, {"version": "13.3", "type": "Overlay", "attached": True, "alreadyExists": True, "notFound": True,
                                "v1Subnet": "10.245.3.0/24", "v1Type": "Overlay", "left": 0}, "what it understood")
    command.expect_equal(a.hns("handles"), {"misuses": 0, "open": 0}, "handles")
