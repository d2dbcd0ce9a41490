// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"time"
)

type object = map[string]any

func nodeName(i int) string { return fmt.Sprintf("load-%06d", i) }

// after is `text`, an IPv4 address, plus a number.
func after(text string, number int) string {
	first, err := netip.ParseAddr(text)
	if err != nil || !first.Is4() {
		fmt.Fprintf(os.Stderr, "nodeload: %q is no IPv4 address\n", text)
		os.Exit(2)
	}
	address := first.As4()
	value := binary.BigEndian.Uint32(address[:]) + uint32(number)
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, value))).String()
}

// node is what a kubelet and a Linux flanneld of some months have made of a Node.
func node(i int) object {
	name, publicIP, podCIDR := nodeName(i), after(*address, i), after(*subnet, i<<8)+"/24"
	const flannel = "flannel.alpha.coreos.com/"
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{
			"name": name,
			"labels": object{
				"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			},
			"annotations": object{
				flannel + "backend-data": fmt.Sprintf(`{"VNI":4096,"VtepMAC":"02:00:%02x:%02x:%02x:%02x"}`,
					i>>24&255, i>>16&255, i>>8&255, i&255),
				flannel + "backend-type":                                 "vxlan",
				flannel + "kube-subnet-manager":                          "true",
				flannel + "public-ip":                                    publicIP,
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		"spec": object{"podCIDR": podCIDR, "podCIDRs": []string{podCIDR}},
		"status": object{
			"addresses":  []object{{"type": "InternalIP", "address": publicIP}, {"type": "Hostname", "address": name}},
			"conditions": []object{ready()},
			"nodeInfo": object{
				"architecture": "amd64", "operatingSystem": "linux", "kernelVersion": "6.12.0", "osImage": "Debian GNU/Linux 12",
				"containerRuntimeVersion": "containerd://2.1.0", "kubeletVersion": "v1.37.2", "kubeProxyVersion": "",
				"machineID": digest(i)[:32], "systemUUID": digest(i)[32:], "bootID": digest(-i)[:36],
			},
			"images": imageList(),
		},
	}
}

func digest(i int) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(i)))) }

func imageList() []object {
	list := make([]object, *images)
	for i := range list {
		repository := fmt.Sprintf("registry.example/component-%03d", i)
		list[i] = object{
			"names":     []string{repository + "@sha256:" + digest(i), fmt.Sprintf("%s:v1.2.%d", repository, i)},
			"sizeBytes": 12345678 + i,
		}
	}
	return list
}

func ready() object {
	now := time.Now().UTC().Format(time.RFC3339)
	return object{
		"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
		"lastHeartbeatTime": now, "lastTransitionTime": "2026-01-01T00:00:00Z", // a heartbeat is no transition
	}
}

// heartbeat never is what it was a second ago, so every one is a new version of the Node.
func heartbeat() object {
	beat := ready()
	beat["message"] = "kubelet is posting ready status, " + time.Now().UTC().Format(time.RFC3339Nano)
	return object{"status": object{"conditions": []object{beat}}}
}
