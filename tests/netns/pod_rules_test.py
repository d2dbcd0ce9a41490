"""The host's packet filter rules for pods (--ip-masq, --iptables-forward-rules), compared with the rules of upstream v0.28.9."""

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import socket
import struct

from lab import capture, command, footprint, frames, namespace, node, topology, traffic

SO_MARK = socket.SO_MARK
FIRST_PORT = 20000
OUTSIDE, OUTSIDE6 = "203.0.113.9", "2001:db8::9"
OUT, OUT6 = "10.50.0.1", "fd50::1"  # of the node on its link to the outside


class RulesNode(node.WeftNode):
    """Its tests judge the rules themselves: those in a chain of the host stay, as the manual documents."""

    def beyond_leaving(self, found):
        return [each for each in found if not each.startswith("nft ")]

    def reset(self, lab):
        return self.host.run(lab.program("flannelctl"), "reset", f"--state-dir={self.path('state')}", "--admin=none")


def condition(a, subject):
    return next((row.get("condition", "") for row in a.status()["conditions"] if row["subject"] == subject), "")


def env_line(a):
    with open(a.path("subnet.env"), encoding="utf-8") as file:
        return file.read().splitlines()[-1]


# ---- --ip-masq

# Description, source, destination, mark, and the source that the receiver sees; "" where none receives it.
PACKETS = [
    ("our pod to the outside", "10.244.1.2", OUTSIDE, 0, OUT),
    ("our pod to another node's pod", "10.244.1.2", "10.244.2.2", 0, "10.244.1.2"),
    ("our pod to a part of the network that no node has", "10.244.1.2", "10.244.200.9", 0, "10.244.1.2"),
    ("another node's pod to the outside", "10.244.2.7", OUTSIDE, 0, OUT),
    ("from one other node to another", "10.244.2.7", "10.244.200.9", 0, OUT),
    ("the outside to our pod", OUTSIDE, "10.244.1.2", 0, OUTSIDE),
    ("another node's pod to ours", "10.244.2.7", "10.244.1.2", 0, "10.244.2.7"),
    ("the host to another node's pod", "192.168.77.1", "10.244.2.2", 0, "10.244.1.0"),
    ("the host to a part that no node has", "192.168.77.1", "10.244.200.9", 0, OUT),
    ("the tunnel's own address to another node's pod", "10.244.1.0", "10.244.2.2", 0, "10.244.1.0"),
    ("our pod to a group", "10.244.1.2", "239.1.2.3", 0, "10.244.1.2"),
    ("what is not the cluster's", "192.168.77.9", OUTSIDE, 0, "192.168.77.9"),
    ("marked by kube-proxy", "10.244.1.2", OUTSIDE, 0x4000, "10.244.1.2"),
    ("marked by kube-proxy and another program", "10.244.1.2", OUTSIDE, 0xC001, "10.244.1.2"),
    ("another mark", "10.244.1.2", OUTSIDE, 0x8000, OUT),
    ("IPv6: our pod to the outside", "fd10:244:0:1::2", OUTSIDE6, 0, OUT6),
    ("IPv6: our pod to another node's pod", "fd10:244:0:1::2", "fd10:244:0:2::2", 0, "fd10:244:0:1::2"),
    ("IPv6: another node's pod to the outside", "fd10:244:0:2::7", OUTSIDE6, 0, OUT6),
    ("IPv6: the outside to our pod", OUTSIDE6, "fd10:244:0:1::2", 0, OUTSIDE6),
    ("IPv6: the host to another node's pod", "fd77::1", "fd10:244:0:2::2", 0, "fd10:244:0:1::"),
    ("IPv6: marked by kube-proxy", "fd10:244:0:1::2", OUTSIDE6, 0x4000, "fd10:244:0:1::2"),
]
# With EnableNFTables upstream masquerades fewer of them, and compares kube-proxy's mark with the whole mark.
BY_NFTABLES = {"from one other node to another": "10.244.2.7", "the host to another node's pod": "192.168.77.1",
               "the host to a part that no node has": "192.168.77.1", "marked by kube-proxy and another program": OUT,
               "IPv6: the host to another node's pod": "fd77::1"}


