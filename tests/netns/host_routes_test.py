"""Peers by routes of the host itself: host-gw, and DirectRouting next to the tunnel. The other node is the kernel's."""

import contextlib
import dataclasses
import os
import signal

from lab import command, daemon, footprint, lease, namespace, node, topology, traffic

MARK = footprint.MARK


class HostGwNode(node.WeftNode):
    """net-conf host-gw; the lab's default --dataplane=userspace means routes there."""

    backend = {"Type": "host-gw"}

    def beyond_leaving(self, found):
        return footprint.without_left_table(footprint.without_left_routes(found))

    def overhead(self):
        return 0

    def net_conf(self):
        return {**super().net_conf(), "Backend": self.backend}

    def use(self, leases):
        self.write_nodes([each.node(backend_type="host-gw", backend_data="null") for each in leases])


class DirectNode(node.WeftNode):
    def beyond_leaving(self, found):
        return footprint.without_left_table(footprint.without_left_routes(found))

    def net_conf(self):
        conf = super().net_conf()
        conf["Backend"]["DirectRouting"] = True
        return conf


class RouteNode(node.Node):
    """As upstream's host-gw sets a Linux node up."""

    kind = "kernel"

    def overhead(self):
        return 0

    def up(self):
        pass

    def use(self, leases):
        for peer in leases:
            if peer.name != self.name:
                self.add_peer(peer)

    def add_peer(self, peer):
        for subnet, hop in ((peer.subnet, peer.public_ip), (peer.subnet6, peer.public_ip6)):
            if subnet:
                self.host.ip(f"route replace {subnet} via {hop} dev u0")


def host_gw_pair(**options):
    return topology.pair(HostGwNode, RouteNode, **options)


def routes(host, family="-4"):
    """{destination: (gateway, device, protocol)} of the routes through a gateway, and of ours into a device."""
    return {row["dst"]: (row.get("gateway", ""), row["dev"], row.get("protocol", "boot"))
            for row in host.show(family, "route", "show") if "gateway" in row or row.get("protocol") == MARK}


def test_host_gw():
    """Both ways at the link's full size, without any device; what the pods read; and the routes outlive the daemon."""
    with host_gw_pair() as lab:
        lab.up()
        a, b = lab.nodes
        expected = {b.lease.subnet: (b.lease.public_ip, "u0", MARK)}
        command.expect_equal(routes(a.host), expected, "routes")
        command.expect(node.DEVICE not in a.host.devices(), "host-gw made a tunnel")
        with open(a.path("subnet.env"), encoding="utf-8") as file:
            command.expect("FLANNEL_MTU=1500\n" in file.read(), "subnet.env lacks the link's MTU")
        for one, other in ((a, b), (b, a)):
            traffic.ping(one.pod, other.pod_ip, size=1500, fragment=False)
            traffic.tcp(one.pod, other.pod, other.pod_ip, 8 << 20)
        status = a.status()
        command.expect_equal((status["backend"], status["dataplane"], status["tunnels"]), ("host-gw", "routes", []), "status")
        command.expect_equal(a.down(), 0, "exit code after SIGTERM")
        command.expect_equal(routes(a.host), expected, "routes after the end")
        traffic.ping(a.pod, b.pod_ip)


