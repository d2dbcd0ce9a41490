// SPDX-License-Identifier: Apache-2.0
// net-conf.json: the cluster-wide configuration that all flannel nodes share, read as
// upstream v0.28.9 reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mtu.h"
#include "vxlan/vni.h"

namespace weft::control {

enum class BackendType : std::uint8_t {
  kVxlan,
  kHostGw,  // peers by host routes, all on one link
  kAlloc,   // lease and subnet.env only: no peers, no device
};
// As net-conf and the backend-type annotation write it: "vxlan".
std::string_view Name(BackendType type);

// A known key, of the document or of Backend with a Type. Unknown keys are reported in a note.
struct NetConfKey {
  std::optional<BackendType> backend;  // empty: of the document
  std::string_view name;               // in the document's spelling
  std::string_view value;              // "true|false", "NUMBER", "BLOCK"
  std::string_view help;               // one sentence, no full stop
};
std::span<const NetConfKey> NetConfKeys();

// Upstream's defaults for a VNI and a UDP port that net-conf does not set. They depend on the data
// plane.
struct VxlanDefaults {
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;
  friend bool operator==(const VxlanDefaults&, const VxlanDefaults&) = default;
};
inline constexpr VxlanDefaults kHnsDefaults{};
// 8472 is the Linux kernel's default, from before IANA assigned 4789.
inline constexpr VxlanDefaults kLinuxDefaults{*Vni::From(1), 8472};

struct NetConf {
  bool enable_ipv4 = true;
  bool enable_ipv6 = false;
  bool ipv6_left_out = false;  // LeaveOutIPv6
  bool nftables = false;       // EnableNFTables: which of upstream's rule sets --ip-masq follows
  std::optional<IpPrefix> network;       // present when IPv4 is enabled
  std::optional<IpPrefix> ipv6_network;  // present when IPv6 is enabled
  BackendType type = BackendType::kVxlan;
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;  // UDP
  std::optional<OuterMtu> mtu;  // `MTU`: replaces the underlay's, from which upstream subtracts 50
  bool direct_routing = false;  // vxlan: peers on the same link by host routes
  std::string name;  // of the HNS network; "flannel.<VNI>", or "cbr0" for host-gw, unless given
  std::string dns_servers;         // host-gw's DNSServerList, as written: for its HNS network
  VxlanDefaults defaults{};        // the defaults it was read with
  std::vector<std::string> notes;  // for the log: what was assumed or ignored, and why

  friend bool operator==(const NetConf&, const NetConf&) = default;
  bool enabled(IpFamily family) const {
    return family == IpFamily::kV4 ? enable_ipv4 : enable_ipv6;
  }
  // The family's Network, if the family is enabled.
  const std::optional<IpPrefix>& network_of(IpFamily family) const {
    return family == IpFamily::kV4 ? network : ipv6_network;
  }
};

// Keys match without case; unknown keys are ignored and reported in a note; the last of duplicate
// keys counts; a BOM is dropped; types are strict; host bits of networks are cleared. `file` is for
// messages, which name file, key, value, rule and next step.
absl::StatusOr<NetConf> ParseNetConf(std::string_view text, std::string_view file,
                                     const VxlanDefaults& defaults);
// The same for the file at `path` (UTF-8).
absl::StatusOr<NetConf> LoadNetConf(const std::string& path, const VxlanDefaults& defaults);

// Whether `pod_cidr` lies inside `network`, as upstream checks before it acquires a lease.
absl::Status CheckInsideNetwork(const IpPrefix& pod_cidr, const IpPrefix& network);
// For a data plane without IPv6: disables IPv6 if IPv4 is enabled too.
void LeaveOutIPv6(NetConf& conf);
// HNS's own limits, narrower than net-conf's: VNI 4096..65535.
absl::Status CheckForHns(const NetConf& conf);

}  // namespace weft::control
