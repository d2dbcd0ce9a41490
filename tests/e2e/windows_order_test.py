"""Any order of five events on a new Windows node ends well. The names of the tests say the order; --nightly has the 118 that the gate leaves out."""

import itertools
import json
import os

from lab import command, lease

from cluster import windows
from cluster.cluster import nightly, weft_only
from windows_test import behind, forget_service, make_service, source_vip

SERVICE = "10.96.0.50"


class Late(windows.Weft):
    """Nothing of it is there yet."""

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        os.remove(self.path("kubeconfig"))
        self.waits_for_vip = False

    def node_appears(self):
        self.cluster.api.create_node(self.name, "10.244.1.0/24")
        self.cluster.api.patch_node_status(self.name, {"status": {"addresses": [{"type": "InternalIP", "address": self.address}]}})

    def net_conf_appears(self):
        lease.write_text(self.path("net-conf.json"), json.dumps(self.net_conf))

    def kubeconfig_appears(self):
        self.write_kubeconfig({"token": self.token})

    def flanneld_starts(self):
        self._start(*self.command_line())
        command.wait_until(self.log_text, "flanneld.exe logs nothing", timeout=60)

    def kube_proxy_starts(self):
        """As the chart's: its init container is repeated until there is a source VIP."""
        self.waits_for_vip = True

    def try_kube_proxy(self):
        if not self.waits_for_vip:
            return True
        vip = source_vip(self, check=False).strip()
        if not vip:
            return False
        self.environment["KUBE_NETWORK"] = windows.NETWORK
        self.start_program("kube-proxy.exe", f"--source-vip={vip}", f"--hostname-override={self.name}", "--proxy-mode=kernelspace", "--v=4",
                           f"--kubeconfig={self.write('admin.kubeconfig', self.administrator())}")
        self.waits_for_vip = False
        self.vip = vip
        return True


EVENTS = {"node": Late.node_appears, "conf": Late.net_conf_appears, "kubeconfig": Late.kubeconfig_appears, "proxy": Late.kube_proxy_starts,
          "flanneld": Late.flanneld_starts}


def run(cluster, order):
    b = cluster.add("b")
    b.up()
    a = cluster.members["a"] = Late(cluster, "a")
    for event in order:
        EVENTS[event](a)
        a.try_kube_proxy()
    a.wait_ready(timeout=60)
    cluster.settle("all five have happened", with_traffic=False, timeout=60)
    command.wait_until(a.try_kube_proxy, "no source VIP", timeout=60)
    make_service(cluster, "web", SERVICE, b="10.244.2.5")
    try:
        command.expect_equal(behind(a, SERVICE), {"10.244.2.5": (True, b.address)}, "the service's endpoints")
    finally:
        forget_service(cluster, "web")
    command.expect_equal(a.subnet_env()["FLANNEL_SUBNET"], "10.244.1.1/24", "FLANNEL_SUBNET")
    state = a.hns("dump")
    command.expect_equal([each["name"] for each in state["networks"]], [windows.NETWORK], "networks")
    addresses = [each["addresses"][0]["ip"] for each in state["endpoints"]]
    command.expect_equal(sorted(set(addresses)), sorted(addresses), "endpoints, each once")
    command.expect(a.vip in addresses, f"kube-proxy.exe has no endpoint {a.vip}: {addresses}")
    routes = [each["DestinationPrefix"] for each in a.policies("RemoteSubnetRoute")]
    command.expect_equal(routes, ["10.244.2.0/24"], "routes, each once")


def make_test(order):
    def test(cluster):
        run(cluster, order)
    return test


# Both directions hold each pair of events in both orders.
for each in itertools.permutations(EVENTS):
    function = weft_only(make_test(each))
    globals()["test_" + "_".join(each)] = function if each in (tuple(EVENTS), tuple(reversed(EVENTS))) else nightly(function)