def test_plan_offline():
    """It reads the host's routes: what is there, what is missing or another's, and what no lease wants."""
    with host_gw_pair() as lab:
        lab.up()
        a, b = lab.nodes
        a.down()
        route = f"route {b.lease.subnet} via {b.lease.public_ip} dev u0"

        def plan(before="true"):
            words = ["plan", "--offline", "--", *(f"--{name}={value}" for name, value in a.options.items())]
            return a.host.run("sh", "-c", f'{before} && exec "$@"', "sh", lab.program("flannelctl"), *words, check=False)
        command.expect(f"{route} is kept\n" in plan() and "nothing to do" in plan(), f"the plan of a second start: {plan()}")
        masked = plan("mount --bind /dev/null /etc/resolv.conf")  # `ip netns exec` has mounts of its own
        command.expect(f"{route} is kept\n" in masked and "not looked at: this host's name servers: cannot read /etc/resolv.conf" in masked,
                       f"the plan without name servers: {masked}")
        a.host.ip(f"route del {b.lease.subnet}", f"route add 10.244.77.0/24 via {b.lease.public_ip} dev u0 proto {MARK}")
        command.expect(f"would put {route}\n" in plan(), f"the plan without the route: {plan()}")
        command.expect(f"would delete route 10.244.77.0/24 via {b.lease.public_ip} dev u0\n" in plan(), f"the plan with a stale route: {plan()}")
        a.host.ip(f"route add {b.lease.subnet} via 192.168.77.99 dev u0")
        command.expect(f"would put {route}, in place of route {b.lease.subnet} via 192.168.77.99 dev u0 if that is flannel's\n" in plan(),
                       f"the plan with another route: {plan()}")


