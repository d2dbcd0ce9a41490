// SPDX-License-Identifier: Apache-2.0
// What flanneld is to do, as values that fit together: made once from its flags and environment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/config/flag_values.h"
#include "control/config/flags.h"
#include "control/net_conf.h"
#include "dataplane/forwarder.h"

namespace weft::config {

// PATH of "emulator:PATH"; empty: `value` is not of that form.
std::optional<std::string> EmulatorPath(std::string_view value);

enum class DataPlane : std::uint8_t {
  kUserspace,  // flanneld itself, by VXLAN over a TUN device
  kRoutes,     // the host's routes to each peer
  kHns,        // Windows' Host Network Service
  kNone,       // nobody: the lease is taken and subnet.env written
};
// As --dataplane has it.
std::string_view Name(DataPlane data_plane);
// This system's.
DataPlane DefaultDataPlane();
// Unimplemented, with what to do instead, where this system has no device for kUserspace.
absl::Status PodDeviceSupport();

struct Options {
  // Where leases come from: the Kubernetes API, or else a file of Node objects.
  bool kube_subnet_mgr = false;
  std::string lease_file{};
  std::string net_config_path{};
  // Empty: the name of the node that this pod runs on.
  std::string node_name{};
  std::string pod_name{}, pod_namespace{};
  std::string kubeconfig_file{};
  std::string kube_api_url{};
  std::string kube_annotation_prefix = FlagValues().kube_annotation_prefix;
  bool set_node_network_unavailable = true;

  // Which interface carries the outer packets. Addresses and expressions are valid; empty: not
  // given.
  std::vector<std::string> iface{};
  std::vector<std::string> iface_regex{};
  std::string iface_can_reach{};
  std::string public_ip{};
  std::string public_ipv6{};

  DataPlane data_plane = DataPlane::kUserspace;
  // The emulators in place of this machine's own: a file's path, tcp:HOST:PORT or unix:PATH.
  std::optional<std::string> hns_emulator{}, host_emulator{};
  bool hns_base_network = false;
  dataplane::PeerCheck peer_check = dataplane::PeerCheck::kLease;
  bool udp_checksum = true;
  bool iptables_forward_rules = true;
  std::chrono::seconds iptables_resync{5};
  bool replace_kernel_device = false;
  bool ip_masq = false;
  bool ip_masq_fully_random_disable = false;

  std::string subnet_file{};
  std::string healthz_ip = FlagValues().healthz_ip;
  std::optional<std::uint16_t> healthz_port{};  // empty: no server
  std::optional<std::string> admin{};           // the endpoint; empty: none
  std::string state_dir{};                      // empty: control::DefaultStateFolder()
};

// InvalidArgument: contradictions and what is malformed; Unimplemented: what this system cannot do.
// The error names flag and remedy.
absl::StatusOr<Options> MakeOptions(const FlagValues& values, const Environment& environment);

// What net-conf means where it names no VNI or port: HNS has its own defaults, and what runs on
// Linux those of its kernel, weft's own data plane included.
control::VxlanDefaults DefaultsFor(DataPlane data_plane);

// What `options` and `conf` make of this node together: kUserspace is kRoutes where there is no
// tunnel (host-gw), and HNS leaves IPv6 out. The error: the data plane cannot do what net-conf asks
// for.
struct NodeConfig {
  Options options;
  control::NetConf conf;
};
absl::StatusOr<NodeConfig> Combine(Options options, control::NetConf conf);

}  // namespace weft::config
