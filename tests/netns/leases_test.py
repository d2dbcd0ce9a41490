"""Which lease is used: a peer that restarts as upstream does loses nothing, no Node takes another Node's pods by its annotations, and
none takes this host's own network."""

import dataclasses
import json
import re
import subprocess

from lab import command, lease, node, topology, traffic


def state_of(a, name, family="ipv4"):
    return next((row[family]["state"] for row in a.leases()["leases"] if row["node"] == name), None)


def wait_until_taken(a, what, claim, state):
    """Until a's table has this very lease, in this state."""
    family, expected = ("ipv4", (claim.subnet, claim.public_ip, claim.mac)) if claim.subnet else ("ipv6", (claim.subnet6, claim.public_ip6, claim.mac6))

    def row():
        half = next((each[family] for each in a.leases()["leases"] if each["node"] == claim.name), {})
        return (half.get("subnet"), half.get("publicIP"), half.get("vtepMAC")), half.get("state")

    command.wait_until(lambda: row() == (expected, state), lambda: f"{what}: {row()}, not {expected} {state}", timeout=10)


def ctl(a, *words):
    """flannelctl's exit code and output."""
    done = subprocess.run(["ip", "netns", "exec", a.host.name, topology.find_program("flannelctl"), *words, f"--admin={a.path('admin.sock')}"],
                          text=True, capture_output=True, timeout=20)
    return done.returncode, done.stdout


def wait_for_state(a, name, expected):
    command.wait_until(lambda: state_of(a, name) == expected, lambda: f"{name} is {state_of(a, name)}, not {expected}", timeout=10)


def test_peer_restarts_as_upstream():
    """Upstream's flanneld.exe publishes an empty MAC first at each start, for seconds or forever; its peers keep its lease, and so do we."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        whole, blank = b.lease.node(), dataclasses.replace(b.lease, mac="").node()
        traffic.ping(a.pod, b.pod_ip)
        with traffic.nothing_lost((a.pod, b.pod_ip)):
            for published, state in ((blank, "kept-lease"), (whole, "usable")) * 3:
                a.write_nodes([a.lease.node(), published])
                wait_for_state(a, "b", state)
                traffic.ping(a.pod, b.pod_ip, count=20, interval=0.01)
        blank["metadata"]["annotations"][lease.ANNOTATION + "public-ip"] = "192.168.77.99"
        a.write_nodes([a.lease.node(), blank])
        wait_for_state(a, "b", "kept-lease")
        traffic.ping(a.pod, b.pod_ip)
        code, text = ctl(a, "status")
        command.expect(code == 0 and re.search(r"b: .*no VTEP MAC since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", text),
                       f"status, exit {code}, does not say since when: {text}")
        gone = dataclasses.replace(b.lease, mac="", vni=5000).node()
        a.write_nodes([a.lease.node(), gone])
        wait_for_state(a, "b", "missing-mac")
        command.expect(traffic.ping_fails(a.pod, b.pod_ip), "b is reached under another VNI")


def claims(*others):
    """What one Node announces, in turn: (what, its lease, the states it may have)."""
    claim = lease.lease("0-thief", "192.168.77.66", "10.244.200.0/24")
    other = dataclasses.replace
    for each in others:
        yield f"{each.name}'s podCIDR", other(claim, subnet=each.lease.subnet), "overlap"
        yield f"{each.name}'s public address", other(claim, public_ip=each.lease.public_ip), "duplicate-public-ip"
        yield f"{each.name}'s MAC", other(claim, mac=each.lease.mac), "usable"
        yield f"{each.name}'s all", other(each.lease, name="0-thief"), "overlap"
        yield f"a half of {each.name}'s podCIDR", other(claim, subnet=each.lease.subnet.replace("/24", "/25")), "overlap"
        yield f"an address of {each.name}'s podCIDR", other(claim, public_ip=each.pod_ip), "bad-public-ip"
    yield "a podCIDR around two others'", other(claim, subnet="10.244.2.0/23"), "nested-subnet"
    yield "a podCIDR around all", other(claim, subnet="10.244.0.0/16"), "overlap"
    yield "half of all addresses", other(claim, subnet="0.0.0.0/1"), "overlap"
    yield "all addresses", other(claim, subnet="0.0.0.0/0"), "overlap"
    claim = other(claim, public_ip="203.0.113.66")  # in none of these
    yield "the underlay", other(claim, subnet="192.168.77.0/24"), "host-conflict"
    yield "our address", other(claim, subnet="192.168.77.1/32"), "host-conflict"
    yield "others' underlay addresses", other(claim, subnet="192.168.77.2/31"), "outside-network"
    yield "a loopback address", other(claim, public_ip="127.0.0.1"), "bad-public-ip"
    yield "an address in its own podCIDR", other(claim, public_ip="10.244.200.1"), "bad-public-ip"
    yield "loopback", other(claim, subnet="127.0.5.0/24"), "reserved-range"
    yield "multicast", other(claim, subnet="224.0.0.0/24"), "reserved-range"


def test_one_nodes_claims():
    """One Node publishes other nodes' subnets and addresses, in turn, while their pods talk: no ping is lost, and each claim is named."""
    with topology.three((node.WeftNode, node.WeftNode, node.KernelNode)) as lab:
        lab.up()
        a, b, c = lab.nodes
        real = [each.lease.node() for each in lab.nodes]
        ways = [(one.pod, other.pod_ip) for one in lab.nodes for other in lab.nodes if one is not other]
        connected = a.host.run("ip", "route", "show", "192.168.77.0/24")
        for source, address in ways:
            traffic.ping(source, address, count=1)
        command.expect_equal(ctl(a, "status")[0], 0, "exit code before")
        with traffic.nothing_lost(*ways):
            for what, claim, state in claims(b, c):
                for each in (a, b):
                    each.write_nodes([claim.node(), *real])
                wait_until_taken(a, what, claim, state)
                traffic.ping(a.pod, c.pod_ip, count=20, interval=0.01)
                fine = state in ("usable", "duplicate-public-ip", "nested-subnet") and not what.endswith("MAC")
                command.wait_until(lambda: ctl(a, "status")[0] == (0 if fine else 1), f"exit code of status: {what}", timeout=10)
                command.expect_equal(a.health("/readyz")[0], 200, f"/readyz: {what}")
                command.expect_equal(a.host.run("ip", "route", "show", "192.168.77.0/24"), connected, f"the underlay's route: {what}")
            for each in (a, b):
                each.write_nodes(real)
            wait_for_state(a, "0-thief", None)
            traffic.ping(a.pod, c.pod_ip, count=20, interval=0.01)
        command.expect_equal(ctl(a, "status")[0], 0, "exit code after")


