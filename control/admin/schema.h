// SPDX-License-Identifier: Apache-2.0
// What the daemon reports on the local admin endpoint: versioned documents as plain values, and
// their JSON.
//
// Both sides of the endpoint use this file, so it includes neither. Values copy and compare; any
// thread.
//
// Promise for "weft/v2": a field keeps its name, type and meaning; fields may be added; a reader
// ignores what it does not know and refuses what is missing or has the wrong type, naming the field
// ("leases[3].ipv4.subnet"). A field marked `?` is omitted when it has no value. Counts are
// JSON numbers and wrap at 2^64.
//
//   LeaseList           | type   | meaning
//   apiVersion, kind    | string | "weft/v2", "LeaseList"
//   generation          | number | differs after each change; what the long poll's `after` names
//   source              | string | where leases come from: "file nodes.json"
//   leases[]            |        | one row for each node, by name
//     node, uid?        | string | metadata.name, metadata.uid
//     backendType       | string | as the node publishes it: "vxlan", "host-gw", ...
//     ipv4?, ipv6?      |        | one half for each address family
//       subnet          | string | the node's pod CIDR
//       publicIP?       | string | where peers send outer packets
//       vtepMAC?        | string | inner destination MAC, lower case with colons
//       vni?            | number | as the node publishes it, not range-checked
//       state           | string | a name of control/lease/peer_state.h
//       stateSentence   | string | the state as a sentence
//       usable          | bool   | whether the data plane uses it
//       keptSince?      | string | RFC 3339: since when the node publishes no MAC; this is its
//                       |        | last complete half
//   refused[]           |        | nodes that could not be read as leases
//     name, reason      | string |
//     uid?              | string | metadata.uid
//   notJoined[]?        |        | Nodes without flannel's annotations
//     name, uid?        | string | metadata.name, metadata.uid
//     reason            | string | the annotation that is missing
//
//   Status              | type   | meaning
//   apiVersion, kind    | string | "weft/v2", "Status"
//   version, node       | string | the program's version, the Node object's name
//   pid                 | number |
//   started             | string | RFC 3339, UTC
//   backend, dataplane  | string | net-conf's Backend.Type; "hns", "userspace", "routes", "none"
//   ready, checks[]     | bool   | /readyz and its checks: {name, ok, text}
//   interface           | string | the adapter that carries outer packets
//   mtu                 | number | inner MTU in bytes, as in subnet.env
//   ipv4?, ipv6?        |        | own facts: {subnet?, publicIP?, vtepMAC?}
//   sourceVIP?          | string | the address that is reserved for kube-proxy on an overlay
//                       |        | network
//   source              |        | {description, inSync, condition?, lastAnswerAge?, servers[]?}
//     condition         | string | a sentence, while it lasts
//     lastAnswerAge     | number | seconds since the API server sent anything; omitted below 70
//     servers[]         |        | {server, inUse, text}: the API servers, where there are several;
//                       |        | text: why it is in use or not, with its last error
//   conditions[]        |        | {subject, condition, times}: those that last, whether or not
//                       |        | a check fails with them
//     subject           | string | "net-conf", "health", "admin", "journal", "log", "credentials",
//                       |        | "subnet-file", "public-ip", "interface", "mtu", "vni",
//                       |        | "vtep-mac", "own-lease", "masquerade", "cni",
//                       |        | "forward-rules", "hns", "ledger", "options", "static-ip",
//                       |        | "static-routes", "left-routes", "firewall", "node-name",
//                       |        | "publish", "api-server", "source-vip", "trace", or a sink's name
//     condition         | string | a sentence that names its object
//     times             | number | how often it began or changed
//   leases[]            |        | address-family halves by state: {state, sentence, count,
//                       |        |  examples[]?}
//     examples[]        |        | {node, why}: the first five nodes, where a state needs attention
//   refusedNodes        | number |
//   notJoinedNodes?     | number | as notJoined counts; omitted while there are none
//   notes[]?            | string | what was given and has no effect on this node; omitted where
//                       |        | everything has its effect
//   reach?              |        | {peers, programmed, heard?}: nodes to reach; those whose entries
//                       |        | are programmed; omitted where flanneld programs no peers
//     heard             | number | those from which packets came in the last minute, to 5 s;
//                       |        | only where the userspace data plane alone carries packets
//   sinks[]             |        | {name, desired, applied, pending[]}
//     pending[]         | string | a sentence that names its object
//   tunnels[]           |        | one for each device of the userspace data plane
//     device, family    | string | "flannel.4096"; "ipv4" or "ipv6": the outer family
//     vni, port, mtu    | number | mtu: of the device, inner bytes
//     toWire, toPods    |        | {bytes, packets[]}; bytes: inner ones, forwarded
//       packets[]       |        | {name, sentence, packets, example?} by verdict, "forward"
//                       |        |  included
//         example       |        | a late packet of that drop: {at, outer?, peer?, vni?,
//                       |        |  sourceMAC?, destinationMAC?, innerSource?, innerDestination?};
//                       |        |  at: RFC 3339; outer: the other node's address in the outer
//                       |        |  header; peer: whose lease has that address, or an inner one
//     icmpErrors        | number | ICMP errors sent to own pods
//     kernel[]          |        | {name, value}: counts kept below the data plane
//     workers?          | number | threads that carry its packets
//     superframes?      | string | how large frames are sent: "cut"; with --superframes=whole
//                       |        | "whole: " and what they bypass, or "cut: " and the reason
//     superframesWhole? | number | with --superframes=whole: how many were sent so
//     peerCheck?        | string | how the sender of a packet is checked: --peer-check
//     strictWouldDrop?  | number | with "lease": accepted packets that "strict" would have dropped
//   hns?                |        | this node's network in HNS, where that is programmed
//     network, state    | string | its name; what is programmed or waited for: "hns", "network",
//                       |        | "management-ip", then "routes", or with host-gw "endpoint" and
//                       |        | "forwarding", then "in-sync"
//     text              | string | the state as a sentence, with its cause
//     id?               | string | in HNS, lower case
//     port?             | number | of an overlay network: UDP
//     managementIP?     | string | chosen by HNS: the source of outer packets
//     routerMAC?        | string | distributed router MAC, which peers get as VTEP MAC
//     calls             | number | into HNS since the start; modifyingCalls: those that change
//     notes[]           | string | remarks that delay nothing
//     restored?         |        | {count, last, what}: of the last 24 hours: how many objects were
//                       |        |  lost or changed in HNS and written again, when the last one was
//                       |        |  (RFC 3339), and what it was
//   peers[]             |        | those in use: {node, device, sentPackets?, sentBytes?,
//                       |        |  receivedPackets?, receivedBytes?, heard?, pathMTU?,
//                       |        |  sentWithoutDF?, otherSource?, otherSourcePackets?, icmpErrors?}
//     device            | string | a tunnel's; else HNS's network or the interface of the host
//                       |        | routes, where packets are not counted
//     heard             | bool   | whether packets came from it in the last minute, to 5 s
//     pathMTU           | number | outer bytes; omitted while none below the link's is known
//     sentWithoutDF     | number | packets sent without DF, over IPv6 in fragments, because the
//                       |        | path's MTU is below what pods follow
//     otherSource       | string | the last outer source of packets with the peer's inner MAC and
//                       |        | address that is not its public IP
//     otherSourcePackets| number | how many came from such addresses; peerCheck decides whether
//                       |        | they are dropped
//     icmpErrors        |        | {count, type, code, from, at}: ICMP errors about packets to the
//                       |        |  peer; of the last one type, code, sender, and time (RFC 3339)
//
//   Plan                | type   | meaning
//   apiVersion, kind    | string | "weft/v2", "Plan"
//   network             | string | in HNS
//   refused?            | string | why flanneld may not change HNS, and the next step
//   differences[]       | string | how HNS differs from the desired state
//   calls[]             |        | that flanneld would make, in order: {what, document?}
//     document          | string | JSON as passed to HNS; omitted for a delete
//   repaired            | bool   | whether they were made
//   left[]              | string | differences that remain after a repair; empty: in sync
//   done[]?             | string | of a repair: the differences that it corrected
//   causes[]?           | string | of a repair: HNS's errors for those that remain
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/lease/lease.h"
#include "control/lease/source.h"
#include "nlohmann/json_fwd.hpp"

