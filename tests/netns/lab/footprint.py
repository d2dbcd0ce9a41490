"""Objects of a node that other programs may use: devices, addresses, routes, rules of routing and of the firewall, sysctls; as values."""

import os
import re

MARK = "87"  # protocol of the routes of the host, by which a later process recognizes them
OWN_TABLE = re.compile(r"^table inet weft \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)  # by which --ip-masq masquerades
SYSCTLS = "/proc/sys/net"
# Made by the kernel, at any time.
COUNTERS = ("netfilter/nf_conntrack_", "nf_conntrack_max")
MOMENTARY_FLAGS = {"LOWER_UP", "RUNNING", "NO-CARRIER"}


def _link(row):
    info = row.get("linkinfo", {})
    flags = sorted(set(row["flags"]) - MOMENTARY_FLAGS)
    fields = {key: row.get(key) for key in ("mtu", "address", "master", "promiscuity", "allmulti", "txqlen", "qdisc", "group", "num_tx_queues",
                                            "gso_max_size", "gso_max_segs", "gro_max_size", "altnames")}
    return {**fields, "flags": flags, "kind": info.get("info_kind"), "data": info.get("info_data")}


def _by_itself(prefix):
    """IPv6's link-local and multicast entries follow the link's state."""
    return prefix.startswith(("fe80:", "ff00:", "multicast"))


def _routes(where, family):
    for row in where.show(family, "route", "show", "table", "all"):
        if not _by_itself(row["dst"]):
            yield " ".join(f"{key} {row[key]}" for key in ("type", "dst", "gateway", "dev", "table", "protocol", "scope", "prefsrc", "metric")
                           if key in row)


def _sysctls(where):
    found = {}
    with where.entered():
        for folder, _, names in os.walk(SYSCTLS):
            for name in names:
                path = os.path.join(folder, name)
                key = os.path.relpath(path, SYSCTLS)
                if key.startswith(COUNTERS):
                    continue
                try:
                    with open(path, encoding="utf-8") as file:
                        found[f"sysctl net/{key}"] = file.read().strip()
                except OSError:  # some can be written only
                    pass
    return found


def take(where, without=()):
    """{what: value}; `without`: devices that are no part of it, with all that belongs to them."""
    found = _sysctls(where)
    for row in where.show("-details", "link", "show"):
        found[f"device {row['ifname']}"] = _link(row)
    for row in where.show("address", "show"):
        for each in row["addr_info"]:
            if not _by_itself(each["local"]):
                found[f"address {each['local']}/{each['prefixlen']} dev {row['ifname']}"] = {key: each.get(key) for key in ("scope", "label", "broadcast")}
    for family in ("-4", "-6"):
        for route in _routes(where, family):
            found[f"route {route}"] = family
        for row in where.show(family, "rule", "show"):
            found[f"rule {family} {sorted(row.items())}"] = ""
    ruleset = where.run("nft", "list", "ruleset")
    found["nft list ruleset"] = OWN_TABLE.sub("", ruleset)
    if OWN_TABLE.search(ruleset):
        found["nft table inet weft"] = OWN_TABLE.search(ruleset)[0]
    return {key: value for key, value in found.items() if not any(_belongs(key, device) for device in without)}


def _belongs(key, device):
    return f"/{device}/" in key or key.endswith(f"device {device}") or f" dev {device} " in key + " "


def differences(before, after):
    """As sentences; a new or missing device represents all that belongs to it."""
    keys = before.keys() ^ after.keys()
    devices = [key.split()[1] for key in keys if key.startswith("device ")]
    keys = [key for key in keys if key.startswith("device ") or not any(_belongs(key, device) for device in devices)]
    found = [f"{key} is {'gone' if key in before else 'new'}" for key in keys]
    found += [f"{key} was {before[key]!r} and is {after[key]!r}" for key in before if key in after and before[key] != after[key]]
    return sorted(found)


def without_left_table(found):
    """Of `differences`: without the table of --ip-masq, which outlives the daemon, as upstream's rules do: subnet.env speaks of it."""
    return [each for each in found if each != "nft table inet weft is new"]


def without_left_routes(found):
    """Of `differences`: without the routes of the host, which outlive the daemon, as upstream's do, and may have replaced upstream's."""
    left = [each for each in found if each.startswith("route ") and each.endswith(" is new") and f" protocol {MARK} " in each]
    replaced = [f"route dst {each.split()[2]} gateway " for each in left]
    return [each for each in found if each not in left and not each.startswith(tuple(replaced))]
