"""The underlay stays at its address, whatever routes, addresses and links come and go next to it, and moves where it must."""

import dataclasses
import re
import time

from lab import command, node, topology, traffic

DEFAULT = "route add default via 192.168.77.2 dev u0 metric 100"


def write(a, b, *internal_ips, **annotations):
    """The annotations of a's Node name no address: in a cluster flanneld publishes them itself."""
    own = a.lease.node(public_ip=None, public_ipv6=None, **annotations)
    own["status"] = {"addresses": [{"type": "InternalIP", "address": each} for each in internal_ips]}
    a.write_nodes([own, b.lease.node()])


def begin(a, b, *internal_ips):
    """Without --iface."""
    b.up()
    b.use([a.lease])
    a.host.ip(DEFAULT)
    write(a, b, *internal_ips)
    a.up(iface=None)
    traffic.ping(a.pod, b.pod_ip)


def underlay(a):
    status = a.status()
    return [status["interface"], *[status[family]["publicIP"] for family in ("ipv4", "ipv6") if family in status]]


def wait_for_rounds(a):
    """Until flanneld has read the host after all that was changed before."""
    for word in ("began before", "began after"):
        now = rounds(a)
        a.host.ip("link add poke0 type veth peer name poke1", "link delete poke0")
        command.wait_until(lambda before=now: rounds(a) > before, f"no round that {word} the change", timeout=6)


def rounds(a):
    return int(re.search(r"^weft_reconcile_duration_seconds_count (\d+)$", a.health("/metrics")[1], re.MULTILINE)[1])


def lines_since(a, log):
    return a.log_text()[len(log):].splitlines()


def moves(a):
    return [line.split("] ", 1)[1] for line in a.log_text().splitlines() if "this node moves" in line]


# What happens next to it, and its end.
NEXT_TO_IT = {
    "a VPN client": (["link add vpn0 type veth peer name vpn1", "addr add 10.99.0.5/24 dev vpn0", "link set vpn0 up", "link set vpn1 up",
                      "route add default via 10.99.0.1 dev vpn0 metric 50"], ["link delete vpn0"]),
    "a second NIC with DHCP": (["link add nic1 type veth peer name nic2", "addr add 10.98.0.5/24 dev nic1", "link set nic1 up", "link set nic2 up",
                                "route add default via 10.98.0.1 dev nic1 metric 1"], ["link delete nic1"]),
    "keepalived's address": (["addr add 192.168.77.100/32 dev u0"], ["addr del 192.168.77.100/32 dev u0"]),
    "an address of its link": (["addr add 10.6.6.6/32 dev u0 scope link"], ["addr del 10.6.6.6/32 dev u0"]),
    "another src of the default route": (["addr add 192.168.77.101/32 dev u0",
                                          "route replace default via 192.168.77.2 dev u0 metric 100 src 192.168.77.101"],
                                         ["route replace default via 192.168.77.2 dev u0 metric 100", "addr del 192.168.77.101/32 dev u0"]),
    "no default route": ([DEFAULT.replace(" add ", " del ")], [DEFAULT]),
    "an IPv6 prefix": (["addr add fd99::1/64 dev u0 nodad"], ["addr del fd99::1/64 dev u0"]),
}


def test_what_moves_nothing():
    """Not one ping is lost, the published addresses stay, nothing is logged."""
    with topology.pair(node.WeftNode, node.KernelNode, ipv6=True) as lab:
        a, b = lab.nodes
        begin(a, b)
        before, log = underlay(a), a.log_text()
        command.expect_equal(before, ["u0", a.lease.public_ip, a.lease.public_ip6], "the underlay")
        with traffic.nothing_lost((a.pod, b.pod_ip), (b.pod, a.pod_ip), (a.pod, b.pod_ip6)):
            for what, ways in NEXT_TO_IT.items():
                for lines in ways:
                    a.host.ip(*lines)
                    wait_for_rounds(a)
                    command.expect_equal((underlay(a), a.health("/readyz")[0]), (before, 200), f"the underlay and readyz: {what}")
        command.expect_equal(lines_since(a, log), [], "lines of the log")


