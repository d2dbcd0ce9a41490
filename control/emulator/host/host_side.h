// SPDX-License-Identifier: Apache-2.0
// The host as its HNS sees it, and what HNS does to it.
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
  std::string name;  // "Ethernet": its own, also while it is bound to a switch
  // Wi-Fi, wireguard, a team's member, or bound to a switch that is not HNS's: HNS refuses it.
  bool usable = true;
  bool is_virtual = false;  // the host's on a switch, whatever its name: HNS takes it for nonsense
};

// The host's address until it has one on a new switch; the prefix is 16 long.
inline constexpr std::string_view kLinkLocal = "169.254.149.216";

// How long a change of the switch takes.
struct SwitchTiming {
  host::Milliseconds gap{0};  // nothing reaches the machine, open connections break
  // Until the new interface exists; the old one is gone at once.
  host::Milliseconds new_interface{0};
  host::Milliseconds link_local{0};  // until its address is the old one's, and no longer kLinkLocal
};

// An endpoint as the host's own interface: HostAttach of HNS v1.
struct HostEndpoint {
  Guid id;
  std::string name;  // the interface is HostAdapterName(name)
  MacAddress mac;
  IpAddress address;
  int prefix_length = 0;
};

// Any thread. `host` outlives it; others may change it too. Called with HNS's lock held.
class HostSide {
 public:
  explicit HostSide(host::EmulatedHost& host) : host_(host) {}

  std::optional<PhysicalAdapter> FindByName(std::string_view name) const;
  // The physical adapter which has the address, or on whose switch the host's adapter has it.
  std::optional<PhysicalAdapter> FindByAddress(const IpAddress& address) const;
  // The default route's.
  std::optional<PhysicalAdapter> FindDefault() const;
  std::vector<PhysicalAdapter> UsableAdapters() const;
  // The host's addresses on this adapter, or on its switch. Empty: no such adapter, or none yet.
  std::vector<IpAddress> AddressesOf(std::string_view adapter) const;

  // The first external network: the adapter's addresses move to `host_adapter`, which has another
  // interface index; some static routes are lost on the way.
  void AttachSwitch(std::string_view adapter, const std::string& host_adapter,
                    const SwitchTiming& timing);
  // The last one went: everything moves back.
  void DetachSwitch(std::string_view adapter, const SwitchTiming& timing);

  void AttachEndpoint(const HostEndpoint& endpoint);
  void DetachEndpoint(const Guid& endpoint);

 private:
  host::EmulatedHost& host_;
};

}  // namespace weft::hns::emulator