def test_host_gw_ipv6():
    with host_gw_pair(ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        command.expect_equal(routes(a.host, "-6"), {b.lease.subnet6: (b.lease.public_ip6, "u0", MARK)}, "IPv6 routes")
        for one, other in ((a, b), (b, a)):
            traffic.ping(one.pod, other.pod_ip)
            traffic.ping(one.pod, other.pod_ip6, size=1500, fragment=False)


def test_host_gw_restart():
    """Killed and started again: its own stale routes are removed, upstream's are taken over, foreign ones stay, and traffic never stops."""
    with host_gw_pair() as lab:
        a, b = lab.nodes
        gone = lease.lease("gone", "192.168.77.9", "10.244.9.0/24")
        a.host.ip(f"route add {b.lease.subnet} via {b.lease.public_ip} dev u0",  # as upstream leaves it
                  "route add 10.244.77.0/24 via 192.168.77.2 dev u0")
        a.use([a.lease, b.lease, gone])
        a.up()
        b.use([a.lease])
        others = {"10.244.77.0/24": ("192.168.77.2", "u0", "boot")}
        ours = {b.lease.subnet: (b.lease.public_ip, "u0", MARK)}
        command.expect_equal(routes(a.host), {**others, **ours, gone.subnet: (gone.public_ip, "u0", MARK)}, "routes")
        a.down(signal.SIGKILL)
        a.use([a.lease, b.lease])
        a.up()
        command.expect_equal(routes(a.host), {**others, **ours}, "routes after the restart")
        traffic.ping(a.pod, b.pod_ip)


def test_host_gw_peer_moves():
    """Another address of a peer, and back: never two routes, never none (upstream's Windows node keeps a stale route forever)."""
    with host_gw_pair() as lab:
        lab.up()
        a, b = lab.nodes
        b.host.ip("addr add 192.168.77.22/24 dev u0")
        moved = dataclasses.replace(b.lease, public_ip="192.168.77.22")
        with traffic.nothing_lost((a.pod, b.pod_ip), interval=0.005):
            for each in (moved, b.lease, moved):
                a.use([a.lease, each])
                command.wait_until(lambda each=each: routes(a.host) == {each.subnet: (each.public_ip, "u0", MARK)},
                                   lambda: f"routes {routes(a.host)}")
        a.use([a.lease])
        command.wait_until(lambda: not routes(a.host), lambda: f"routes {routes(a.host)} without a peer")


def test_host_gw_peer_behind_a_router():
    """Only it is refused, by name; the node is ready and reaches the other peers."""
    with host_gw_pair() as lab:
        a, b = lab.nodes
        far = lease.lease("far", "192.168.99.9", "10.244.9.0/24")
        a.use([a.lease, b.lease, far])
        a.up()
        b.use([a.lease])
        command.expect_equal(routes(a.host), {b.lease.subnet: (b.lease.public_ip, "u0", MARK)}, "routes")
        reported = [row["condition"] for row in a.status()["conditions"] if row["subject"] == "routes on u0 (IPv4)"]
        for word in ('peer "far"', "192.168.99.9 is not on the link of u0", "use vxlan"):
            command.expect(any(word in each for each in reported) and word in a.log_text(), f"{reported} lacks {word!r}")
        traffic.ping(a.pod, b.pod_ip)


def test_host_gw_own_address_changes():
    """By the kernel's notification, not by polling: on-link peers are judged again, and the new address is to be published."""
    with host_gw_pair() as lab:
        a, b = lab.nodes
        far = lease.lease("far", "192.168.99.9", "10.244.9.0/24")
        a.use([a.lease, b.lease, far])
        a.up(iface="u0")
        for _ in range(3):  # a poll takes up to 5 s
            a.host.ip("addr add 192.168.99.1/24 dev u0")
            command.wait_until(lambda: routes(a.host).get(far.subnet) == (far.public_ip, "u0", MARK),
                               lambda: f"routes {routes(a.host)}", timeout=2)
            a.host.ip("addr del 192.168.99.1/24 dev u0")
            command.wait_until(lambda: far.subnet not in routes(a.host), lambda: f"routes {routes(a.host)}", timeout=2)
        a.host.ip("addr del 192.168.77.1/24 dev u0", "addr add 192.168.77.6/24 dev u0")
        command.wait_until(lambda: a.status()["ipv4"].get("publicIP") == "192.168.77.6", lambda: f"status {a.status()['ipv4']}", timeout=5)
        command.wait_until(lambda: b.lease.subnet in routes(a.host), "the kernel took the route along with the address", timeout=5)
        a.host.ip("addr del 192.168.77.6/24 dev u0", "addr add 192.168.77.1/24 dev u0")


def test_host_gw_reset():
    """`flannelctl reset` removes flanneld's routes, also those of a killed one, keeps foreign ones, and restores those it took over."""
    with host_gw_pair(ipv6=True) as lab:
        a, b = lab.nodes
        found = lease.lease("found", "192.168.77.9", "10.244.9.0/24")
        a.host.ip(f"route add {found.subnet} via {found.public_ip} dev u0",  # as upstream leaves it
                  "route add 10.244.77.0/24 via 192.168.77.2 dev u0 proto static")
        others = {"10.244.77.0/24": ("192.168.77.2", "u0", "static")}
        left = {**others, found.subnet: (found.public_ip, "u0", "boot")}

        def reset(*flags, check=True):
            return a.host.run(lab.program("flannelctl"), "reset", f"--state-dir={a.path('state')}", f"--admin={a.path('admin.sock')}", *flags, check=check)

        for how in (signal.SIGTERM, signal.SIGKILL):
            a.use([a.lease, b.lease, found])
            a.up()
            made = {**others, **{each.subnet: (each.public_ip, "u0", MARK) for each in (found, b.lease)}}
            command.expect_equal(routes(a.host), made, "routes")
            reset(check=False)
            command.expect_equal(routes(a.host), made, "routes after a reset while flanneld runs")
            a.down(how)
            reported = reset("--dry-run")
            for subnet, hop in ((b.lease.subnet, b.lease.public_ip), (b.lease.subnet6, b.lease.public_ip6)):
                command.expect(f"would delete route {subnet} via {hop}\n" in reported, f"{reported!r} lacks {subnet}")
            command.expect_equal(routes(a.host), made, "routes after a dry run")
            command.expect(f"would give back route {found.subnet} via {found.public_ip}\n" in reported, f"{reported!r} lacks {found.subnet}")
            reset()
            command.expect_equal((routes(a.host), routes(a.host, "-6")), (left, {}), "routes after a reset")
            command.expect("nothing to do" in reset(), "a second reset")


def test_host_gw_ledger_written_late():
    """What is made while the ledger cannot be written is in it as soon as it can, and `flannelctl reset` finds it; another user's folder stays, unused."""
    with host_gw_pair() as lab:
        a, b = lab.nodes
        state = a.path("state")

        def ledger():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), open(os.path.join(state, "ledger.json"), encoding="utf-8") as file:
                return file.read()
            return ""

        def conditions():
            return {each["subject"]: each["condition"] for each in a.status()["conditions"] if "condition" in each}

        lease.write_text(state, "a file in the folder's place")
        a.use([a.lease, b.lease])
        a.up()
        command.expect_equal(list(routes(a.host)), [b.lease.subnet], "routes without a ledger")
        command.wait_until(lambda: "flannelctl reset will not know" in conditions().get("ledger", ""), lambda: f"conditions are {conditions()}", timeout=5)
        os.unlink(state)
        command.wait_until(lambda: b.lease.subnet in ledger(), "the ledger is written once that works", timeout=15)
        command.wait_until(lambda: "ledger" not in conditions(), lambda: f"conditions are {conditions()}", timeout=15)
        a.down()
        reported = a.host.run(lab.program("flannelctl"), "reset", f"--state-dir={state}", "--admin=none")
        command.expect_equal(reported, f"deleted the journal {state}/journal.json\ndeleted route {b.lease.subnet} via {b.lease.public_ip}\n", "the output of reset")
        command.expect_equal(routes(a.host), {}, "routes after the reset")

        os.chown(state, 12345, 12345)
        found = os.listdir(state)
        a.up()
        command.wait_until(lambda: "belongs to user 12345" in conditions().get("ledger", ""), lambda: f"conditions are {conditions()}", timeout=5)
        command.expect_equal((os.stat(state).st_uid, os.listdir(state)), (12345, found), "the folder that a flag names stays")
        a.down()


