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
  kHostGw,  // peers by routes of the host itself, on one link
  kAlloc,   // lease and subnet.env only: no peers, no device
};
// As net-conf and the backend-type annotation write it: "vxlan".
std::string_view Name(BackendType type);

// A key that is known: of the document, or of Backend with a Type. Others are named in a note.
struct NetConfKey {
  std::optional<BackendType> backend;  // empty: of the document
  std::string_view name;               // in the document's spelling
  std::string_view value;              // "true|false", "NUMBER", "BLOCK"
  std::string_view help;               // one sentence, no full stop
};
std::span<const NetConfKey> NetConfKeys();

// What upstream takes for a VNI and a UDP port that net-conf does not name: that depends on who
// moves the packets.
struct VxlanDefaults {
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;
  friend bool operator==(const VxlanDefaults&, const VxlanDefaults&) = default;
};
inline constexpr VxlanDefaults kHnsDefaults{};
// 8472 is the Linux kernel's, from before IANA gave out 4789.
inline constexpr VxlanDefaults kLinuxDefaults{*Vni::Of(1), 8472};

struct NetConf {
  bool enable_ipv4 = true;
  bool enable_ipv6 = false;
  bool ipv6_left_out = false;       // LeaveOutIPv6
  bool nftables = false;            // EnableNFTables: which of upstream's ways --ip-masq follows
  std::optional<IpPrefix> network;  // present when IPv4 is enabled
  std::optional<IpPrefix> ipv6_network;  // present when IPv6 is enabled
  BackendType type = BackendType::kVxlan;
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;  // UDP
  std::optional<OuterMtu> mtu;  // `MTU`: taken for the underlay's, from which upstream subtracts 50
  bool direct_routing = false;  // vxlan: peers on the same link by routes of the host
  std::string name;  // of the HNS network; "flannel.<VNI>", or "cbr0" for host-gw, unless given
  std::string dns_servers;         // host-gw's DNSServerList, as written: for its HNS network
  VxlanDefaults defaults{};        // as it was read with
  std::vector<std::string> notes;  // for the log: what was assumed or ignored, and why

  friend bool operator==(const NetConf&, const NetConf&) = default;
  bool enabled(IpFamily family) const {
    return family == IpFamily::kV4 ? enable_ipv4 : enable_ipv6;
  }
  // Of the family when it is enabled.
  const std::optional<IpPrefix>& network_of(IpFamily family) const {
    return family == IpFamily::kV4 ? network : ipv6_network;
  }
};

// Keys match without case, unknown ones are ignored and named in a note, of duplicates the last
// wins; a BOM is dropped; types are strict; host bits of networks are cleared. `file` is for
// messages, which name file, key, value, rule and what to do.
absl::StatusOr<NetConf> ParseNetConf(std::string_view text, std::string_view file,
                                     const VxlanDefaults& defaults);
// The same for the file at `path` (UTF-8).
absl::StatusOr<NetConf> LoadNetConf(const std::string& path, const VxlanDefaults& defaults);

// Whether `pod_cidr` lies inside `network`, as upstream asks before it takes a lease.
absl::Status CheckInsideNetwork(const IpPrefix& pod_cidr, const IpPrefix& network);
// For a data plane without IPv6: of both families IPv4 stays.
void LeaveOutIPv6(NetConf& conf);
// What HNS can do beyond what net-conf allows: VNI 4096..65535.
absl::Status CheckForHns(const NetConf& conf);

}  // namespace weft::control