def claims6(*others):
    other = dataclasses.replace
    claim = lease.Lease("0-thief", public_ip6="fd77::66", subnet6="fd10:244:0:200::/64", mac6=lease.mac_for("0-thief"))
    for each in others:
        yield f"{each.name}'s podCIDR", other(claim, subnet6=each.lease.subnet6), "overlap"
        yield f"{each.name}'s public address", other(claim, public_ip6=each.lease.public_ip6), "duplicate-public-ip"
        yield f"{each.name}'s MAC", other(claim, mac6=each.lease.mac6), "usable"
        yield f"a half of {each.name}'s podCIDR", other(claim, subnet6=each.lease.subnet6.replace("/64", "/65")), "overlap"
        yield f"an address of {each.name}'s podCIDR", other(claim, public_ip6=each.pod_ip6), "bad-public-ip"
    yield "a podCIDR around two others'", other(claim, subnet6="fd10:244:0:2::/63"), "nested-subnet"
    yield "a podCIDR around all", other(claim, subnet6="fd10:244::/48"), "overlap"
    yield "all addresses", other(claim, subnet6="::/0"), "overlap"
    yield "a loopback address", other(claim, public_ip6="::1"), "bad-public-ip"
    yield "a link-local address", other(claim, public_ip6="fe80::1"), "bad-public-ip"
    claim = other(claim, public_ip6="2001:db8::66")
    yield "the underlay", other(claim, subnet6="fd77::/64"), "host-conflict"
    yield "our address", other(claim, subnet6="fd77::1/128"), "host-conflict"
    yield "link-local", other(claim, subnet6="fe80::/64"), "reserved-range"
    yield "multicast", other(claim, subnet6="ff05::/64"), "reserved-range"


def test_one_nodes_claims_ipv6():
    """The same over IPv6."""
    with topology.three((node.WeftNode, node.WeftNode, node.KernelNode), ipv4=False, ipv6=True) as lab:
        lab.up()
        a, b, c = lab.nodes
        real = [each.lease.node() for each in lab.nodes]
        ways = [(one.pod, other.pod_ip6) for one in lab.nodes for other in lab.nodes if one is not other]
        for source, address in ways:
            traffic.ping(source, address, count=1)
        with traffic.nothing_lost(*ways):
            for what, claim, state in claims6(b, c):
                for each in (a, b):
                    each.write_nodes([claim.node(), *real])
                wait_until_taken(a, what, claim, state)
                traffic.ping(a.pod, c.pod_ip6, count=10, interval=0.01)