def test_host_gw_ledger_of_a_later_version():
    """An older program after a later one works as without the ledger, leaves it byte for byte and names it; reset refuses."""
    with host_gw_pair() as lab:
        a, b = lab.nodes
        path = os.path.join(a.path("state"), "ledger.json")
        text = '{"format": "weft/ledger/v1", "version": 9, "entries": [{"kind": "a later one"}]}'
        os.mkdir(a.path("state"))
        lease.write_text(path, text)
        lab.up()
        traffic.ping(a.pod, b.pod_ip)
        command.wait_until(lambda: any(f"{path} has version 9" in each["condition"] for each in a.status()["conditions"]),
                           lambda: f"conditions are {a.status()['conditions']}", timeout=10)
        a.down()
        reset = f"{lab.program('flannelctl')} reset --state-dir={a.path('state')} --admin=none 2>&1; echo $?"
        output = a.host.run("sh", "-c", reset)
        command.expect("a later weft wrote it" in output and output.endswith("\n2\n"), f"reset: {output}")
        with open(path, encoding="utf-8") as file:
            command.expect_equal(file.read(), text, "the ledger")


def test_host_gw_routes_of_a_former_network():
    """Network was another one before this start."""
    with host_gw_pair() as lab:
        lab.up()
        a, b = lab.nodes
        a.down()
        a.host.ip(f"route add 10.99.3.0/24 via {b.lease.public_ip} proto {MARK}")
        with traffic.nothing_lost((a.pod, b.pod_ip)):
            a.up()
            command.wait_until(lambda: list(routes(a.host)) == [b.lease.subnet], lambda: f"routes {routes(a.host)}", timeout=10)
            traffic.ping(a.pod, b.pod_ip, count=60, interval=0.01)


def test_host_gw_lost_routes():
    """Routes that another program removed are back by notification, not by the poll every nine seconds."""
    with host_gw_pair() as lab:
        lab.up()
        a, b = lab.nodes
        for _ in range(3):
            a.host.ip(f"route del {b.lease.subnet}")
            command.wait_until(lambda: b.lease.subnet in routes(a.host), "the route is back", timeout=2)


