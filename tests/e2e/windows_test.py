"""The HNS emulator is taken for HNS by the real Windows programs, which run unchanged under Wine."""

from lab import command

from cluster import windows


def node(cluster):
    """Upstream's flanneld.exe on a, ready, beside upstream's Linux flanneld on b."""
    a, b = cluster.add("a", kind=windows.Upstream), cluster.add("b")
    b.spawn()
    a.spawn()
    a.wait_ready()
    b.wait_ready()
    cluster.settle("flanneld.exe joins", with_traffic=False)
    return a, b


def test_flanneld_vxlan(cluster):
    """Its network, its subnet.env, a route for each Linux peer; a peer that goes takes its route along."""
    a, _ = node(cluster)
    network = a.network()
    command.expect_equal((network["type"], network["flags"], network["adapter"]), ("Overlay", 8, "eth0"), "the network")
    command.expect_equal(network["ipams"][0]["Subnets"][0]["IpAddressPrefix"], "10.244.1.0/24", "its subnet")
    command.expect_equal(len(a.policies("HostRoute")), 1, "HostRoute policies")
    command.expect_equal(a.subnet_env()["FLANNEL_SUBNET"], "10.244.1.1/24", "FLANNEL_SUBNET")
    command.expect_equal(a.hns("handles")["misuses"], 0, "handles that were used wrongly")
    command.expect(a.hns("calls")["functions"].get("HNSCall GET /globals/version"), "nobody asked vmcompute.dll for the version")
    cluster.bystander("far", "10.244.9.0/24")
    cluster.settle("far joins", with_traffic=False)
    cluster.api.delete_node("far")
    cluster.settle("far leaves", with_traffic=False)