def datagram6(source, destination, port):
    def pack(text):
        return socket.inet_pton(socket.AF_INET6, text)
    length = 12
    udp = struct.pack("!HHHH", 7, port, length, 0) + b"weft"
    total = frames.checksum(pack(source) + pack(destination) + struct.pack("!IxxxB", length, 17) + udp)
    return (struct.pack("!IHBB", 6 << 28, length, 17, 64) + pack(source) + pack(destination)
            + udp[:6] + struct.pack("!H", total or 0xFFFF) + udp[8:])


def send(host, packets):
    for i, (_, source, destination, mark, _) in enumerate(packets):
        v6 = ":" in destination
        with host.entered():
            sender = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        with sender:
            sender.setsockopt(socket.SOL_SOCKET, SO_MARK, mark)
            data = datagram6(source, destination, FIRST_PORT + i) if v6 else frames.udp(source, destination, 7, FIRST_PORT + i)
            sender.sendto(data, (destination, 0))


def join_outside(lab):
    """Beyond node a, with a route from there to all that is not the cluster's and to a part of the network that no node has; returned."""
    a = lab.nodes[0]
    beyond = namespace.Namespace("outside")
    lab.closing.append(beyond)
    namespace.connect(a.host, "out0", beyond, "in0")
    a.host.ip(f"addr add {OUT}/24 dev out0", f"addr add {OUT6}/64 dev out0 nodad", "route add default via 10.50.0.2",
              "route add 10.244.200.0/24 via 10.50.0.2", "route add 239.0.0.0/8 dev out0", "route add default via fd50::2",
              "neigh add 10.50.0.2 lladdr 02:00:00:00:00:99 dev out0", "neigh add fd50::2 lladdr 02:00:00:00:00:99 dev out0")
    for each in lab.nodes:  # sources come from where no route leads back
        each.host.sysctl(**{f"net__ipv4__conf__{name}__rp_filter": 0 for name in ("all", "default", "u0")})
    return beyond


def sources(lab, beyond, packets):
    """{what: the source that arrived}."""
    found = {}
    a, b = lab.nodes
    with contextlib.ExitStack() as stack:
        caught = [stack.enter_context(capture.Capture(lab, where, device, f"udp portrange {FIRST_PORT}-{FIRST_PORT + 999}"))
                  for where, device in ((beyond, "in0"), (a.pod, "e0"), (b.pod, "e0"))]
        send(a.host, packets)

        def arrived():
            for each in caught:
                for row in each.rows(["ip.src", "ipv6.src", "udp.dstport"], "udp && !icmp && !icmpv6"):
                    what = packets[int(row["udp.dstport"][0]) - FIRST_PORT][0]
                    found[what] = (row["ip.src"] or row["ipv6.src"])[0]
            return len(found) == len(packets)
        command.wait_until(arrived, lambda: f"only these arrived: {found}", timeout=20, interval=0.5)
    return found


def upstream_rules(a, network, subnet, program):
    """Upstream's chain for masquerading, in its order."""
    group = "ff00::/8" if ":" in network else "224.0.0.0/4"
    for rule in (f"-m mark --mark 0x4000/0x4000 -j RETURN", f"-s {subnet} -d {network} -j RETURN", f"-s {network} -d {subnet} -j RETURN",
                 f"! -s {network} -d {subnet} -j RETURN", f"-s {network} ! -d {group} -j MASQUERADE --random-fully",
                 f"! -s {network} -d {network} -j MASQUERADE --random-fully"):
        a.host.run(program, "-t", "nat", "-A", "POSTROUTING", *rule.split())


