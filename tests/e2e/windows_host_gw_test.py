"""host-gw on a Windows node under Wine: ours and upstream's flanneld.exe, win-bridge.exe and kube-proxy.exe, unchanged, on one HNS emulator."""

import json

from lab import command, lease

from cluster import windows
from windows_test import POD_NAMESPACE, behind, forget_service, make_namespace, make_service, rendered, shape, start_kube_proxy

BRIDGE_ADDRESS = "10.244.1.2"


def nodes(cluster, kind):
    a, b = cluster.add("a", kind=kind), cluster.add("b")
    for each in (a, b):
        each.net_conf["Backend"] = {"Type": "host-gw"}
    a.emulated_host = True  # ours; upstream's sees Wine's adapters, and uses PowerShell for the rest
    return a, b


def start(*members):
    for each in members:
        each.spawn()
    for each in members:
        each.wait_ready()


def machine(a):
    """Of the emulated machine: {pod network: gateway}, and the addresses of the adapters that forward."""
    host = a.hns("host")
    routes = {each["destination"]: each["gateway"] for each in host["routes"] if "gateway" in each and not each["destination"].endswith("/0")}
    return routes, sorted(address.split("/")[0] for each in host["adapters"] if each.get("forwardingIPv4") for address in each["addresses"])


def wait_for_machine(a, b, what):
    expected = ({"10.244.2.0/24": b.address}, sorted((a.address, BRIDGE_ADDRESS)))
    command.wait_until(lambda: machine(a) == expected, lambda: f"{what}: {machine(a)} instead of {expected}; {a.last_words()}", timeout=30)


def endpoints(a):
    """Without what HNS chose."""
    return [{key: value for key, value in each.items() if key not in ("id", "mac", "network")} for each in a.hns("dump")["endpoints"]]


def test_like_upstream(cluster):
    """Ours takes over the objects of upstream's in HNS and on the host unchanged, and makes the same ones itself."""
    a, b = nodes(cluster, windows.Upstream)
    a.use_powershell()
    # The adapter that HNS makes for the endpoint, where Wine finds it.
    a.host.ip("link add cbr0_ep type veth peer name far", "link set far up", "link set cbr0_ep up", f"addr add {BRIDGE_ADDRESS}/24 dev cbr0_ep")
    start(b, a)
    expected = [("10.244.2.0/24", b.address)]

    def theirs():
        return [(each["DestinationPrefix"], each["NextHop"]) for each in a.powershell_state()["Routes"]]

    command.wait_until(lambda: theirs() == expected, lambda: f"upstream's routes: {theirs()}; {a.last_words()}", timeout=30)
    forwarding = a.powershell_state()["Forwarding"]
    command.expect_equal(len(set(forwarding)), 2, f"interfaces that upstream's lets forward, of {forwarding}")
    command.expect(a.powershell_state()["Routes"][0]["IfIndex"] in forwarding, "upstream's route is on an interface that does not forward")
    reported = {key: text for key, text in cluster.published("a").items() if key.startswith("backend")}
    before, made, env = a.hns("dump"), endpoints(a), a.subnet_env()
    a.down()

    a.flavour = windows.Weft.flavour
    a.spawn()
    a.wait_ready()
    wait_for_machine(a, b, "ours takes over")
    command.expect_equal(a.hns("dump"), before, "all that HNS holds")
    command.expect_equal({key: text for key, text in cluster.published("a").items() if key.startswith("backend")}, reported, "what is published")
    command.expect_equal(a.subnet_env(), env, "subnet.env")
    a.down()

    a.hns("restart", "networks=lost", "endpoints_kept=false")
    a.spawn()
    wait_for_machine(a, b, "ours starts on an empty HNS")
    # Except the adapter: upstream leaves the choice to HNS, which uses any of several.
    adapter = {"Settings": {"NetworkAdapterName": "eth0"}, "Type": "NetAdapterName"}
    theirs = shape(before["networks"][0]) | {"adapter_named": True, "policies": [json.dumps(adapter)]}
    command.expect_equal(shape(a.network("cbr0")), theirs, "the network")
    command.expect_equal(endpoints(a), made, "the endpoint")


def pod_endpoint(a, address):
    return [each for each in a.hns("dump")["endpoints"] if each["addresses"] and each["addresses"][0]["ip"] == address]