def test_claims_before_the_start():
    """The same Nodes exist before the daemon starts: no lease is in use yet, and it must not start with the wrong one."""
    for what, claim, state in claims_at_start():
        with topology.three((node.WeftNode, node.WeftNode, node.KernelNode)) as lab:
            lab.leases = [each.lease for each in lab.nodes]
            a, b, c = lab.nodes
            for each in (a, b):
                each.write_nodes([claim, *[one.lease.node() for one in lab.nodes]])
                each.up()
            c.up()
            c.use(lab.leases)
            command.expect_equal(state_of(a, "0-thief"), state, what)
            for one in lab.nodes:
                for other in lab.nodes:
                    if one is not other:
                        traffic.ping(one.pod, other.pod_ip, count=1)


def claims_at_start():
    """The claims of a Node that is younger than all, as any new Node is."""
    b, c = topology.leases("abc")[1:]
    for claim, state in ((dataclasses.replace(b, name="0-thief"), "overlap"),
                        (lease.lease("0-thief", "192.168.77.66", "10.244.3.0/25"), "overlap"),
                        (lease.lease("0-thief", str(node.pod_address(c.subnet)), "10.244.200.0/24"), "bad-public-ip"),
                        (lease.lease("0-thief", "203.0.113.66", "192.168.77.0/24"), "host-conflict")):
        made = claim.node()
        made["metadata"]["creationTimestamp"] = "2026-11-21T08:00:00Z"
        yield f"{claim.subnet} at {claim.public_ip}", made, state


def test_a_pod_cidr_around_peers_behind_a_router():
    """Where Network contains the nodes' own addresses, too, a podCIDR around those of peers would route the tunnel into itself: it waits,
    after a restart as well. An address that its Node does not report is an annotation only: in a podCIDR it is not used."""
    lab = topology.Lab(network="192.168.0.0/16")
    with lab:
        for own in topology.leases(network="192.168.0.0/16", routed=True):
            lab.add(node.WeftNode, own)
        a, b = lab.nodes
        lab.join_by_routers(a, b, 1500)
        a.host.ip("route add default via 192.168.77.254 dev u0")
        lab.up()
        traffic.ping(a.pod, b.pod_ip)
        thief = lease.lease("0-thief", "203.0.113.9", "192.168.78.0/24")
        nodes = [thief.node(), a.lease.node(), lease.reporting(b.lease.node(), b.lease.public_ip)]
        with traffic.nothing_lost((a.pod, b.pod_ip)):
            a.write_nodes(nodes[1:])
            a.write_nodes(nodes)
            wait_for_state(a, "0-thief", "overlap")
            traffic.ping(a.pod, b.pod_ip, count=60, interval=0.01)
        before = a.leases()["leases"]
        a.down()
        a.up()
        command.expect_equal(a.leases()["leases"], before, "the table after a restart")
        traffic.ping(a.pod, b.pod_ip)
        a.write_nodes([thief.node(), a.lease.node(), b.lease.node()])
        wait_for_state(a, "b", "bad-public-ip")
        wait_for_state(a, "0-thief", "usable")
        a.write_nodes(nodes)
        wait_for_state(a, "b", "usable")
        traffic.ping(a.pod, b.pod_ip)
        # Its gateway, which is no peer's.
        thief = dataclasses.replace(thief, subnet="192.168.77.254/32")
        a.write_nodes([thief.node(), a.lease.node(), b.lease.node()])
        wait_for_state(a, "0-thief", "host-conflict")


