"""What users of Windows nodes report: a Node that returns with another podCIDR, many NICs with names of every kind, another port. The other
reports are tests of the other windows_*_test.py files."""

from lab import command

from cluster import windows
from cluster.cluster import weft_only
from windows_test import node, source_vip


@weft_only
def test_another_pod_cidr(cluster):
    """The Node is deleted and added again while flanneld.exe runs: network, subnet.env and source VIP are of the new podCIDR, nothing of the old."""
    a, _ = node(cluster, windows.Weft)
    command.expect_equal(source_vip(a).strip(), "10.244.1.2", "the source VIP")
    cluster.api.delete_node("a")
    cluster.settle("the Node is deleted", with_traffic=False)
    cluster.api.create_node("a", "10.244.7.0/24")
    command.wait_until(lambda: a.subnet_env().get("FLANNEL_SUBNET") == "10.244.7.1/24", lambda: f"{a.subnet_env()}; {a.last_words()}", timeout=60)
    command.wait_until(lambda: "10.244.7.0/24" in str((a.network() or {}).get("ipams")), lambda: f"HNS has {a.network()}", timeout=60)
    cluster.settle("the Node is there again", with_traffic=False)
    command.expect_equal([each["name"] for each in a.hns("dump")["networks"]], [windows.NETWORK], "networks")
    command.expect_equal(source_vip(a).strip(), "10.244.7.2", "the source VIP of the new podCIDR")


@weft_only
def test_adapters_of_every_name(cluster):
    """The NIC is found by its address among others, with blanks and letters of other alphabets in its name; --iface takes that name, too."""
    name = "Größe Сеть 2"

    def add_adapters(a, _):
        a.emulated_host = True
        a.hns("rename", "adapter=eth0", f"to={name}")
        for each, address in (("WLAN 以太网", "10.9.0.5/24"), ("Ethernet 3", "10.9.1.5/24"), ("Ethernet 3 (backup)", "")):
            a.hns("add-adapter", f"adapter={each}", *([f"addresses={address}"] if address else []))

    a, b = node(cluster, windows.Weft, add_adapters)
    command.expect_equal(a.network()["adapter"], name, "the NIC of the network")
    a.down()
    a.reset()
    a.flags["iface"] = name
    a.up()
    cluster.settle("by the NIC's name", with_traffic=False)
    command.expect_equal(a.network()["adapter"], name, "the NIC of the network")


@weft_only
def test_another_port(cluster):
    """Of all nodes' net-conf: HNS's network has it, and so has the firewall's rule."""
    def set_port(a, b):
        a.emulated_host = True
        for each in (a, b):
            each.net_conf["Backend"]["Port"] = 14789

    a, _ = node(cluster, windows.Weft, set_port)
    command.expect_equal(a.policies("VxlanPort"), [{"Port": 14789}], "the port of the network")
    command.expect_equal(a.hns("host")["firewall"], [{"name": "OverlayTraffic14789UDP", "udpPort": 14789, "group": "weft"}], "the firewall's rules")