def test_masquerade():
    """Which packets are masqueraded; and the same packets with a kernel device and upstream's own rules."""
    expected = {what: source for what, _, _, _, source in PACKETS}
    with topology.pair(RulesNode, node.KernelNode, ipv6=True) as lab:
        beyond = join_outside(lab)
        lab.up(ip_masq="true")
        command.expect_equal(sources(lab, beyond, PACKETS), expected, "sources under --ip-masq")
        command.expect_equal(env_line(lab.nodes[0]), "FLANNEL_IPMASQ=true", "subnet.env")
    with topology.pair(node.KernelNode, node.KernelNode, ipv6=True) as lab:
        beyond = join_outside(lab)
        lab.up()
        a = lab.nodes[0]
        upstream_rules(a, lab.network, a.lease.subnet, "iptables")
        upstream_rules(a, lab.network6, a.lease.subnet6, "ip6tables")
        command.expect_equal(sources(lab, beyond, PACKETS), expected, "sources under upstream's rules")


def test_masquerade_as_by_nftables():
    class NftablesNode(RulesNode):
        def net_conf(self):
            return {**super().net_conf(), "EnableNFTables": True}

    with topology.pair(NftablesNode, node.KernelNode, ipv6=True) as lab:
        beyond = join_outside(lab)
        lab.up(ip_masq="true")
        expected = {what: BY_NFTABLES.get(what, source) for what, _, _, _, source in PACKETS}
        command.expect_equal(sources(lab, beyond, PACKETS), expected, "sources with EnableNFTables")


def test_no_masquerade():
    """Without the flag no packet is, and the rules of an earlier start are removed."""
    with topology.pair(RulesNode, node.KernelNode, ipv6=True) as lab:
        beyond = join_outside(lab)
        lab.up(ip_masq="true")
        a = lab.nodes[0]
        a.down()
        command.expect("table inet weft" in ruleset(a), "the table did not outlive the daemon")
        a.up(ip_masq="false")
        command.expect_equal(ruleset(a), "", "ruleset without --ip-masq")
        command.expect_equal(env_line(a), "FLANNEL_IPMASQ=false", "subnet.env")
        found = sources(lab, beyond, PACKETS)
        changed = [what for what, source, _, _, _ in PACKETS if found[what] != source]
        command.expect_equal(changed, [], "masqueraded without --ip-masq")


def ruleset(a):
    return a.host.run("nft", "list", "ruleset")


def test_the_table_is_restored():
    """A deleted table is restored within seconds, and the log reports it."""
    with topology.pair(RulesNode, node.KernelNode) as lab:
        lab.up(ip_masq="true")
        a = lab.nodes[0]
        whole = ruleset(a)
        for change in ("delete table inet weft", "flush ruleset"):
            a.host.run("nft", *change.split())
            command.wait_until(lambda: ruleset(a) == whole, lambda: f"after {change}: {ruleset(a)!r}", timeout=10)
        command.expect("another program removed or changed nftables' table inet weft" in a.log_text(), a.last_words())
        command.expect_equal(env_line(a), "FLANNEL_IPMASQ=true", "subnet.env")


def test_a_foreign_table():
    """A foreign table of our name is kept; no packet is masqueraded, so subnet.env has FLANNEL_IPMASQ=false, and status reports it."""
    with topology.pair(RulesNode, node.KernelNode) as lab:
        a = lab.nodes[0]
        a.host.run("nft", "-f", "-", stdin="table inet weft {\nchain c {\naccept\n}\n}\n")
        foreign = ruleset(a)
        lab.up(ip_masq="true")
        command.expect_equal((ruleset(a), env_line(a)), (foreign, "FLANNEL_IPMASQ=false"), "ruleset and subnet.env")
        command.expect("table inet weft was not made by flanneld" in condition(a, "masquerade"), condition(a, "masquerade"))
        a.host.run("nft", "delete", "table", "inet", "weft")
        command.wait_until(lambda: env_line(a) == "FLANNEL_IPMASQ=true", lambda: f"subnet.env: {env_line(a)}", timeout=5)
        command.expect_equal(condition(a, "masquerade"), "", "condition")


# ---- --iptables-forward-rules

PROGRAMS = {"nft": ("iptables", "ip6tables"), "legacy": ("iptables-legacy", "ip6tables-legacy")}