namespace weft::admin {

inline constexpr std::string_view kApiVersion = "weft/v2";

struct LeaseHalf {
  IpPrefix subnet;
  std::optional<IpAddress> public_ip;
  std::optional<MacAddress> vtep_mac;
  std::optional<std::uint32_t> vni;
  std::string state;
  std::string state_sentence;
  bool usable = false;
  std::optional<std::int64_t> kept_since{};  // Unix seconds
  friend bool operator==(const LeaseHalf&, const LeaseHalf&) = default;
};

struct LeaseRow {
  std::string node;
  std::string uid;  // empty: none
  std::string backend_type;
  std::optional<LeaseHalf> v4;
  std::optional<LeaseHalf> v6;
  friend bool operator==(const LeaseRow&, const LeaseRow&) = default;
};

struct LeaseList {
  std::uint64_t generation = 0;
  std::string source;
  std::vector<LeaseRow> leases;  // by node name
  std::vector<lease::RefusedNode> refused;
  std::vector<lease::NotJoinedNode> not_joined{};
  friend bool operator==(const LeaseList&, const LeaseList&) = default;
};

struct Check {
  std::string name;
  bool ok = false;
  std::string text;  // why not, and the next step; or details
  friend bool operator==(const Check&, const Check&) = default;
};

struct OwnFacts {
  std::optional<IpPrefix> subnet;
  std::optional<IpAddress> public_ip;
  std::optional<MacAddress> vtep_mac;
  friend bool operator==(const OwnFacts&, const OwnFacts&) = default;
};

struct ServerStatus {
  std::string server;
  bool in_use = false;
  std::string text;
  friend bool operator==(const ServerStatus&, const ServerStatus&) = default;
};

struct SourceStatus {
  std::string description;
  bool in_sync = false;
  std::string condition;  // empty: none
  std::optional<std::uint64_t> last_answer_age{};
  std::vector<ServerStatus> servers{};  // empty: there is only one
  friend bool operator==(const SourceStatus&, const SourceStatus&) = default;
};

struct ConditionStatus {
  std::string subject;
  std::string condition;
  std::uint64_t times = 0;
  friend bool operator==(const ConditionStatus&, const ConditionStatus&) = default;
};

struct LeaseExample {
  std::string node;
  std::string why;
  friend bool operator==(const LeaseExample&, const LeaseExample&) = default;
};

struct LeaseCount {
  std::string state;
  std::string sentence;
  std::uint64_t count = 0;
  std::vector<LeaseExample> examples{};
  friend bool operator==(const LeaseCount&, const LeaseCount&) = default;
};

struct Reach {
  std::uint64_t peers = 0;
  std::uint64_t programmed = 0;
  std::optional<std::uint64_t> heard{};  // empty: not known
  friend bool operator==(const Reach&, const Reach&) = default;
};

struct SinkStatus {
  std::string name;
  std::uint64_t desired = 0;
  std::uint64_t applied = 0;
  std::vector<std::string> pending;
  friend bool operator==(const SinkStatus&, const SinkStatus&) = default;
};

struct DropExample {
  std::int64_t at = 0;  // Unix seconds
  std::optional<IpAddress> outer{};
  std::string peer{};  // empty: no lease's
  std::optional<std::uint32_t> vni{};
  std::optional<MacAddress> source_mac{}, destination_mac{};
  std::optional<IpAddress> inner_source{}, inner_destination{};
  friend bool operator==(const DropExample&, const DropExample&) = default;
};

// Packets with one verdict; every verdict but "forward" is a drop.
struct VerdictCount {
  std::string name;
  std::string sentence;
  std::uint64_t packets = 0;
  std::optional<DropExample> example{};
  friend bool operator==(const VerdictCount&, const VerdictCount&) = default;
};

struct DirectionStatus {
  std::uint64_t bytes = 0;
  std::vector<VerdictCount> packets;
  friend bool operator==(const DirectionStatus&, const DirectionStatus&) = default;
};

struct KernelCount {
  std::string name;
  std::uint64_t value = 0;
  friend bool operator==(const KernelCount&, const KernelCount&) = default;
};

struct TunnelStatus {
  std::string device;
  std::string family;  // "ipv4" or "ipv6"
  std::uint32_t vni = 0;
  std::uint16_t port = 0;
  std::uint32_t mtu = 0;
  DirectionStatus to_wire;
  DirectionStatus to_pods;
  std::uint64_t icmp_errors = 0;
  std::vector<KernelCount> kernel;
  std::optional<std::uint32_t> workers{};  // empty: not reported
  std::string superframes{};               // empty: not reported
  std::optional<std::uint64_t> superframes_whole{};
  std::string peer_check{};  // empty: not reported
  std::optional<std::uint64_t> strict_would_drop{};
  friend bool operator==(const TunnelStatus&, const TunnelStatus&) = default;
};

struct IcmpErrors {
  std::uint64_t count = 0;
  std::uint32_t type = 0, code = 0;
  IpAddress from;
  std::int64_t at = 0;  // Unix seconds
  friend bool operator==(const IcmpErrors&, const IcmpErrors&) = default;
};

struct PeerStatus {
  std::string node;
  std::string device;
  std::optional<std::uint64_t> sent_packets{}, sent_bytes{}, received_packets{}, received_bytes{};
  std::optional<bool> heard{};
  std::optional<std::uint32_t> path_mtu{};
  std::optional<std::uint64_t> sent_without_df{};
  std::optional<IpAddress> other_source{};
  std::optional<std::uint64_t> other_source_packets{};
  std::optional<IcmpErrors> icmp_errors{};
  friend bool operator==(const PeerStatus&, const PeerStatus&) = default;
};

struct Restored {
  std::uint64_t count = 0;
  std::int64_t last = 0;  // Unix seconds
  std::string what;
  friend bool operator==(const Restored&, const Restored&) = default;
};

struct HnsStatus {
  std::string network;
  std::string state;
  std::string text;
  std::string id;                       // empty: it does not exist
  std::optional<std::uint16_t> port{};  // empty: no overlay network, or not reported
  std::optional<IpAddress> management_ip;
  std::optional<MacAddress> router_mac;
  std::uint64_t calls = 0;
  std::uint64_t modifying_calls = 0;
  std::vector<std::string> notes;
  std::optional<Restored> restored{};
  friend bool operator==(const HnsStatus&, const HnsStatus&) = default;
};

struct Status {
  std::string version;
  std::string node;
  std::uint64_t pid = 0;
  std::int64_t started = 0;  // Unix seconds
  std::string backend;
  std::string dataplane;
  bool ready = false;
  std::vector<Check> checks;
  std::string interface_name;
  std::uint32_t mtu = 0;
  std::optional<OwnFacts> v4;
  std::optional<OwnFacts> v6;
  std::optional<IpAddress> source_vip{};
  SourceStatus source;
  std::vector<ConditionStatus> conditions;
  std::vector<std::string> notes{};  // empty: none
  std::vector<LeaseCount> leases;
  std::uint64_t refused_nodes = 0;
  std::optional<std::uint64_t> not_joined_nodes;  // empty: none
  std::optional<Reach> reach;
  std::vector<SinkStatus> sinks;
  std::vector<TunnelStatus> tunnels;
  std::optional<HnsStatus> hns;
  std::vector<PeerStatus> peers;
  // UDP, of the userspace data plane or HNS; empty: no tunnel, or not reported.
  std::optional<std::uint16_t> tunnel_port() const {
    if (!tunnels.empty()) return tunnels.front().port;
    return hns ? hns->port : std::nullopt;
  }
  friend bool operator==(const Status&, const Status&) = default;
};

struct PlanCall {
  std::string what;
  std::string document;  // empty: a delete
  friend bool operator==(const PlanCall&, const PlanCall&) = default;
};

struct Plan {
  std::string network;
  std::string refused;  // empty: not
  std::vector<std::string> differences;
  std::vector<PlanCall> calls;
  bool repaired = false;
  std::vector<std::string> left;
  // Of a repair: the differences that it corrected, and HNS's errors for those that remain. Empty:
  // an earlier version does not report them.
  std::optional<std::vector<std::string>> done{};
  std::optional<std::vector<std::string>> causes{};
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Fields are in the order of the tables above.
nlohmann::ordered_json ToJson(const LeaseList& list);
nlohmann::ordered_json ToJson(const LeaseRow& row);
nlohmann::ordered_json ToJson(const Status& status);
nlohmann::ordered_json ToJson(const Plan& plan);

// Another apiVersion is FailedPrecondition, and says which program to upgrade. Text that is not
// JSON, another kind, and a missing or wrong field are InvalidArgument naming it.
absl::StatusOr<LeaseList> ParseLeaseList(std::string_view json);
absl::StatusOr<Status> ParseStatus(std::string_view json);
absl::StatusOr<Plan> ParsePlan(std::string_view json);

}  // namespace weft::admin
