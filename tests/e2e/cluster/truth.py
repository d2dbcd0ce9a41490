"""The expected leases of a node, computed from the API server's raw Nodes."""

import ipaddress
import json

from lab.lease import ANNOTATION

KEYS = {"ipv4": ("public-ip", "backend-data"), "ipv6": ("public-ipv6", "backend-v6-data")}


def annotations(node):
    """flannel's, by their short names."""
    every = node["metadata"].get("annotations", {})
    return {key[len(ANNOTATION):]: value for key, value in every.items() if key.startswith(ANNOTATION)}


def subnets(node, family):
    return [each for each in node["spec"].get("podCIDRs", []) if (":" in each) == (family == "ipv6")]


def half(node, family):
    """A Node's lease as `flannelctl leases -o json` prints it, complete or not, without its state; None for a Node that flannel does not manage."""
    published = annotations(node)
    public_ip, backend_data = KEYS[family]
    if published.get("kube-subnet-manager") != "true" or not subnets(node, family):
        return None
    data = json.loads(published.get(backend_data, "null")) or {}
    lease = {"subnet": subnets(node, family)[0], "publicIP": published.get(public_ip), "vtepMAC": data.get("VtepMAC"), "vni": data.get("VNI")}
    return {key: value for key, value in lease.items() if value}


def leases(nodes, family):
    """{node: half} of all that have one."""
    return {node["metadata"]["name"]: lease for node in nodes if (lease := half(node, family))}


def peers(nodes, own, family, vni):
    """{subnet: (MAC, public IP)} that node `own` with this VNI must reach. Of Nodes with one subnet the oldest has it, as long as it exists."""
    own_subnets = [ipaddress.ip_network(each) for node in nodes if node["metadata"]["name"] == own for each in subnets(node, family)]
    found = {}
    for node in sorted(nodes, key=lambda node: (node["metadata"]["creationTimestamp"], node["metadata"]["name"])):
        lease = half(node, family)
        if not lease or node["metadata"]["name"] == own or annotations(node).get("backend-type") != "vxlan":
            continue
        if not {"publicIP", "vtepMAC"} <= set(lease) or lease.get("vni") != vni:
            continue
        if not any(ipaddress.ip_network(lease["subnet"]).overlaps(each) for each in own_subnets):
            found.setdefault(lease["subnet"], (lease["vtepMAC"], lease["publicIP"]))
    return found