def rules_of(host):
    """What every kind of packet filter shows, without what it counted."""
    shown = [host.run("nft", "list", "ruleset")]
    for family, program in (("ip", "iptables-legacy-save"), ("ip6", "ip6tables-legacy-save")):
        with contextlib.suppress(FileNotFoundError):
            if "filter" in host.read(f"/proc/net/{family}_tables_names").split():
                shown += [re.sub(r" \[\d+:\d+\]$", "", line) for line in host.run(program).splitlines() if not line.startswith("#")]
    return shown


def drop_by_policy(host, kind):
    for program in PROGRAMS[kind]:
        host.run(program, "-P", "FORWARD", "DROP")


def talk(a, b):
    for one, other in ((a, b), (b, a)):
        for address in (other.pod_ip, other.pod_ip6):
            traffic.ping(one.pod, address)


def forward(kind):
    with topology.pair(RulesNode, RulesNode, ipv6=True) as lab:
        a, b = lab.nodes
        drop_by_policy(a.host, kind)  # before the start, and after it on b
        before = rules_of(a.host)
        lab.up()
        drop_by_policy(b.host, kind)
        for each in (a, b):
            command.wait_until(lambda each=each: all(each.host.run(program, "-S", "FORWARD").count("weft-forward") == 2 for program in PROGRAMS[kind]),
                               lambda each=each: f"rules of {each.name}: {rules_of(each.host)}", timeout=30)
        talk(a, b)
        a.host.run(PROGRAMS[kind][0], "-F", "FORWARD")
        command.wait_until(lambda: a.host.run(PROGRAMS[kind][0], "-S", "FORWARD").count("weft-forward") == 2, "the rules are back", timeout=30)
        talk(a, b)
        a.down()
        command.expect(rules_of(a.host) != before, "the rules did not outlive the daemon")
        reported = a.reset(lab)
        command.expect("deleted accept rules in chain FORWARD" in reported, reported)
        command.expect_equal(rules_of(a.host), before, "rules after a reset")
        a.up(iptables_forward_rules="false")
        command.expect_equal(rules_of(a.host), before, "rules with --iptables-forward-rules=false")
        for address in (b.pod_ip, b.pod_ip6):
            command.expect(traffic.ping_fails(a.pod, address), f"{address} answers although FORWARD drops")


def test_forward_nft():
    forward("nft")


def test_forward_legacy():
    forward("legacy")


class UserNode(RulesNode):
    """Its daemon is a user with the capabilities that README asks for, and a /dev/net/tun that a user may open."""

    def __init__(self, lab, own, mtu=1500):
        super().__init__(lab, own, mtu)
        os.chmod(lab.folder, 0o755)
        os.chown(self.folder, 64999, 64999)
        caps = "+net_admin,+net_raw"
        self.under = ("unshare", "--mount", "sh", "-c", 'mknod -m 666 "$0" c 10 200 && mount --bind "$0" /dev/net/tun && exec "$@"', self.path("tun"),
                      "setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", f"--inh-caps={caps}", f"--ambient-caps={caps}")


def test_forward_legacy_that_may_not_be_read():
    """Which legacy tables there are only root may read: that is one line, and changes neither the lease nor readiness."""
    with topology.pair(UserNode, node.KernelNode) as lab:
        a, b = lab.nodes
        shutil.copy(lab.program("flanneld"), lab.folder)  # the build's folder may be closed to that user
        lab.program = lambda name: os.path.join(lab.folder, name)
        a.host.run("iptables-legacy", "-P", "FORWARD", "DROP")
        lab.up()
        line = "it is not known whether this host has tables of iptables-legacy"
        command.wait_until(lambda: line in a.log_text(), lambda: a.last_words(), timeout=10)
        a.host.run("iptables-legacy", "-P", "FORWARD", "ACCEPT")
        traffic.ping(a.pod, b.pod_ip, count=60)
        found = (a.log_text().count(line), a.health("/readyz")[0], condition(a, "forward-rules"), a.leases()["leases"][1]["ipv4"]["state"])
        command.expect_equal(found, (1, 200, "", "usable"), "lines, readyz, condition, lease")