def test_node(cluster):
    """A whole node: our flanneld.exe, win-bridge.exe, kube-proxy.exe; and restarts of HNS are repaired."""
    a, b = nodes(cluster, windows.Weft)
    start(b, a)
    wait_for_machine(a, b, "flanneld.exe joins")
    make_namespace(a)
    config = rendered(a, f"--node-address={a.address}/24")
    command.expect_equal((config["name"], config["type"]), ("cbr0", "win-bridge"), "what flannelctl.exe renders for host-gw")
    pod = a.plugin("win-bridge.exe", "ADD", config, "c1", POD_NAMESPACE)["ips"][0]["address"].split("/")[0]
    command.expect_equal([each["network"] for each in pod_endpoint(a, pod)], [a.network("cbr0")["id"]], "the network of the pod's endpoint")
    services = {"before": "10.96.0.60", "kept": "10.96.0.61", "lost": "10.96.0.62"}
    made = []
    try:
        make_service(cluster, "before", services["before"], a=pod, b="10.244.2.5")
        made.append("before")
        start_kube_proxy(cluster, a, "cbr0")
        command.expect_equal(behind(a, services["before"]), {pod: (False,), "10.244.2.5": (True,)}, "the service's endpoints: (remote?)")
        for networks in ("kept", "lost"):
            a.hns("restart", f"networks={networks}", "routes_kept=false", "endpoints_kept=false", "load_balancers_kept=false")
            wait_for_machine(a, b, f"HNS restarts, networks {networks}")
            command.expect_equal([each["name"] for each in pod_endpoint(a, BRIDGE_ADDRESS)], ["cbr0_ep"], "the host's own endpoint")
            make_service(cluster, networks, services[networks], b="10.244.2.6")
            made.append(networks)
            command.expect_equal(behind(a, services[networks]), {"10.244.2.6": (True,)}, f"a service after HNS's restart, networks {networks}")
    finally:
        for name in made:
            forget_service(cluster, name)


def test_stale_remote_endpoints(cluster):
    """kube-proxy.exe deletes remote endpoints with the address of a local one, which HNS sometimes leaves; the host's own endpoint, of flanneld.exe,
    and the pod's stay."""
    a, b = nodes(cluster, windows.Weft)
    start(b, a)
    wait_for_machine(a, b, "flanneld.exe joins")
    make_namespace(a)
    pod = a.plugin("win-bridge.exe", "ADD", rendered(a, f"--node-address={a.address}/24"), "c1", POD_NAMESPACE)["ips"][0]["address"].split("/")[0]
    state = a.hns("dump")
    local = {each["id"]: each["addresses"][0]["ip"] for each in state["endpoints"]}
    command.expect_equal(sorted(local.values()), sorted((BRIDGE_ADDRESS, pod)), "the local endpoints")
    for number, address in enumerate(local.values()):
        state["endpoints"].append({
            "id": f"33334444-5555-6666-7777-88889999000{number}", "name": f"stale-{number}", "network": a.network("cbr0")["id"],
            "mac": f"02-11-00-00-00-0{number}", "flags": 1, "addresses": [{"ip": address, "prefix_length": 24}],
            "namespace": "00000000-0000-0000-0000-000000000000", "policies": []})
    a.hns("load", f"state={json.dumps(state)}")
    make_service(cluster, "web", "10.96.0.60", a=pod, b="10.244.2.5")
    try:
        start_kube_proxy(cluster, a, "cbr0")
        command.expect_equal(behind(a, "10.96.0.60"), {pod: (False,), "10.244.2.5": (True,)}, "the service's endpoints: (remote?)")

        def left():
            found = {each["id"]: each["addresses"][0]["ip"] for each in a.hns("dump")["endpoints"]}
            return {name: address for name, address in found.items() if address.startswith("10.244.1.")}

        command.wait_until(lambda: left() == local, lambda: f"endpoints: {left()} instead of {local}", timeout=30)
        wait_for_machine(a, b, "kube-proxy.exe has deleted stale endpoints")
    finally:
        forget_service(cluster, "web")


def plan_alone(a):
    """flannelctl.exe plan --offline, where the peer has left."""
    lease.write_nodes(a.path("alone.json"), [lease.lease("a", a.address, "10.244.1.0/24").node(backend_type="host-gw", backend_data="null")])
    flags = {key: a.flags[key] for key in ("iface", "net-config-path", "subnet-file")}
    flags |= {"node-name": "a", "lease-source": f"file:{windows.windows_path(a.path('alone.json'))}", "state-dir": windows.windows_path(a.path("state"))}
    return a.wine(windows.our("flannelctl", True), "plan", "--offline", "--", *(f"--{key}={value}" for key, value in flags.items()), check=False)


def test_reset(cluster):
    """The objects of ours are deleted from HNS and the host, and foreign routes stay; a second run does no harm, and a fresh start makes
    all of them again."""
    a, b = nodes(cluster, windows.Weft)
    b.spawn()
    for _ in range(2):
        start(a)
        wait_for_machine(a, b, "flanneld.exe of ours starts")
        a.hns("put-route", "destination=10.244.77.0/24", f"gateway={b.address}", "adapter=vEthernet (eth0)")
        a.down()
        reported = plan_alone(a)
        command.expect(f"would delete route 10.244.2.0/24 via {b.address}" in reported and "10.244.77.0" not in reported, reported)
        reported = a.reset("--dry-run")
        command.expect(f"would delete route 10.244.2.0/24 via {b.address}" in reported and "10.244.77.0" not in reported, reported)
        a.reset("--keep-vswitch")
        command.expect_equal(a.hns("dump")["networks"], [], "networks after a reset")
        command.expect_equal(a.reset().split(":")[0], "nothing to do", "a second reset")
