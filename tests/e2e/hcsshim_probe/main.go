// Sends HNS the requests of a Windows node's Go programs, through the library that all of them use,
// and prints the parsed answers as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/Microsoft/hcsshim"
	"github.com/Microsoft/hcsshim/hcn"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func overlay(name string) *hcn.HostComputeNetwork {
	vsid := must(json.Marshal(hcn.VsidPolicySetting{IsolationId: 4097}))
	policy := must(json.Marshal(hcn.SubnetPolicy{Type: hcn.VSID, Settings: vsid}))
	return &hcn.HostComputeNetwork{
		Name: name, Type: hcn.Overlay, SchemaVersion: hcn.V2SchemaVersion(), Flags: hcn.EnableNonPersistent,
		Ipams: []hcn.Ipam{{Type: "Static", Subnets: []hcn.Subnet{{
			IpAddressPrefix: "10.245.3.0/24", Policies: []json.RawMessage{policy},
			Routes: []hcn.Route{{NextHop: "10.245.3.1", DestinationPrefix: "0.0.0.0/0"}}}}}},
	}
}

func main() {
	globals := must(hcn.GetGlobals())
	network := must(overlay("probe").Create())
	_, again := overlay("probe").Create()
	route := must(json.Marshal(hcn.RemoteSubnetRoutePolicySetting{
		DestinationPrefix: "10.245.9.0/24", IsolationId: 4097, ProviderAddress: "192.168.80.99",
		DistributedRouterMacAddress: "00-11-22-33-44-55"}))
	request := hcn.PolicyNetworkRequest{Policies: []hcn.NetworkPolicy{{Type: hcn.RemoteSubnetRoute, Settings: route}}}
	if err := network.AddPolicy(request); err != nil {
		must(0, err)
	}
	space := must(hcn.NewNamespace(hcn.NamespaceTypeHost).Create())
	endpoint := must(network.CreateEndpoint(&hcn.HostComputeEndpoint{
		Name: "pod", SchemaVersion: hcn.V2SchemaVersion(),
		IpConfigurations: []hcn.IpConfig{{IpAddress: "10.245.3.7"}},
		Routes:           []hcn.Route{{NextHop: "10.245.3.1", DestinationPrefix: "0.0.0.0/0"}}}))
	if err := endpoint.NamespaceAttach(space.Id); err != nil {
		must(0, err)
	}
	attached := must(hcn.GetNamespaceEndpointIds(space.Id))
	_, missing := hcn.GetNetworkByName("none")
	read := must(hcn.GetNetworkByName("probe"))
	v1 := must(hcsshim.GetHNSNetworkByName("probe"))
	if err := endpoint.Delete(); err != nil {
		must(0, err)
	}
	if err := space.Delete(); err != nil {
		must(0, err)
	}
	if err := network.Delete(); err != nil {
		must(0, err)
	}
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"version": fmt.Sprintf("%d.%d", globals.Version.Major, globals.Version.Minor),
		"type": read.Type, "policies": read.Policies, "attached": len(attached) == 1 && attached[0] == endpoint.Id,
		"alreadyExists": again != nil && strings.Contains(again.Error(), "0x803b0010"), "notFound": hcn.IsNotFoundError(missing),
		"v1Subnet": v1.Subnets[0].AddressPrefix, "v1Type": v1.Type,
		"left": len(must(hcn.ListNetworks())) + len(must(hcn.ListEndpoints())) + len(must(hcn.ListNamespaces())),
	}))
}