def test_forward_without_a_chain():
    """On a host without iptables no chain is created."""
    with topology.pair(RulesNode, node.KernelNode, ipv6=True) as lab:
        lab.up()
        a, b = lab.nodes
        talk(a, b)
        command.expect_equal(rules_of(a.host), [""], "rules")


# ---- What upstream leaves

KERNEL_DEVICE = f"link add {node.DEVICE} type vxlan id {{vni}} local 192.168.77.1 dev u0 dstport {node.PORT} nolearning"


def test_kernel_device():
    """Upstream's device is named, and waited for; deleted only by the flag."""
    with topology.pair(RulesNode, node.KernelNode) as lab:
        a, b = lab.nodes
        b.up()
        b.use([a.lease])
        a.use([a.lease, b.lease])
        a.before = footprint.take(a.host)
        a.host.ip(KERNEL_DEVICE.format(vni=node.VNI))
        a.spawn()
        command.wait_until(lambda: f"device {node.DEVICE} is a vxlan device of the kernel (VNI 4096, UDP port 4789)" in a.log_text(),
                           lambda: a.last_words(), timeout=10)
        command.expect("--replace-kernel-device" in a.log_text(), a.last_words())
        a.daemon.expect_running()
        command.expect_equal(a.health("/readyz")[0], 503, "readyz next to the kernel's device")
        command.expect_equal(kind(a), "vxlan", "the device")
        a.host.ip(f"link delete {node.DEVICE}")
        command.wait_until(lambda: a.health("/readyz")[0] == 200, lambda: a.last_words(), timeout=10)
        traffic.ping(a.pod, b.pod_ip)


def kind(a):
    return a.host.devices().get(node.DEVICE, {}).get("linkinfo", {}).get("info_kind")


def test_replace_kernel_device():
    with topology.pair(RulesNode, node.KernelNode, ipv6=True) as lab:
        a, b = lab.nodes
        a.before = footprint.take(a.host)
        a.host.ip(KERNEL_DEVICE.format(vni=node.VNI), f"link set {node.DEVICE} up",
                  f"link add {node.DEVICE6} type vxlan id {node.VNI} local fd77::1 dev u0 dstport {node.PORT} nolearning")
        lab.up(replace_kernel_device="true")
        command.expect_equal(kind(a), "tun", "the device")
        command.expect(f"deleted the kernel's vxlan device {node.DEVICE} (--replace-kernel-device)" in a.log_text(), a.last_words())
        talk(a, b)
        # Upstream's flanneld still runs and makes it again: two programs are not to fight over it.
        a.process.send_signal(signal.SIGSTOP)  # else it makes its own again in between
        a.host.ip(f"link delete {node.DEVICE}", KERNEL_DEVICE.format(vni=node.VNI))
        a.process.send_signal(signal.SIGCONT)
        command.wait_until(lambda: f"device {node.DEVICE} is a vxlan device of the kernel" in a.log_text(), lambda: a.last_words(), timeout=10)
        command.expect_equal(kind(a), "vxlan", "the device that came again")
        a.host.ip(f"link delete {node.DEVICE}")
        command.wait_until(lambda: kind(a) == "tun", lambda: a.last_words(), timeout=10)
        talk(a, b)


def test_replaces_no_other_device():
    """One of another VNI, or of another kind, may have our name by accident."""
    for line, word in ((KERNEL_DEVICE.format(vni=7), "with VNI 7, not 4096"), (f"link add {node.DEVICE} type bridge", "is foreign (kind bridge)")):
        with topology.pair(RulesNode, node.KernelNode) as lab:
            a, b = lab.nodes
            a.use([a.lease, b.lease])
            a.host.ip(line)
            before = kind(a)
            a.spawn(replace_kernel_device="true")
            command.wait_until(lambda: word in a.log_text(), lambda: a.last_words(), timeout=10)
            a.daemon.expect_running()
            command.expect_equal(kind(a), before, "the device")