def test_fifty_nodes_inside_network():
    """Network contains the nodes, as upstream's own example 10.0.0.0/8 does: a Node with their addresses as its podCIDR takes nothing from them."""
    names = ["a", "b", "c", *(f"far-{number}" for number in range(4, 51))]
    leases = [lease.lease(name, f"10.0.5.{number}", f"10.1.{number}.0/24") for number, name in enumerate(names, 1)]
    with topology.Lab(network="10.0.0.0/8") as lab:
        for kind, own in zip((node.WeftNode, node.WeftNode, node.KernelNode), leases):
            lab.add(kind, own)
        lab.join_by_switch()
        lab.up(leases)
        a, b, c = lab.nodes
        nodes = [lease.reporting(each.node(), each.public_ip) for each in leases]
        new = lease.reporting(lease.lease("0-new", "203.0.113.9", "10.0.5.0/24").node(), "203.0.113.9")
        ways = [(one.pod, other.pod_ip) for one in lab.nodes for other in lab.nodes if one is not other]
        for source, address in ways:
            traffic.ping(source, address, count=1)
        with traffic.nothing_lost(*ways):
            for taken in (nodes, [new, *nodes]):
                for each in (a, b):
                    each.write_nodes(taken)
            for each in (a, b):
                wait_until_taken(each, "the new Node", lease.lease("0-new", "203.0.113.9", "10.0.5.0/24"), "host-conflict")
            traffic.ping(a.pod, c.pod_ip, count=60, interval=0.01)
        before = a.leases()["leases"]
        command.expect_equal([row["node"] for row in before if not row["ipv4"]["usable"]], ["0-new", "a"], "Nodes that are not used")
        a.down()
        a.up()
        command.expect_equal(a.leases()["leases"], before, "the table after a restart")
        for source, address in ways:
            traffic.ping(source, address, count=1)


def test_two_nodes_with_one_mac():
    """Cloned machines: both are reached and named, by each other as well."""
    leases = topology.leases("abc")
    leases[2] = dataclasses.replace(leases[2], mac=leases[1].mac)
    with topology.Lab() as lab:
        for own in leases:
            lab.add(node.WeftNode, own)
        lab.join_by_switch()
        lab.up()
        for one in lab.nodes:
            for other in lab.nodes:
                if one is not other:
                    traffic.ping(one.pod, other.pod_ip)
            command.wait_until(lambda one=one: 'nodes "b" and "c" publish one VTEP MAC' in ctl(one, "status")[1],
                               f"{one.lease.name} does not name them", timeout=10)
            command.expect_equal(one.health("/readyz")[0], 200, "/readyz")


def test_a_network_is_widened_node_by_node():
    """The file has the wider Network before flanneld is restarted: no peer is lost, not even one outside the narrow Network."""
    with topology.three((node.WeftNode, node.KernelNode, node.KernelNode)) as lab:
        a, b, c = lab.nodes
        far = lease.lease("far", "192.168.77.9", "10.245.9.0/24")
        lab.up([*[each.lease for each in lab.nodes], far])
        command.expect_equal(state_of(a, "far"), "outside-network", "far, before")
        with traffic.nothing_lost((a.pod, b.pod_ip), (a.pod, c.pod_ip)):
            conf = a.net_conf()
            for network, state in (("10.244.0.0/15", "usable"), ("10.244.0.0/16", "host-changed"), ("10.244.0.0/15", "usable")):
                lease.write_text(a.path("net-conf.json"), json.dumps({**conf, "Network": network}))
                wait_for_state(a, "far", state)
        # This host gets an address inside a peer's subnet: reported, and no lease is dropped for it.
        with traffic.nothing_lost((a.pod, c.pod_ip)):
            a.host.ip("addr add 10.244.2.77/32 dev lo")
            wait_for_state(a, "b", "host-changed")
            traffic.ping(a.pod, b.pod_ip, count=60, interval=0.01)
            a.host.ip("addr del 10.244.2.77/32 dev lo")


def test_nodes_that_have_not_joined():
    """A Node without flannel's annotations is shown, with what is missing; it does not count as unreached."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        plain = b.lease.node()
        plain["metadata"]["name"], plain["metadata"]["annotations"] = "plain", {}
        a.write_nodes([a.lease.node(), b.lease.node(), plain])
        command.wait_until(lambda: a.status().get("notJoinedNodes") == 1, lambda: f"status: {a.status()}", timeout=10)
        code, text = ctl(a, "status")
        command.expect(code == 0 and "1 of 1 programmed, 0 heard in the last minute; 1 not joined" in text, f"status, exit {code}: {text}")
        traffic.ping(a.pod, b.pod_ip, count=1)
        _, text = ctl(a, "status")
        command.expect("1 of 1 programmed, 1 heard in the last minute; 1 not joined" in text, f"status after a ping: {text}")
        _, text = ctl(a, "leases", "-o", "wide")
        command.expect(re.search(r"plain .* not-joined .*annotation flannel.alpha.coreos.com/kube-subnet-manager is missing", text),
                       f"leases: {text}")
        command.expect('node "plain" has not joined' in a.log_text(), "the log does not name it")
