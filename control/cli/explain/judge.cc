// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/judge.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "control/cli/explain/judge_reasons.h"
#include "vxlan/ethernet.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/transport_checksum.h"

namespace weft::cli {
namespace {

using dataplane::Batch;
using dataplane::Forwarder;
using dataplane::ForwarderConfig;
using dataplane::PortKind;
using dataplane::Verdict;

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
  if (outer && !is_ip) {
    return absl::InvalidArgumentError("the outer frame is not IP, so it never reaches the tunnel");
  }
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
ForwarderConfig Configure(const Viewpoint& view, FrameStart start, const JudgeOptions& options) {
  ForwarderConfig config;
  config.local = view.local;
  config.local.port = options.port;
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

  const ForwarderConfig config = Configure(*view, core->start, options);
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
  if (unfinished) {
    judgement.reasons.push_back(
        "the outer UDP checksum is unfinished, as a capture on the sending host shows it where a "
        "device completes it; capture on the receiver to check it");
  }
  return judgement;
}

}  // namespace weft::cli
