// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/judge.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/cli/explain/frame.h"
#include "control/cli/explain/viewpoint.h"
#include "dataplane/forwarder.h"
#include "vxlan/ethernet.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/transport_checksum.h"

namespace weft::cli {
namespace {

using dataplane::Batch;
using dataplane::Forwarder;
using dataplane::ForwarderConfig;
using dataplane::Packet;
using dataplane::PortKind;
using dataplane::Verdict;

// Why the forwarder decided as it did, with the frame's and the leases' own values: lines for
// people, the main reason first.
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
                      config.link_mtu.Inner(vtep.family()).bytes(), " fit (outer MTU ",
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

// The part of a frame that the forwarder receives.
struct Core {
  Bytes bytes;
  FrameStart start{};  // kOuterIp, kVxlan or kInnerIp
};

bool IsOutbound(FrameStart start) {
  return start == FrameStart::kInnerIp || start == FrameStart::kInnerEthernet;
}

// Removes an outer or inner Ethernet header, or decides about the frame as an L2 pod port does.
absl::StatusOr<Core> StripEthernet(Bytes frame, FrameStart start, std::optional<Verdict>& decided) {
  if (start != FrameStart::kOuterEthernet && start != FrameStart::kInnerEthernet) {
    return Core{frame, start};
  }
  const bool outer = start == FrameStart::kOuterEthernet;
  const Parsed<EthernetFrame> ethernet = EthernetFrame::Parse(frame);
  const bool is_ip = ethernet && (ethernet->ether_type == EtherType::kIpv4 ||
                                  ethernet->ether_type == EtherType::kIpv6);
  if (outer && !is_ip)
    return absl::InvalidArgumentError("the outer frame is not IP, so it never reaches the tunnel");
  if (!ethernet) {
    decided = Verdict::kInnerMalformed;
  } else if (!outer && ethernet->tag) {
    decided = Verdict::kVlanTagged;
  } else if (ethernet->ether_type == EtherType::kArp) {
    decided = Verdict::kConsumed;
  } else if (!is_ip) {
    decided = Verdict::kNotIp;
  }
  if (decided) return Core{};
  return Core{frame.subspan(ethernet->payload_offset),
              outer ? FrameStart::kOuterIp : FrameStart::kInnerIp};
}

// Of the outer packet; from VXLAN on, of the inner one, whose tunnel has the same family.
IpFamily FamilyOf(const Core& core) {
  if (core.start == FrameStart::kVxlan) {
    const FrameFacts facts = CollectFacts(core.bytes, core.start);
    return facts.inner_destination ? facts.inner_destination->family() : IpFamily::kV4;
  }
  const bool v6 = !core.bytes.empty() && Load8(core.bytes.data()) >> 4 == 6;
  return v6 ? IpFamily::kV6 : IpFamily::kV4;
}

// As flanneld configures it, without learnt path MTUs; the pod device's MTU is derived from the
// link's.
ForwarderConfig Configure(const Viewpoint& view, FrameStart start, const FrameFacts& facts,
                          const JudgeOptions& options) {
  ForwarderConfig config;
  config.local = view.local;
  config.local.port = options.port.value_or(facts.outer_port.value_or(kVxlanPort));
  config.own_subnets = {view.own.subnet};
  config.own_addresses = {view.own.subnet.base()};
  config.link_mtu = options.link_mtu;
  config.device_mtu = options.link_mtu.Inner(view.own.subnet.family());
  config.peer_check = options.peer_check;
  config.wire = start == FrameStart::kVxlan ? PortKind::kWireDatagram : PortKind::kWirePacket;
  return config;
}

// A whole outer packet whose UDP checksum the sender's stack left to its device.
bool IsUnfinished(const Core& core) {
  if (core.start != FrameStart::kOuterIp) return false;
  const Parsed<InnerPacket> packet = ParseInnerIp(core.bytes);  // without the frame's padding
  return packet && packet->protocol == IpProtocol::kUdp && FindUnfinishedChecksum(packet->bytes());
}

// This node sent it: half of every capture on a node.
bool IsOwnFrame(const Viewpoint& view, const FrameFacts& facts) {
  const bool from_us = (facts.outer_source && facts.outer_source == view.own.public_ip) ||
                       facts.inner_source_mac == view.local.mac;
  return from_us && facts.inner_destination_mac && facts.inner_destination_mac != view.local.mac;
}

// The inner frame of `core`, and where it was sent; empty where that cannot be read.
std::optional<Bytes> InnerFrameOf(const Core& core, std::optional<IpAddress>& outer_destination) {
  Bytes payload = core.bytes;
  if (core.start == FrameStart::kOuterIp) {
    const Parsed<OuterPacket> outer = ParseOuterPacket(payload, OuterChecksums::kTrust);
    if (!outer) return std::nullopt;
    outer_destination = outer->destination();
    payload = outer->payload();
  }
  if (payload.size() <= kVxlanHeaderSize) return std::nullopt;
  return payload.subspan(kVxlanHeaderSize);
}

// What this node sent is judged on its way to the wire, as it would be sent now.
absl::StatusOr<Judgement> JudgeOwnFrame(Bytes inner, const Viewpoint& view,
                                        const std::optional<IpAddress>& outer_destination,
                                        const admin::LeaseList& leases,
                                        const JudgeOptions& options) {
  absl::StatusOr<Judgement> judgement = Judge(inner, FrameStart::kInnerEthernet, leases, options);
  if (!judgement.ok()) return judgement;
  const FrameFacts facts = CollectFacts(inner.subspan(EthernetHeader::kSize), FrameStart::kInnerIp);
  const NamedHalf* const peer =
      facts.inner_destination ? view.FindCovering(*facts.inner_destination, true) : nullptr;
  std::vector<std::string>& reasons = judgement->reasons;
  if (outer_destination && peer != nullptr && peer->half.public_ip != outer_destination) {
    reasons.insert(reasons.begin(),
                   absl::StrCat("it was sent to ", outer_destination->ToString(),
                                ", which is not the public IP of ", peer->node, " now"));
  }
  reasons.insert(reasons.begin(),
                 absl::StrCat(view.node,
                              " sent this frame itself, so it is judged as its pod's "
                              "packet on the way to the wire"));
  return judgement;
}

}  // namespace

absl::StatusOr<Judgement> Judge(Bytes frame, FrameStart start, const admin::LeaseList& leases,
                                const JudgeOptions& options) {
  Judgement judgement{.outbound = IsOutbound(start), .verdict = {}, .reasons = {}};
  std::optional<Verdict> decided;
  const absl::StatusOr<Core> core = StripEthernet(frame, start, decided);
  if (!core.ok()) return core.status();
  if (decided) {
    judgement.verdict = *decided;
    return judgement;
  }
  if (core->bytes.size() > dataplane::kMaxPacket) {
    return absl::InvalidArgumentError(absl::StrCat("the frame has ", core->bytes.size(),
                                                   " bytes; no port delivers more than ",
                                                   dataplane::kMaxPacket));
  }
  const absl::StatusOr<Viewpoint> view = MakeViewpoint(leases, FamilyOf(*core));
  if (!view.ok()) return view.status();

  const FrameFacts facts = CollectFacts(core->bytes, core->start);
  if (!judgement.outbound && IsOwnFrame(*view, facts)) {
    std::optional<IpAddress> outer_destination;
    if (const auto inner = InnerFrameOf(*core, outer_destination);
        inner && inner->size() > EthernetHeader::kSize)
      return JudgeOwnFrame(*inner, *view, outer_destination, leases, options);
  }

  const ForwarderConfig config = Configure(*view, core->start, facts, options);
  dataplane::PeerTable peers;
  dataplane::RemoteTable remotes(view->local, peers);
  remotes.Resync(view->remotes);
  dataplane::Counters counters;
  Forwarder forwarder(config, remotes, peers, counters);
  forwarder.Refresh();

  // The frame is copied to a buffer with headroom for the outer headers. The batch is some 20 KiB:
  // too much for a stack.
  dataplane::PacketSlab slab(1);
  const auto batch = std::make_unique<Batch>();
  const auto replies = std::make_unique<Batch>();
  dataplane::Packet& packet = batch->Add(slab.Lend(0));
  packet.length = static_cast<std::uint32_t>(core->bytes.size());
  std::copy(core->bytes.begin(), core->bytes.end(), packet.data);
  const bool unfinished = IsUnfinished(*core);
  if (unfinished) packet.checksum = dataplane::ChecksumState::kPartial;
  if (judgement.outbound) {
    forwarder.Encapsulate(*batch, *replies);
  } else {
    forwarder.Decapsulate(*batch);
  }
  judgement.verdict = packet.verdict;
  judgement.reasons = judgement.outbound ? OutboundReasons(*view, config, facts, packet)
                                         : InboundReasons(*view, config, facts, packet);
  if (!options.port) {
    judgement.reasons.push_back(absl::StrCat("the tunnel's UDP port, ", config.local.port,
                                             ", is assumed: only a running flanneld knows it"));
  }
  if (unfinished) {
    judgement.reasons.push_back(
        "the outer UDP checksum is unfinished, as a capture on the sending host shows it where a "
        "device completes it; capture on the receiver to check it");
  }
  return judgement;
}

}  // namespace weft::cli
