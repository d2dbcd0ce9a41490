// SPDX-License-Identifier: Apache-2.0
// The host's interface for the emulated HNS: queries and changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/emulator/host/emulated_host.h"
#include "hns/document/guid.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::hns::emulator {

// Windows' name for the adapter that the host itself gets on a switch: "vEthernet (Ethernet)", or
// `pattern` with `of` in the place of its "*".
inline std::string HostAdapterName(std::string_view of,
                                   std::string_view pattern = "vEthernet (*)") {
  std::string name(pattern);
  const std::size_t star = name.find('*');
  return star == std::string::npos ? name : name.replace(star, 1, of);
}
inline bool IsHostAdapterName(std::string_view name) { return name.starts_with("vEthernet ("); }

// A network adapter that a switch can be built on: never a vEthernet one.
struct PhysicalAdapter {
  std::string name;  // "Ethernet": its own name, also while it is bound to a switch
  // False for Wi-Fi, wireguard, a team's member, or one bound to a foreign switch: HNS refuses it.
  bool usable = true;
  bool is_virtual = false;  // the host's adapter on a switch, whatever its name: HNS refuses it
};

// The host's address on a new switch until it has its own; the prefix length is 16.
inline constexpr std::string_view kLinkLocal = "169.254.149.216";

// The duration of a change of the switch.
struct SwitchTiming {
  host::Milliseconds gap{0};  // the machine is unreachable, and open connections break
  // Until the new interface exists; the old one is removed at once.
  host::Milliseconds new_interface{0};
  host::Milliseconds link_local{0};  // until its address is no longer kLinkLocal but the old one's
  host::StaticIpLoss lost = host::StaticIpLoss::kNothing;
};

// An endpoint as the host's own interface: HostAttach of HNS v1.
struct HostEndpoint {
  Guid id;
  std::string name;  // the interface is HostAdapterName(name)
  MacAddress mac;
  IpAddress address;
  int prefix_length = 0;
};

// Any thread. `host` outlives it, and may be changed by others too. Called with HNS's lock held.
class HostSide {
 public:
  explicit HostSide(host::EmulatedHost& host) : host_(host) {}

  std::optional<PhysicalAdapter> FindByName(std::string_view name) const;
  // The physical adapter that has the address, or on whose switch the host's adapter has it.
  std::optional<PhysicalAdapter> FindByAddress(const IpAddress& address) const;
  // The adapter of the default route.
  std::optional<PhysicalAdapter> FindDefault() const;
  std::vector<PhysicalAdapter> UsableAdapters() const;
  // The host's addresses on this adapter, or on its switch. Empty: no such adapter, or none yet.
  std::vector<IpAddress> AddressesOf(std::string_view adapter) const;

  // For the first external network: the adapter's addresses move to `host_adapter`, which has
  // another interface index; some static routes are lost.
  void AttachSwitch(std::string_view adapter, const std::string& host_adapter,
                    const SwitchTiming& timing);
  // After the last external network was deleted: everything moves back.
  void DetachSwitch(std::string_view adapter, const SwitchTiming& timing);

  void AttachEndpoint(const HostEndpoint& endpoint);
  void DetachEndpoint(const Guid& endpoint);

 private:
  host::EmulatedHost& host_;
};

}  // namespace weft::hns::emulator
