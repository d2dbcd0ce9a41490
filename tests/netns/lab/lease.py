"""A node's lease, and the file of Kubernetes Nodes with it (as `kubectl get nodes -o json` prints them)."""

import dataclasses
import hashlib
import ipaddress
import json
import os

ANNOTATION = "flannel.alpha.coreos.com/"


def mac_for(text):
    """A stable, locally administered unicast address."""
    data = bytearray(hashlib.sha256(text.encode()).digest()[:6])
    data[0] = (data[0] & 0xFC) | 0x02
    return ":".join(f"{byte:02x}" for byte in data)


@dataclasses.dataclass(frozen=True)
class Lease:
    name: str
    public_ip: str = ""
    subnet: str = ""
    mac: str = ""
    public_ip6: str = ""
    subnet6: str = ""
    mac6: str = ""
    vni: int = 4096

    def node(self, **metadata):
        """The Node object; `metadata` replaces annotations by short name ("public-ip"), None removes one."""
        annotations = {"kube-subnet-manager": "true", "backend-type": "vxlan"}
        if self.subnet:
            annotations["public-ip"] = self.public_ip
            annotations["backend-data"] = backend_data(self.vni, self.mac)
        if self.subnet6:
            annotations["public-ipv6"] = self.public_ip6
            annotations["backend-v6-data"] = backend_data(self.vni, self.mac6)
        annotations.update({key.replace("_", "-"): value for key, value in metadata.items()})
        subnets = [subnet for subnet in (self.subnet, self.subnet6) if subnet]
        return {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {
                "name": self.name,
                "uid": f"uid-of-{self.name}",
                "creationTimestamp": "2026-11-20T08:00:00Z",
                "annotations": {ANNOTATION + key: value for key, value in annotations.items() if value is not None},
            },
            "spec": {"podCIDR": subnets[0], "podCIDRs": subnets} if subnets else {},
        }


def reporting(node, *addresses):
    """The Node with these status.addresses, as its kubelet reports them."""
    return {**node, "status": {"addresses": [{"type": "InternalIP", "address": each} for each in addresses]}}


def backend_data(vni, mac):
    return f'{{"VNI":{vni},"VtepMAC":"{mac}"}}'  # byte-exact, as flannel writes it


def lease(name, public_ip, subnet, public_ip6="", subnet6=""):
    return Lease(name, public_ip, str(subnet), mac_for(name), public_ip6, str(subnet6), mac_for(name + "/6") if subnet6 else "")


def crowd(count, subnets, first_public_ip="172.31.0.1", generation=0):
    """`count` far-away nodes over `subnets` (an iterator of networks); another generation has other MACs and addresses."""
    base = ipaddress.ip_address(first_public_ip) + generation * 65536
    return [Lease(f"far-{i:04d}", str(base + i), str(next(subnets)), mac_for(f"far-{i}-{generation}")) for i in range(count)]


def write_nodes(path, nodes):
    """All at once: a reader sees the old file or the new one."""
    write_text(path, json.dumps({"kind": "List", "apiVersion": "v1", "items": nodes}, indent=1))


def write_text(path, text):
    temporary = f"{path}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(temporary, path)
