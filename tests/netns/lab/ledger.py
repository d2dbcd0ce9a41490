"""Where packets can be lost between two pods, as named counters of the kernel and of weft; exact to the packet."""

import json

from . import command, traffic

# Counters of /proc/net/snmp and snmp6 that end a packet's way.
SNMP = {"Udp": ["NoPorts", "RcvbufErrors", "InCsumErrors", "MemErrors"], "Ip": ["InHdrErrors", "InAddrErrors", "InDiscards",
        "OutDiscards", "OutNoRoutes", "ReasmFails", "FragFails"]}
SNMP6 = ["Udp6NoPorts", "Udp6RcvbufErrors", "Udp6InCsumErrors", "Udp6MemErrors", "Ip6InHdrErrors", "Ip6InAddrErrors",
         "Ip6InDiscards", "Ip6OutDiscards", "Ip6InNoRoutes", "Ip6OutNoRoutes"]


def _snmp(where):
    lines = where.read("/proc/net/snmp").splitlines()
    for names, values in zip(lines[::2], lines[1::2]):
        protocol = names.split(":")[0]
        table = dict(zip(names.split()[1:], values.split()[1:]))
        for name in SNMP.get(protocol, []):
            yield f"{protocol}{name}", int(table.get(name, 0))
    for line in where.read("/proc/net/snmp6").splitlines():
        name, value = line.split()
        if name in SNMP6:
            yield name, int(value)


def _devices(where):
    """A full backlog behind a veth is counted where the packet was sent (tx_dropped); the same drop shows at the receiving
    end as rx_dropped, which is therefore left out for veths."""
    for name, link in where.devices().items():
        stats = link["stats64"]
        kind = link.get("linkinfo", {}).get("info_kind", "")
        yield f"{name} tx_dropped", stats["tx"]["dropped"]
        yield f"{name} tx_errors", stats["tx"]["errors"]
        if kind != "veth":
            yield f"{name} rx_dropped", stats["rx"]["dropped"]
            yield f"{name} rx_errors", stats["rx"]["errors"]
    for queue in json.loads(where.run("tc", "-s", "-j", "qdisc", "show") or "[]"):
        if queue.get("root") and queue["kind"] != "noqueue":
            yield f"{queue['dev']} qdisc {queue['kind']}", queue.get("drops", 0)


def read(nodes):
    """{"node place: counter": value} of everything that loses packets."""
    counts = {}
    for each in nodes:
        for place, where in (("pod", each.pod), ("host", each.host)):
            for source in (_snmp, _devices):
                for name, value in source(where):
                    counts[f"{each.name} {place}: {name}"] = value
        if each.kind == "weft":
            for tunnel in each.status()["tunnels"]:
                for direction in ("toWire", "toPods"):
                    for verdict in tunnel[direction]["packets"]:
                        if verdict["name"] != "forward":
                            counts[f"{each.name} {tunnel['device']} {direction}: {verdict['name']}"] = verdict["packets"]
    return counts


def balance_udp(one, other, timeout=20, **options):
    """Datagrams between two pods, none of which may vanish unnamed. Returns the books as text, and the sink's report."""
    before = read((one, other))
    sent, received = traffic.udp(one.pod, other.pod, other.pod_ip, seed=21, timeout=timeout, **options)
    command.expect_equal((received["corrupt"], received["duplicates"]), (0, 0), "corrupt and duplicate datagrams")
    losses = {}

    def balance():
        losses.clear()
        losses.update(difference(before, read((one, other))))
        return sent["datagrams"] == received["datagrams"] + sum(losses.values())

    def books():
        return f"sent {sent['datagrams']} = received {received['datagrams']} + {losses or 'nothing'}"

    command.wait_until(balance, lambda: f"the books do not balance: {books()}", timeout=10)
    return books(), received


def difference(before, after):
    return {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
