// SPDX-License-Identifier: Apache-2.0
// The CNI configuration with which containerd calls the plugins of a Windows node: its text for
// what a node has, and what an installed one says, member by member.
//
// As these read it: win-overlay and win-bridge of containernetworking/plugins v1.9.1, sdnoverlay of
// microsoft/windows-container-networking b96345f, flannel of flannel-io/cni-plugin v1.9.1, after
// libcni v1.3.1 in containerd. All are Go programs: keys match without case where they fill a
// struct, exactly where they fill a map; another type of value, and a BOM, are refused. IPv4 only,
// as HNS networks are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vxlan/ip_prefix.h"

namespace weft::cni {

// The one that makes a pod's endpoint in HNS.
enum class Plugin : std::uint8_t { kWinOverlay, kSdnOverlay, kWinBridge };
std::string_view Name(Plugin plugin);  // "win-overlay", as its program
std::optional<Plugin> PluginOf(std::string_view name);

// Empty members: not known.
struct NodeFacts {
  std::string network;             // its name in HNS
  std::optional<bool> bridge;      // it is an L2Bridge network (host-gw), not an overlay (vxlan)
  std::vector<IpPrefix> cluster;   // net-conf's Network: all pods
  std::optional<IpPrefix> subnet;  // this node's PodCIDR
  std::vector<IpPrefix> services;  // the cluster's service CIDRs
  std::optional<IpAddress> node;   // the network's management IP
  std::string store;               // of host-local, where the source VIP is reserved
  std::string subnet_file;         // flanneld's --subnet-file
  std::string flannel_data;        // where flannel's plugin keeps what DEL needs
  std::optional<bool> dsr;         // whether HNS has it
};

struct ConfigChoice {
  Plugin plugin = Plugin::kWinOverlay;
  bool through_flannel =
      false;                    // flannel's own plugin calls `plugin`, for the subnet in subnet.env
  bool loopback_dsr = false;    // a pod reaches itself by its service
  bool encap_overhead = false;  // HNS lowers the pod's MTU by what the overlay adds
};

// A conflist of one plugin. The error names the fact that the plugin needs and that is missing.
absl::StatusOr<std::string> ConfigText(const ConfigChoice& choice, const NodeFacts& facts);

struct Remark {
  std::string member;    // "plugins[0].ipam.dataDir"
  std::string value;     // as JSON, shortened
  std::string meaning;   // what the programs do with it
  std::string finding;   // cause and next step; empty: good, as far as the facts are known
  bool skipped = false;  // what the member contains was not judged
};

// The text of a .conflist, .conf or .json file, in its order of importance. `name`: the file's,
// whose end decides how containerd reads it; with another end its content does. The error: it is
// not JSON, or no object.
absl::StatusOr<std::vector<Remark>> ExplainConfig(std::string_view text, const NodeFacts& facts,
                                                  std::string_view name = {});

// The plugins that the text calls, each once: "flannel", "win-overlay", "host-local".
std::vector<std::string> PluginsOf(std::string_view text);

}  // namespace weft::cni
