// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/judge_reasons.h"

#include "absl/strings/str_cat.h"
#include "vxlan/outer_packet.h"

namespace weft::cli {
namespace {

using dataplane::ForwarderConfig;
using dataplane::Packet;
using dataplane::Verdict;

using Reasons = std::vector<std::string>;

template <class T>
std::string Shown(const std::optional<T>& value) {
  return value ? value->ToString() : "(unreadable)";
}

std::string LeaseOf(const NamedHalf& peer) {
  return absl::StrCat(peer.half.subnet.ToString(), ", the lease of ", peer.node);
}

// "10.244.2.9 lies in no lease", or in one that is not used, and why.
std::string NoUsableLease(const Viewpoint& view, const std::optional<IpAddress>& address) {
  if (!address) return "the address cannot be read";
  const NamedHalf* const unused = view.FindCovering(*address, /*usable=*/false);
  if (unused == nullptr) {
    return absl::StrCat(address->ToString(), " lies in none of the ", view.remotes.size(),
                        " leases that ", view.node, " uses");
  }
  return absl::StrCat(address->ToString(), " lies in ", LeaseOf(*unused), ", which is ",
                      unused->half.state, ": ", unused->half.state_sentence);
}

// The packet's size against the link's MTU; only the running data plane knows path MTUs.
std::string SizeReason(const ForwarderConfig& config, const FrameFacts& facts,
                       const IpAddress& vtep) {
  return absl::StrCat("the inner packet has ", facts.inner_length, " bytes; ",
                      config.link_mtu.Inner(vtep.family()).bytes(), " fit (link MTU ",
                      config.link_mtu.bytes(), " less ", EncapsulationOverhead(vtep.family()),
                      " bytes of encapsulation)");
}

void AddEncapsulated(const ForwarderConfig& config, const Packet& packet, const NamedHalf& peer,
                     Reasons& reasons) {
  const Parsed<OuterPacket> outer = ParseOuterPacket(packet.bytes(), OuterChecksums::kTrust);
  if (!outer) return;
  // Its source port is that of the socket, or of HNS, which send it.
  reasons.push_back(absl::StrCat("outer packet of ", packet.length, " bytes, ",
                                 outer->source().ToString(), " to ",
                                 outer->destination().ToString(), " port ", outer->destination_port,
                                 ", VNI ", config.local.vni.value()));
  reasons.push_back(absl::StrCat("inner MAC addresses ", config.local.mac.ToString(), " to ",
                                 Shown(peer.half.vtep_mac)));
}

// " (the VTEP MAC of linux-2)"; empty: it belongs to no node.
std::string Owner(const NamedHalf* peer, std::string_view what) {
  return peer == nullptr ? "" : absl::StrCat(" (", what, " of ", peer->node, ")");
}

// The three values by which PeerCheck judges, each with its owner.
void AddSender(const Viewpoint& view, const FrameFacts& facts, Reasons& reasons) {
  const NamedHalf* const by_address =
      facts.inner_source ? view.FindCovering(*facts.inner_source, /*usable=*/true) : nullptr;
  if (facts.outer_source) {
    const NamedHalf* const by_public_ip = view.FindByPublicIp(*facts.outer_source);
    reasons.push_back(absl::StrCat("outer source ", facts.outer_source->ToString(),
                                   by_public_ip == nullptr
                                       ? " is no lease's public IP"
                                       : " is the public IP of " + by_public_ip->node));
  } else {
    reasons.push_back("the frame has no outer source, so only the inner one is checked");
  }
  reasons.push_back(absl::StrCat(
      "inner source ", Shown(facts.inner_source),
      by_address == nullptr ? " lies in no lease that is used" : " lies in " + LeaseOf(*by_address),
      ", inner source MAC ", Shown(facts.inner_source_mac),
      Owner(facts.inner_source_mac ? view.FindByMac(*facts.inner_source_mac) : nullptr,
            "the VTEP MAC")));
}

}  // namespace

Reasons OutboundReasons(const Viewpoint& view, const ForwarderConfig& config,
                        const FrameFacts& facts, const Packet& packet) {
  const NamedHalf* const peer =
      facts.inner_destination ? view.FindCovering(*facts.inner_destination, true) : nullptr;
  Reasons reasons;
  switch (packet.verdict) {
    case Verdict::kForward:
      if (peer == nullptr) break;
      reasons.push_back(absl::StrCat(Shown(facts.inner_destination), " lies in ", LeaseOf(*peer)));
      AddEncapsulated(config, packet, *peer, reasons);
      reasons.push_back(SizeReason(config, facts, *peer->half.public_ip));
      break;
    case Verdict::kTooBig:
    case Verdict::kTooBigSilent:
      if (peer == nullptr) break;
      reasons.push_back(SizeReason(config, facts, *peer->half.public_ip));
      reasons.push_back(absl::StrCat(Shown(facts.inner_destination), " lies in ", LeaseOf(*peer)));
      break;
    case Verdict::kNoRoute:
      reasons.push_back(NoUsableLease(view, facts.inner_destination));
      break;
    case Verdict::kOwnSubnet:
      reasons.push_back(absl::StrCat(Shown(facts.inner_destination), " lies in ",
                                     view.own.subnet.ToString(), ", the lease of ", view.node,
                                     " itself"));
      break;
    case Verdict::kGroupDestination:
      reasons.push_back(absl::StrCat("the destination is ", Shown(facts.inner_destination)));
      break;
    default:  // the drop's sentence and the layers suffice
      break;
  }
  return reasons;
}

Reasons InboundReasons(const Viewpoint& view, const ForwarderConfig& config,
                       const FrameFacts& facts, const Packet& packet) {
  Reasons reasons;
  switch (packet.verdict) {
    case Verdict::kForward:
      AddSender(view, facts, reasons);
      reasons.push_back(absl::StrCat("inner destination ", Shown(facts.inner_destination),
                                     " lies in ", view.own.subnet.ToString(), ", the lease of ",
                                     view.node, " itself; ", packet.length,
                                     " bytes go to the pods"));
      break;
    case Verdict::kPodSource:
    case Verdict::kUnknownPeer:
      AddSender(view, facts, reasons);
      reasons.push_back(absl::StrCat("checked by --peer-check=", Name(config.peer_check)));
      break;
    case Verdict::kOwnSource:
      reasons.push_back(absl::StrCat("inner source ", Shown(facts.inner_source), " lies in ",
                                     view.own.subnet.ToString(), ", the lease of ", view.node,
                                     " itself"));
      break;
    case Verdict::kForeignVni:
      reasons.push_back(absl::StrCat("the frame's VNI is ", facts.vni.value_or(0), "; that of ",
                                     view.node, " is ", config.local.vni.value()));
      break;
    case Verdict::kForeignMac:
      reasons.push_back(absl::StrCat(
          "inner destination MAC ", Shown(facts.inner_destination_mac),
          Owner(
              facts.inner_destination_mac ? view.FindByMac(*facts.inner_destination_mac) : nullptr,
              "the VTEP MAC"),
          "; ", view.node, " publishes ", config.local.mac.ToString()));
      break;
    case Verdict::kForeignSubnet:
      reasons.push_back(absl::StrCat("inner destination ", Shown(facts.inner_destination),
                                     "; the lease of ", view.node, " is ",
                                     view.own.subnet.ToString()));
      break;
    case Verdict::kNotVxlan:
      if (facts.outer_port && *facts.outer_port != config.local.port) {
        reasons.push_back(absl::StrCat("UDP destination port ", *facts.outer_port, "; VXLAN is on ",
                                       config.local.port));
      }
      break;
    default:
      break;
  }
  return reasons;
}

}  // namespace weft::cli
