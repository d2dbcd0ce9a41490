"""What users of Windows nodes report: a Node that returns with another podCIDR, many NICs with names of every kind, another port. The other
reports are tests of the other windows_*_test.py files."""

import signal

from lab import command

from cluster import windows
from cluster.cluster import nightly, weft_only
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
@nightly
def test_another_port(cluster):
    """Of all nodes' net-conf: HNS's network has it, and so has the firewall's rule."""
    def set_port(a, b):
        a.emulated_host = True
        for each in (a, b):
            each.net_conf["Backend"]["Port"] = 14789

    a, _ = node(cluster, windows.Weft, set_port)
    command.expect_equal(a.policies("VxlanPort"), [{"Port": 14789}], "the port of the network")
    command.expect_equal(a.hns("host")["firewall"], [{"name": "OverlayTraffic14789UDP", "udpPort": 14789, "group": "weft"}], "the firewall's rules")


@weft_only
def test_static_ip(cluster):
    """What an administrator set on the NIC is set on the switch's adapter, where Windows lost it: at the first start, after a kill in between,
    and with a base network after a reboot; it is on the NIC again once the switch is gone."""
    def set_static_ip(a, _):
        a.emulated_host = True
        a.flags["hns-base-network"] = "true"
        a.hns("set", 'settings={"static_ip_lost":"all"}')
        a.hns("set-static-ip", "adapter=eth0", f"addresses={a.address}/24", "name_servers=192.168.1.53,192.168.1.54", "metric=5")

    a, _ = node(cluster, windows.Weft, set_static_ip)
    desired = {"addresses": [f"{a.address}/24"], "nameServers": ["192.168.1.53", "192.168.1.54"], "metric": 5}

    def static_ip(name):
        return next((each.get("static") for each in a.hns("host")["adapters"] if each["name"] == name), None)

    def wait_restored():
        command.wait_until(lambda: static_ip("vEthernet (eth0)") == desired, lambda: f"{a.hns('host')}; {a.last_words()}", timeout=30)

    wait_restored()
    a.down(signal.SIGKILL)
    a.hns("reboot")
    a.wine("reg", "delete", r"HKLM\SOFTWARE\weft", "/f")  # volatile: gone with the boot
    command.expect_equal(static_ip("vEthernet (eth0)").get("addresses"), None, "the addresses after a reboot")
    a.spawn()
    a.wait_ready()
    wait_restored()
    cluster.settle("the machine has rebooted", with_traffic=False)
    a.down()
    a.reset()
    command.expect_equal(static_ip("eth0"), desired, "the static settings of the NIC after a reset")