def test_a_bridge_takes_the_address_over():
    """That is no move: no line, and packets go on."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        a, b = lab.nodes
        begin(a, b)
        log, mac = a.log_text(), a.host.devices()["u0"]["address"]
        for device, lines in (("br0", [f"link add br0 address {mac} type bridge", "link set br0 up", "link set u0 master br0"]), ("u0", [])):
            other = "u0" if device == "br0" else "br0"
            a.host.ip(*lines, f"addr del {a.lease.public_ip}/24 dev {other}", f"addr add {a.lease.public_ip}/24 dev {device}",
                      *([] if lines else ["link delete br0"]), DEFAULT.replace("u0", device))
            command.wait_until(lambda expected=[device, a.lease.public_ip]: underlay(a) == expected, lambda: f"the underlay: {underlay(a)}")
            traffic.ping(a.pod, b.pod_ip)
            traffic.ping(b.pod, a.pod_ip)
        command.expect_equal(lines_since(a, log), [], "lines of the log")


def test_moves():
    """Each within five seconds, with one warning that has both values and the reason; peers that follow the lease reach the pods."""
    with topology.pair(node.WeftNode, node.KernelNode, ipv6=True) as lab:
        a, b = lab.nodes
        v4, v6 = a.lease.public_ip, a.lease.public_ip6
        a.host.ip("addr add 192.168.77.11/24 dev u0")
        begin(a, b, v4)
        command.expect_equal(underlay(a), ["u0", v4, v6], "the underlay")
        steps = [
            (lambda: write(a, b, "192.168.77.11"), ["192.168.77.11", v6],
             f"from u0, {v4}, {v6} to u0, 192.168.77.11, {v6}: requested by the Node's InternalIP 192.168.77.11"),
            (lambda: write(a, b, "192.168.77.11", public_ip_overwrite="203.0.113.7"), ["203.0.113.7", v6],
             f"to u0, 192.168.77.11 (published as 203.0.113.7), {v6}: requested by the annotation public-ip-overwrite"),
            (lambda: write(a, b, "192.168.77.11"), ["192.168.77.11", v6], f"to u0, 192.168.77.11, {v6}: an annotation that named its public IP is gone"),
            (lambda: a.host.ip("addr del 192.168.77.11/24 dev u0"), [v4, v6], f"to u0, {v4}, {v6}: 192.168.77.11 is gone"),
            (lambda: a.host.ip("addr add fd77::11/64 dev u0 nodad", f"addr change {v6}/64 dev u0 preferred_lft 0"), [v4, "fd77::11"],
             f"to u0, {v4}, fd77::11: {v6} is deprecated"),
        ]
        for number, (change, published, line) in enumerate(steps, 1):
            began = time.monotonic()
            change()
            command.wait_until(lambda expected=["u0", *published]: underlay(a) == expected, lambda: f"the underlay: {underlay(a)}; {a.last_words()}")
            command.within(time.monotonic() - began, 5, f"move {number}")
            found = moves(a)
            command.expect(len(found) == number and line in found[-1], f"lines of the moves: {found}")
            command.wait_until(lambda: a.health("/readyz")[0] == 200, lambda: f"readyz: {a.health('/readyz')}")
            if published[0] != "203.0.113.7":  # NAT would lead there
                b.add_peer(dataclasses.replace(a.lease, public_ip=published[0], public_ip6=published[1]))
            for way in ((a.pod, b.pod_ip), (b.pod, a.pod_ip), (a.pod, b.pod_ip6), (b.pod, a.pod_ip6)):
                traffic.ping(*way)
        a.host.ip(f"addr change {v6}/64 dev u0 preferred_lft forever")
        wait_for_rounds(a)
        command.expect_equal(len(moves(a)), len(steps), "moves, with the first address preferred again")
        a.host.ip("addr del fd77::11/64 dev u0", "addr add 192.168.77.11/24 dev u0")


def test_without_link():
    """For ten seconds: not ready, next to another default route. The node stays, and is ready as soon as the link is back."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        a, b = lab.nodes
        begin(a, b)
        before = underlay(a)
        a.host.ip(*NEXT_TO_IT["a second NIC with DHCP"][0])
        began = time.monotonic()
        b.host.ip("link set u0 down")
        command.wait_until(lambda: a.health("/readyz")[0] == 503, "readyz is 503", timeout=13)
        command.expect(time.monotonic() - began > 9, f"not ready after {time.monotonic() - began:.1f} s without link")
        command.expect("interface: the interface u0 has no link" in a.health("/readyz")[1], a.health("/readyz")[1])
        command.expect_equal((a.health("/livez")[0], underlay(a)), (200, before), "livez and the underlay")
        b.host.ip("link set u0 up")
        command.wait_until(lambda: a.health("/readyz")[0] == 200, lambda: f"readyz: {a.health('/readyz')}", timeout=2)
        traffic.ping(a.pod, b.pod_ip)
        a.host.ip("link delete nic1")
        command.expect_equal((underlay(a), moves(a)), (before, []), "the underlay and its moves")
