// SPDX-License-Identifier: Apache-2.0
#include "control/cli/status_text.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "control/cli/text_table.h"
#include "control/lease/peer_state.h"
#include "dataplane/verdict.h"

namespace weft::cli {
namespace {

using admin::Status;

constexpr std::size_t kPendingShown = 5;  // of one sink
constexpr std::size_t kPeersShown = 5;

// Also true of a state that only a later flanneld has.
bool IsRemarkable(std::string_view state) {
  using lease::PeerState;
  return state != Name(PeerState::kUsable) && state != Name(PeerState::kSelf) &&
         state != Name(PeerState::kFamilyOff);
}

// "  name       text"
void Line(std::string& out, std::string_view name, std::string_view text) {
  absl::StrAppend(&out, "  ", name, std::string(11 - std::min<std::size_t>(name.size(), 10), ' '),
                  text, "\n");
}

template <class T>
std::string Text(const std::optional<T>& value) {
  return value ? value->ToString() : "none";
}

void AddOwn(std::string& out, std::string_view family, const std::optional<admin::OwnFacts>& own) {
  if (!own) return;
  Line(out, family,
       absl::StrCat("subnet ", Text(own->subnet), ", public IP ", Text(own->public_ip),
                    ", VTEP MAC ", Text(own->vtep_mac)));
}

// Counts address-family halves, so a dual-stack node counts twice; refused nodes count as nodes.
std::string LeaseLine(const Status& status) {
  const std::string counts =
      absl::StrJoin(status.leases, ", ", [](std::string* text, const admin::LeaseCount& count) {
        absl::StrAppend(text, count.count, " ", count.state);
      });
  const std::string refused =
      status.refused_nodes == 0 ? "" : absl::StrCat("; ", status.refused_nodes, " refused");
  return absl::StrCat(counts.empty() ? "none" : counts, refused);
}

std::string ReachLine(const admin::Reach& reach, const Status& status) {
  const std::string heard =
      reach.heard ? absl::StrCat(", ", *reach.heard, " heard in the last minute") : "";
  const std::string not_joined =
      status.not_joined_nodes ? absl::StrCat("; ", *status.not_joined_nodes, " not joined") : "";
  return absl::StrCat(reach.programmed, " of ", reach.peers, " programmed", heard, not_joined);
}

// A superframe counts as the wire packets that it is cut into.
std::string DirectionLine(const admin::DirectionStatus& direction) {
  std::uint64_t forwarded = 0;
  std::uint64_t dropped = 0;
  for (const admin::VerdictCount& count : direction.packets)
    (count.name == Name(dataplane::Verdict::kForward) ? forwarded : dropped) += count.packets;
  return absl::StrCat(forwarded, " packets (", direction.bytes, " bytes) forwarded, ", dropped,
                      " dropped");
}

std::string TimeText(std::int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

// "; the last at ...: from 10.0.0.7 (node w2), VNI 1, MAC a to b, 10.244.1.2 to 10.244.0.5"
std::string ExampleText(const admin::DropExample& example, bool from_wire) {
  const auto pair = [](const auto& from, const auto& to) {
    return absl::StrCat(Text(from), " to ", Text(to));
  };
  std::vector<std::string> facts;
  const std::string peer = example.peer.empty() ? "" : absl::StrCat("node ", example.peer);
  if (example.outer) {
    facts.push_back(absl::StrCat(from_wire ? "from " : "to ", example.outer->ToString(),
                                 peer.empty() ? "" : absl::StrCat(" (", peer, ")")));
  } else if (!peer.empty()) {
    facts.push_back(peer);
  }
  if (example.vni) facts.push_back(absl::StrCat("VNI ", *example.vni));
  if (example.source_mac)
    facts.push_back(absl::StrCat("MAC ", pair(example.source_mac, example.destination_mac)));
  if (example.inner_source) facts.push_back(pair(example.inner_source, example.inner_destination));
  return absl::StrCat("; one at ", TimeText(example.at), facts.empty() ? "" : ": ",
                      absl::StrJoin(facts, ", "));
}

void AddDrops(TextTable& table, const std::string& device, std::string_view direction,
              const admin::DirectionStatus& counts) {
  for (const admin::VerdictCount& count : counts.packets) {
    if (count.name == Name(dataplane::Verdict::kForward) || count.packets == 0) continue;
    const std::string example =
        count.example ? ExampleText(*count.example, direction == "to-pods") : "";
    table.Add({device, std::string(direction), absl::StrCat(count.packets), count.name,
               absl::StrCat(count.sentence, example)});
  }
}

// The sentence for a count of the kernel; most have only their name.
std::string_view KernelSentence(std::string_view name) {
  if (name == "device-tx-dropped")
    return "the device's queue was full: a pod sent faster than this node encapsulates";
  if (name == "socket-overflow")
    return "the socket's buffer was full: more arrived than this node processes";
  if (name == "empty-datagram") return "an empty UDP datagram, from any sender";
  if (name == "icmp-unexpected")
    return "an ICMP error that matches no packet sent recently, perhaps forged; ignored";
  return "counted by the kernel";
}

// RFC 792, RFC 4443.
std::string IcmpText(const admin::IcmpErrors& errors) {
  const bool v4 = errors.from.is_v4();
  const bool port = errors.type == (v4 ? 3u : 1u) && errors.code == (v4 ? 3u : 4u);
  return absl::StrCat("type ", errors.type, ", code ", errors.code,
                      port ? " (port unreachable: no program receives there)" : "");
}

// Of the peers with the most errors.
std::string IcmpLines(const Status& status) {
  std::vector<const admin::PeerStatus*> peers;
  for (const admin::PeerStatus& peer : status.peers)
    if (peer.icmp_errors) peers.push_back(&peer);
  std::ranges::stable_sort(peers, std::greater(),
                           [](const auto* p) { return p->icmp_errors->count; });
  std::string text;
  for (std::size_t i = 0; i < std::min(peers.size(), kPeersShown); ++i) {
    const admin::IcmpErrors& errors = *peers[i]->icmp_errors;
    absl::StrAppend(&text, "  peer ", peers[i]->node, ": ", errors.count, " ICMP errors, one from ",
                    errors.from.ToString(), " at ", TimeText(errors.at), ": ", IcmpText(errors),
                    "\n");
  }
  if (peers.size() > kPeersShown) {
    absl::StrAppend(&text, "  ", peers.size() - kPeersShown,
                    " more peers; \"flannelctl status -o json\" lists them\n");
  }
  return text;
}

// Counts since the data plane began; a restart begins again at zero.
std::string Drops(const Status& status) {
  TextTable table({"DEVICE", "DIRECTION", "PACKETS", "DROP", "WHY"});
  for (const admin::TunnelStatus& tunnel : status.tunnels) {
    AddDrops(table, tunnel.device, "to-wire", tunnel.to_wire);
    AddDrops(table, tunnel.device, "to-pods", tunnel.to_pods);
    for (const admin::KernelCount& count : tunnel.kernel) {
      if (count.value == 0) continue;
      table.Add({tunnel.device, "kernel", absl::StrCat(count.value), count.name,
                 std::string(KernelSentence(count.name))});
    }
  }
  const std::string text = table.TakeText(/*with_headers=*/true);
  return absl::StrCat("  ", absl::StrReplaceAll(text.substr(0, text.size() - 1), {{"\n", "\n  "}}),
                      "\n");
}

bool HasDrops(const Status& status) {
  const auto dropped = [](const admin::DirectionStatus& direction) {
    return std::any_of(direction.packets.begin(), direction.packets.end(), [](const auto& count) {
      return count.name != Name(dataplane::Verdict::kForward) && count.packets > 0;
    });
  };
  return std::any_of(status.tunnels.begin(), status.tunnels.end(), [&](const auto& tunnel) {
    return dropped(tunnel.to_wire) || dropped(tunnel.to_pods) ||
           std::any_of(tunnel.kernel.begin(), tunnel.kernel.end(),
                       [](const admin::KernelCount& count) { return count.value > 0; });
  });
}

const admin::TunnelStatus* TunnelOf(const Status& status, const std::string& device) {
  for (const admin::TunnelStatus& tunnel : status.tunnels)
    if (tunnel.device == device) return &tunnel;
  return nullptr;
}

// Peers that send from another address than they publish, and those whose path is too narrow for
// pods.
std::vector<std::string> PeerSteps(const Status& status) {
  std::vector<std::string> steps;
  for (const admin::PeerStatus& peer : status.peers) {
    if (peer.other_source_packets.value_or(0) > 0) {
      const admin::TunnelStatus* const tunnel = TunnelOf(status, peer.device);
      const bool dropped = tunnel != nullptr && tunnel->peer_check == "strict";
      steps.push_back(absl::StrCat(
          "peer ", peer.node, " sends from ",
          peer.other_source ? peer.other_source->ToString() : "another address",
          ", not from its public IP: ", *peer.other_source_packets, " packets ",
          dropped ? absl::StrCat("dropped (", Name(dataplane::Verdict::kUnknownPeer), ")")
                  : "accepted by inner MAC and address only",
          "; if that is its address, set it as its --public-ip; behind NAT ",
          dropped ? "use --peer-check=lease" : "keep --peer-check=lease"));
    }
    if (peer.sent_without_df.value_or(0) > 0) {
      steps.push_back(absl::StrCat(
          "peer ", peer.node, ": the path",
          peer.path_mtu ? absl::StrCat(" carries ", *peer.path_mtu, " bytes,") : " carried",
          " less than pods can follow: ", *peer.sent_without_df,
          " packets were sent without DF, over IPv6 in fragments; raise the MTU of the links "
          "between, or check for forged ICMP errors"));
    }
  }
  return steps;
}

// The most urgent first: what keeps the daemon from being ready, then what it cannot read, then
// what it could not apply, then what other nodes should correct. Each sentence contains its next
// step.
std::vector<std::string> NextSteps(const Status& status) {
  std::vector<std::string> steps;
  for (const admin::Check& check : status.checks)
    if (!check.ok) steps.push_back(absl::StrCat(check.name, ": ", check.text));
  const std::string source = absl::StrCat("source: ", status.source.condition);
  if (!status.source.condition.empty() &&
      std::find(steps.begin(), steps.end(), source) == steps.end())
    steps.push_back(source);  // else a check reports it
  for (const admin::ConditionStatus& each : status.conditions) steps.push_back(each.condition);
  for (const admin::SinkStatus& sink : status.sinks) {
    const std::size_t shown = std::min(sink.pending.size(), kPendingShown);
    for (std::size_t i = 0; i < shown; ++i)
      steps.push_back(absl::StrCat(sink.name, ": ", sink.pending[i]));
    if (sink.pending.size() > shown) {
      steps.push_back(absl::StrCat(sink.name, ": ", sink.pending.size() - shown,
                                   " more pending; \"flannelctl status -o json\" lists them"));
    }
  }
  const std::vector<std::string> peer_steps = PeerSteps(status);
  for (std::size_t i = 0; i < std::min(peer_steps.size(), kPeersShown); ++i)
    steps.push_back(peer_steps[i]);
  if (peer_steps.size() > kPeersShown) {
    steps.push_back(absl::StrCat(peer_steps.size() - kPeersShown,
                                 " more of the kind; \"flannelctl status -o json\" lists them"));
  }
  for (const admin::LeaseCount& count : status.leases) {
    if (!IsRemarkable(count.state)) continue;
    steps.push_back(absl::StrCat(count.count, " ", count.state, ": ", count.sentence));
    for (const admin::LeaseExample& example : count.examples)
      steps.push_back(absl::StrCat("  ", example.node, ": ", example.why));
    if (!count.examples.empty() && count.examples.size() < count.count)
      steps.push_back("  and more; \"flannelctl leases -o wide\" names them");
  }
  if (status.refused_nodes > 0) {
    steps.push_back(absl::StrCat(status.refused_nodes,
                                 " refused: their Nodes cannot be read; \"flannelctl leases -o "
                                 "wide\" gives the reason"));
  }
  if (status.not_joined_nodes) {
    steps.push_back(absl::StrCat(*status.not_joined_nodes,
                                 " not-joined: their Nodes lack flannel's annotations; "
                                 "\"flannelctl leases -o wide\" names them"));
  }
  return steps;
}

std::string PeerTable(const Status& status) {
  TextTable table({"PEER", "DEVICE", "SENT-PACKETS", "SENT-BYTES", "RECEIVED-PACKETS",
                   "RECEIVED-BYTES", "PATH-MTU", "HEARD"});
  const auto number = [](const auto& value) { return value ? absl::StrCat(*value) : ""; };
  for (const admin::PeerStatus& peer : status.peers) {
    table.Add({peer.node, peer.device, number(peer.sent_packets), number(peer.sent_bytes),
               number(peer.received_packets), number(peer.received_bytes), number(peer.path_mtu),
               !peer.heard   ? ""
               : *peer.heard ? "yes"
                             : "no"});
  }
  return table.TakeText(/*with_headers=*/true);
}

}  // namespace

bool IsWell(const Status& status) {
  const bool pending = std::any_of(status.sinks.begin(), status.sinks.end(),
                                   [](const auto& sink) { return !sink.pending.empty(); });
  const bool missing = status.reach && status.reach->programmed < status.reach->peers;
  return status.ready && status.source.in_sync && status.source.condition.empty() &&
         status.conditions.empty() && !pending && !missing;
}

std::string StatusText(const Status& status, bool peers) {
  std::string out = absl::StrCat("flanneld ", status.version, " on ", status.node, ": ",
                                 IsWell(status) ? "ready"
                                 : status.ready ? "ready, but degraded"
                                                : "NOT READY",
                                 "\n");
  Line(out, "running", absl::StrCat("since ", TimeText(status.started), ", process ", status.pid));
  Line(out, "backend", absl::StrCat(status.backend, ", data plane ", status.dataplane));
  if (!status.interface_name.empty())
    Line(out, "interface", absl::StrCat(status.interface_name, ", inner MTU ", status.mtu));
  AddOwn(out, "ipv4", status.v4);
  AddOwn(out, "ipv6", status.v6);
  if (status.source_vip) Line(out, "source VIP", status.source_vip->ToString());
  Line(
      out, "source",
      absl::StrCat(status.source.description, status.source.in_sync ? ", in sync" : ", NOT in sync",
                   status.source.condition.empty() ? "" : ", failing",
                   status.source.last_answer_age
                       ? absl::StrCat(", last answer ", *status.source.last_answer_age, " s ago")
                       : ""));
  for (const admin::ServerStatus& each : status.source.servers)
    Line(out, "server", absl::StrCat(each.server, ": ", each.text));
  for (const admin::ConditionStatus& each : status.conditions) {
    Line(out, "condition",
         absl::StrCat(each.subject, ", ", each.times, each.times == 1 ? " time" : " times"));
  }
  for (const std::string& note : status.notes) Line(out, "note", note);
  if (status.reach) Line(out, "peers", ReachLine(*status.reach, status));
  Line(out, "leases", LeaseLine(status));
  for (const admin::SinkStatus& sink : status.sinks) {
    Line(out, "sink",
         absl::StrCat(sink.name, ", ", sink.applied, " of ", sink.desired, " in place, ",
                      sink.pending.size(), " pending"));
  }
  for (const admin::TunnelStatus& tunnel : status.tunnels) {
    Line(out, "tunnel",
         absl::StrCat(tunnel.device, ", over ", tunnel.family, ", VNI ", tunnel.vni, ", UDP port ",
                      tunnel.port, ", MTU ", tunnel.mtu,
                      tunnel.workers.value_or(1) == 1
                          ? ""
                          : absl::StrCat(", ", *tunnel.workers, " threads")));
    Line(out, "", absl::StrCat("to wire  ", DirectionLine(tunnel.to_wire)));
    Line(out, "", absl::StrCat("to pods  ", DirectionLine(tunnel.to_pods)));
    if (tunnel.icmp_errors > 0)
      Line(out, "", absl::StrCat(tunnel.icmp_errors, " ICMP errors sent to own pods"));
    if (!tunnel.superframes.empty())
      Line(out, "",
           absl::StrCat("superframes ", tunnel.superframes,
                        tunnel.superframes_whole
                            ? absl::StrCat(" (", *tunnel.superframes_whole, " sent whole)")
                            : ""));
    if (tunnel.strict_would_drop) {
      Line(out, "",
           absl::StrCat("peer check ", tunnel.peer_check, ", strict would have dropped ",
                        *tunnel.strict_would_drop == 0
                            ? "nothing"
                            : absl::StrCat(*tunnel.strict_would_drop, " packets"),
                        " since the tunnel came up"));
    }
  }
  if (status.hns) {
    const admin::HnsStatus& hns = *status.hns;
    Line(out, "hns", absl::StrCat(hns.network, ", ", hns.text));
    if (hns.management_ip) {
      const std::string mac =
          hns.router_mac ? absl::StrCat(", router MAC ", hns.router_mac->ToString()) : "";
      Line(out, "",
           absl::StrCat("management IP ", hns.management_ip->ToString(), mac, ", ", hns.calls,
                        " calls, ", hns.modifying_calls, " of them changes"));
    }
    if (hns.router_mac)
      Line(out, "", "before its first pod a node's HNS lists routes that carry no packets yet");
    if (hns.restored) {
      Line(out, "",
           absl::StrCat("restored ", hns.restored->count, " in 24 h, last ",
                        TimeText(hns.restored->last), ": ", hns.restored->what));
    }
    for (const std::string& note : hns.notes) Line(out, "", note);
  }
  if (HasDrops(status))
    absl::StrAppend(&out, "\nDropped since the tunnel came up:\n", Drops(status),
                    IcmpLines(status));
  if (const std::vector<std::string> steps = NextSteps(status); !steps.empty()) {
    absl::StrAppend(&out, "\nNext steps:\n");
    for (const std::string& step : steps) absl::StrAppend(&out, "  ", step, "\n");
  }
  if (peers) absl::StrAppend(&out, "\n", PeerTable(status));
  return out;
}

}  // namespace weft::cli
