// SPDX-License-Identifier: Apache-2.0
// What HNS does to the machine it runs on, and what it asks of it. HNS decides when; whoever
// implements this decides what adapters, addresses and routes look like afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hns/document/guid.h"
#include "hns/emulator/clock.h"
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
  std::string name;  // "Ethernet": its own, also while a switch stands on it
  // Wi-Fi, wireguard, a team's member, or bound to a switch that is not HNS's: HNS refuses it.
  bool usable = true;
  bool is_virtual = false;  // the host's on a switch, whatever its name: HNS takes it for nonsense
};

// The host's address until it has one on a new switch; the prefix is 16 long.
inline constexpr std::string_view kLinkLocal = "169.254.149.216";

// A change of the switch is under way for a while.
struct SwitchTiming {
  Milliseconds gap{0};            // nothing reaches the machine, open connections break
  Milliseconds new_interface{0};  // until the new interface is there; the old one is gone at once
  Milliseconds link_local{0};     // until its address is the old one's, and no longer kLinkLocal
};

// An endpoint as the host's own interface: HostAttach of HNS v1.
struct HostEndpoint {
  Guid id;
  std::string name;  // the interface is HostAdapterName(name)
  MacAddress mac;
  IpAddress address;
  int prefix_length = 0;
};

// Called with HNS's lock held: does not call HNS, and does not sleep.
class HostSide {
 public:
  virtual ~HostSide() = default;

  virtual std::optional<PhysicalAdapter> FindByName(std::string_view name) = 0;
  // The physical adapter which has the address, or on whose switch the host's adapter has it.
  virtual std::optional<PhysicalAdapter> FindByAddress(const IpAddress& address) = 0;
  // The default route's.
  virtual std::optional<PhysicalAdapter> FindDefault() = 0;
  virtual std::vector<PhysicalAdapter> UsableAdapters() = 0;
  // The host's addresses on this adapter, or on its switch. Empty: no such adapter, or none yet.
  virtual std::vector<IpAddress> AddressesOf(std::string_view adapter) = 0;

  // The first external network: the adapter's addresses move to `host_adapter`, which has another
  // interface index; some static routes are lost on the way.
  virtual void AttachSwitch(std::string_view adapter, const std::string& host_adapter,
                            const SwitchTiming& timing) = 0;
  // The last one went: everything moves back.
  virtual void DetachSwitch(std::string_view adapter, const SwitchTiming& timing) = 0;

  virtual void AttachEndpoint(const HostEndpoint& endpoint) = 0;
  virtual void DetachEndpoint(const Guid& endpoint) = 0;
};

}  // namespace weft::hns::emulator