def test_host_gw_refuses_nat():
    with host_gw_pair() as lab:
        a, b = lab.nodes
        a.use([a.lease, b.lease])
        a.spawn(public_ip="203.0.113.1", iface="u0")
        reported = "peers would route to 203.0.113.1, but u0 has 192.168.77.1"
        command.wait_until(lambda: reported in a.health("/readyz")[1], lambda: f"readyz: {a.health('/readyz')}")


def direct_lab():
    """a, weft with DirectRouting; b on its link; c behind b, which routes. b and c are the kernel's."""
    lab = topology.Lab()
    try:
        first, second = topology.leases()
        third = lease.lease("c", "192.168.78.3", "10.244.3.0/24")
        a, b, c = lab.add(DirectNode, first), lab.add(node.KernelNode, second), lab.add(node.KernelNode, third)
        namespace.connect(a.host, "u0", b.host, "u0")
        namespace.connect(b.host, "u1", c.host, "u0")
        a.host.ip("addr add 192.168.77.1/24 dev u0", "route add 192.168.78.0/24 via 192.168.77.2")
        b.host.ip("addr add 192.168.77.2/24 dev u0", "addr add 192.168.78.254/24 dev u1")
        c.host.ip("addr add 192.168.78.3/24 dev u0", "route add default via 192.168.78.254")
        for each in lab.nodes:
            each.join_pod()
    except BaseException:
        lab.__exit__(None, None, None)
        raise
    return lab


def test_direct_routing():
    """The neighbour by a host route, the other peer through the tunnel; packets of the neighbour through the tunnel are accepted."""
    with direct_lab() as lab:
        lab.up()
        a, b, c = lab.nodes
        found = routes(a.host)
        command.expect_equal({each.name: found[each.lease.subnet] for each in (b, c)},
                             {"b": (b.lease.public_ip, "u0", MARK), "c": ("", node.DEVICE, MARK)}, "routes")
        command.expect_equal({each["name"]: each["text"] for each in a.status()["checks"]}["tunnels"], "1 up", "the check of tunnels")
        sent = {row["node"]: row["sentPackets"] for row in a.status()["peers"]}
        traffic.ping(a.pod, b.pod_ip)  # there by the route, back through the tunnel
        traffic.ping(b.pod, a.pod_ip)
        b.host.ip(f"route replace {a.lease.subnet} via {a.lease.public_ip} dev u0")  # b has DirectRouting too
        for one, other in ((a, b), (b, a), (a, c), (c, a)):
            traffic.ping(one.pod, other.pod_ip, size=1450, fragment=False)
            traffic.tcp(one.pod, other.pod, other.pod_ip, 4 << 20)
        now = {row["node"]: row["sentPackets"] for row in a.status()["peers"]}
        command.expect_equal(now["b"], sent.get("b", 0), "packets to b through the tunnel")
        command.expect(now["c"] > sent.get("c", 0) + 10, f"packets to c through the tunnel: {now}")
        a.down()
        command.expect_equal(routes(a.host), {"192.168.78.0/24": found["192.168.78.0/24"],
                                              b.lease.subnet: (b.lease.public_ip, "u0", MARK)}, "routes after the end")


def test_direct_routing_moves():
    """A peer that leaves the link and returns loses no packet."""
    with direct_lab() as lab:
        a, b, c = lab.nodes
        b.host.ip("addr add 192.168.79.2/32 dev lo")
        a.host.ip("route add 192.168.79.2 via 192.168.77.2")
        lab.up()
        moved = dataclasses.replace(b.lease, public_ip="192.168.79.2")
        with traffic.nothing_lost((a.pod, b.pod_ip), interval=0.005):
            for each, way in ((moved, ("", node.DEVICE, MARK)), (b.lease, (b.lease.public_ip, "u0", MARK))) * 2:
                a.use([a.lease, each, c.lease])
                command.wait_until(lambda way=way: routes(a.host)[b.lease.subnet] == way, lambda: f"routes {routes(a.host)}")