def test_kernel_device_with_the_port():
    """Upstream's of another VNI, after net-conf changed."""
    with topology.pair(RulesNode, node.KernelNode) as lab:
        a, b = lab.nodes
        b.up()
        b.use([a.lease])
        a.use([a.lease, b.lease])
        a.before = footprint.take(a.host)
        a.host.ip(f"link add flannel.1 type vxlan id 1 local 192.168.77.1 dev u0 dstport {node.PORT} nolearning", "link set flannel.1 up")
        a.spawn(replace_kernel_device="true")
        command.wait_until(lambda: "device flannel.1 of the kernel (VNI 1)" in a.log_text(), lambda: a.last_words(), timeout=10)
        a.daemon.expect_running()
        command.expect("flannel.1" in a.host.devices(), "the flag deleted a device of another name")
        a.host.ip("link delete flannel.1")
        command.wait_until(lambda: a.health("/readyz")[0] == 200, lambda: a.last_words(), timeout=10)
        traffic.ping(a.pod, b.pod_ip)


# ---- Where net-conf names neither VNI nor port

class BareNode(RulesNode):
    def net_conf(self):
        return {**super().net_conf(), "Backend": {"Type": "vxlan", "Prot": 1}}


class LinuxFlannelNode(node.KernelNode):
    """As upstream sets a Linux node up by default."""

    def _device(self, device, local, mac, mtu, address):
        self.host.ip(f"link add flannel.1 address {mac} mtu {mtu} type vxlan id 1 local {local} dev u0 dstport 8472 nolearning udpcsum",
                     f"addr add {address} dev flannel.1", "link set flannel.1 up")

    def _halves(self, peer):
        return (("flannel.1", *rest) for _, *rest in super()._halves(peer))


def test_defaults():
    """VNI 1 and port 8472, as every Linux node of such a cluster; a cluster that has another VNI is a condition."""
    with topology.pair(BareNode, LinuxFlannelNode) as lab:
        a, b = lab.nodes
        ours = [dataclasses.replace(each.lease, vni=1) for each in lab.nodes]
        lab.up(leases=ours)
        for one, other in ((a, b), (b, a)):
            traffic.ping(one.pod, other.pod_ip)
        log = a.log_text()
        for word in ("vxlan: VNI 1, UDP port 8472", "Backend.VNI is absent: 1 is used", '"prot" is unknown and ignored'):
            command.expect(word in log, f"the log lacks {word!r}")
        command.expect_equal(condition(a, "vni"), "", "condition")
        a.use([ours[0], b.lease])
        command.wait_until(lambda: "our VNI 1 is used by none of the 1 other node (b publishes 4096)" in condition(a, "vni"),
                           lambda: f"status shows {a.status()['conditions']}", timeout=5)
        shown = a.host.run(lab.program("flannelctl"), "status", f"--admin={a.path('admin.sock')}", check=False)
        command.expect("our VNI 1 is used by none" in shown, shown)
        a.use(ours)
        command.wait_until(lambda: not condition(a, "vni"), lambda: condition(a, "vni"), timeout=5)


# ---- The interface

def test_interface_down_and_mtu():
    class HugeNode(RulesNode):
        def net_conf(self):
            conf = super().net_conf()
            conf["Backend"]["MTU"] = 9000
            return conf

    with topology.pair(HugeNode, node.KernelNode) as lab:
        lab.up()
        a, _ = lab.nodes
        command.expect("Backend.MTU 9000 of net-conf exceeds the MTU of u0, 1500" in condition(a, "mtu"), condition(a, "mtu"))
        command.expect_equal(condition(a, "interface"), "", "condition")
        a.host.ip("link set u0 down")
        command.wait_until(lambda: "the interface u0 is down" in condition(a, "interface"), lambda: f"{a.status()['conditions']}", timeout=13)
        a.host.ip("link set u0 up")
        command.wait_until(lambda: not condition(a, "interface"), lambda: condition(a, "interface"), timeout=8)
