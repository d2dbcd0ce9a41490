// SPDX-License-Identifier: Apache-2.0
// The configuration of flanneld as valid values, made once from its flags and environment.
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
#include "control/log.h"
#include "control/net_conf.h"
#include "dataplane/forwarder.h"
#include "dataplane/worker.h"

namespace weft::config {

// PATH of "emulator:PATH"; empty: `value` is not of that form.
std::optional<std::string> EmulatorPath(std::string_view value);

enum class DataPlane : std::uint8_t {
  kUserspace,  // flanneld itself, by VXLAN over a TUN device
  kRoutes,     // the host's routes to each peer
  kHns,        // Windows' Host Network Service
  kNone,       // none: flanneld takes the lease and writes subnet.env
};
// Whose packets the firewall's rule lets in.
enum class FirewallSources : std::uint8_t { kAny, kPeers };
// Of kUserspace: how TCP and UDP superframes are sent.
enum class Superframes : std::uint8_t {
  kCut,
  kWhole,  // where the kernel permits it; past rules of the host, so only by name
};
// The value of --dataplane.
std::string_view Name(DataPlane data_plane);
// The default on this system.
DataPlane DefaultDataPlane();

// How pods reach kUserspace.
struct PodDevice {
  enum class Kind : std::uint8_t {
    kTun,   // IP packets by a TUN device; Linux
    kTap,   // Ethernet frames by a TAP device; Linux
    kPcap,  // Ethernet frames by libpcap or Npcap on an existing adapter
  };
  Kind kind = Kind::kTun;
  std::string adapter{};  // kPcap's
  friend bool operator==(const PodDevice&, const PodDevice&) = default;
};
// Of --pod-device=`text`; empty `text`: the system's default. The error names the flag.
absl::StatusOr<PodDevice> ParsePodDevice(std::string_view text);
// Without kTun and kTap where the system has no such devices.
bool HasTunDevices();

// Addresses and expressions are valid.
struct Options : PlainValues {
  std::string lease_file;  // where leases come from without kube_subnet_mgr
  // Where node_name is empty: the pod whose node it is.
  std::string pod_name, pod_namespace;

  DataPlane data_plane = DataPlane::kUserspace;
  // The socket of the emulator in place of Windows' HNS.
  std::optional<std::string> hns_emulator;
  PodDevice pod_device;  // of kUserspace
  dataplane::PeerCheck peer_check = dataplane::PeerCheck::kLease;
  dataplane::BusyPoll busy_poll;  // of kUserspace
  Superframes superframes = Superframes::kCut;
  int workers = 1;  // threads of each tunnel; a power of two
  FirewallSources firewall_sources = FirewallSources::kAny;
  std::chrono::seconds iptables_resync{5};

  std::optional<std::uint16_t> healthz_port;  // empty: no server
  std::optional<std::string> admin;           // the endpoint; empty: none
};

// InvalidArgument: contradictions and malformed values; Unimplemented: what this system cannot do.
// The error names the flag and the next step.
absl::StatusOr<Options> MakeOptions(const FlagValues& values, const Environment& environment);

// Where --log-dir writes; empty: nowhere. MakeOptions refuses what this refuses.
absl::StatusOr<std::optional<control::LogFile>> LogFileOf(const FlagValues& values);

// The VNI and port where net-conf names none: HNS has its own defaults; on Linux those of the
// kernel apply, also for weft's own data plane.
control::VxlanDefaults DefaultsFor(DataPlane data_plane);

// `options` and `conf` of one node: kUserspace becomes kRoutes where there is no tunnel (host-gw),
// and HNS leaves IPv6 out. The error: the data plane cannot do what net-conf requires.
struct NodeConfig {
  Options options;
  control::NetConf conf;
  // What was given and has no effect on this node, a sentence each: for the log and `status`.
  std::vector<std::string> notes{};
  // Likewise of flags that keep packets out: a condition. Empty: they have their effect.
  std::string unprotected{};
};
absl::StatusOr<NodeConfig> MakeNodeConfig(Options options, control::NetConf conf);
// The same from flags and environment, with the net-conf that they name, and what has no effect.
absl::StatusOr<NodeConfig> LoadNodeConfig(const FlagValues& values, const Environment& environment);

}  // namespace weft::config
