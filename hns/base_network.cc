// SPDX-License-Identifier: Apache-2.0
#include "hns/base_network.h"

#include "absl/strings/str_cat.h"

namespace weft::hns {
namespace {

constexpr std::uint32_t kBaseIsolationId = 9999;

// Types that bind an adapter to a vSwitch.
bool IsExternal(const Network& network) {
  for (const std::string_view type : {"Overlay", "L2Bridge", "L2Tunnel", "Transparent"})
    if (network.IsOfType(type)) return true;
  return false;
}

}  // namespace

bool IsBaseNetwork(const OverlaySpec& spec, const Network& network) {
  if (network.name == spec.name) return false;
  if (network.name == kBaseNetworkName) return true;
  if (!IsExternal(network) || (network.flags & kEnableNonPersistent) != 0) return false;
  return network.provider_address() == spec.node_address ||
         IsAdapterOf(spec, network.adapter_name());
}

Network BaseNetwork(const OverlaySpec& spec, std::size_t candidate) {
  // With its port, as OVN, the only known production user of another port, creates it: all networks
  // of a switch have one port.
  Network network = OverlayNetwork(spec, candidate);
  network.name = kBaseNetworkName;
  network.flags = 0;  // persistent
  Subnet& subnet = network.subnets.front();
  subnet.prefix = *IpPrefix::From(IpAddress::V4(0xC0A8'FF00), 30);  // 192.168.255.0/30
  subnet.isolation_id = kBaseIsolationId;
  subnet.routes.front().next_hop = subnet.prefix.base().Next();
  return network;
}

std::optional<Network> MissingBaseNetwork(const OverlaySpec& spec,
                                          std::span<const Network> networks,
                                          std::size_t candidate) {
  if (!spec.base_network || spec.name == kBaseNetworkName) return std::nullopt;
  for (const Network& network : networks)
    if (IsBaseNetwork(spec, network)) return std::nullopt;
  return BaseNetwork(spec, candidate);
}

std::string BaseNetworkCondition(const OverlaySpec& spec, const Network& network) {
  const auto ip = network.provider_address();
  const std::string adapter = network.adapter_name(), desired = PhysicalAdapter(spec.adapter);
  std::string why;
  if (network.degraded) {
    why = "HNS reports its adapter as gone";
  } else if (!IsExternal(network)) {
    why = absl::StrCat("its type is ", network.type, ", which binds no adapter");
  } else if (!adapter.empty() && !desired.empty() && !IsAdapterOf(spec, adapter) &&
             ip != spec.node_address) {
    why = absl::StrCat("it is on the adapter ", adapter, ", not on ", desired);
  } else if (ip && !ip->IsLinkLocal() && *ip != spec.node_address) {
    why = absl::StrCat("its management IP is ", ip->ToString(), ", not ",
                       spec.node_address.ToString());
  }
  if (why.empty()) return why;
  const std::string next_step =
      network.name == kBaseNetworkName
          ? absl::StrCat("delete it (Get-HnsNetwork | ? Name -eq ", network.name,
                         " | Remove-HnsNetwork) and start flanneld again, without "
                         "--hns-base-network if its NIC changes at each reboot")
          : "re-create it with the program that created it, or start flanneld without "
            "--hns-base-network";
  return absl::StrCat("the base network ", network.name, " does not keep the vSwitch: ", why,
                      "; drain this node, ", next_step);
}

}  // namespace weft::hns
