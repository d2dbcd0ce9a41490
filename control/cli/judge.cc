// SPDX-License-Identifier: Apache-2.0
#include "control/cli/judge.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "control/cli/judge_reasons.h"
#include "vxlan/ethernet.h"

namespace weft::cli {
namespace {

using dataplane::Batch;
using dataplane::Forwarder;
using dataplane::ForwarderConfig;
using dataplane::PortKind;
using dataplane::Verdict;

// The part of a frame that the forwarder is given.
struct Core {
  Bytes octets;
  FrameStart start{};  // kOuterIp, kVxlan or kInnerIp
};

bool IsOutbound(FrameStart start) {
  return start == FrameStart::kInnerIp || start == FrameStart::kInnerEthernet;
}

// Takes an outer or inner Ethernet header off, or decides about the frame as an L2 pod port does.
absl::StatusOr<Core> TakeEthernetOff(Bytes frame, FrameStart start,
                                     std::optional<Verdict>& decided) {
  if (start != FrameStart::kOuterEthernet && start != FrameStart::kInnerEthernet) {
    return Core{frame, start};
  }
  const bool outer = start == FrameStart::kOuterEthernet;
  const Parsed<EthernetFrame> ethernet = EthernetFrame::Parse(frame);
  const bool is_ip = ethernet && (ethernet->ether_type == EtherType::kIpv4 ||
                                  ethernet->ether_type == EtherType::kIpv6);
  if (outer && !is_ip) {
    return absl::InvalidArgumentError("the outer frame is not IP, so the tunnel never sees it");
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
    const FrameFacts facts = CollectFacts(core.octets, core.start);
    return facts.inner_destination ? facts.inner_destination->family() : IpFamily::kV4;
  }
  const bool v6 = !core.octets.empty() && Load8(core.octets.data()) >> 4 == 6;
  return v6 ? IpFamily::kV6 : IpFamily::kV4;
}

// As flanneld makes it, but for learnt path MTUs and the pod device's own MTU, which follow the
// link.
ForwarderConfig Configure(const Viewpoint& view, FrameStart start, const JudgeOptions& options) {
  ForwarderConfig config;
  config.local = view.local;
  config.own_subnets = {view.own.subnet};
  config.own_addresses = {view.own.subnet.base()};
  config.link_mtu = options.link_mtu;
  config.device_mtu = options.link_mtu.Inner(view.own.subnet.family());
  config.peer_check = options.peer_check;
  config.wire = start == FrameStart::kVxlan ? PortKind::kWireDatagram : PortKind::kWirePacket;
  return config;
}

}  // namespace

absl::StatusOr<Judgement> Judge(Bytes frame, FrameStart start, const admin::LeaseList& leases,
                                const JudgeOptions& options) {
  Judgement judgement{.outbound = IsOutbound(start), .verdict = {}, .reasons = {}};
  std::optional<Verdict> decided;
  const absl::StatusOr<Core> core = TakeEthernetOff(frame, start, decided);
  if (!core.ok()) return core.status();
  if (decided) {
    judgement.verdict = *decided;
    return judgement;
  }
  if (core->octets.size() > dataplane::kMaxPacket) {
    return absl::InvalidArgumentError(absl::StrCat("the frame has ", core->octets.size(),
                                                   " octets; no port delivers more than ",
                                                   dataplane::kMaxPacket));
  }
  const absl::StatusOr<Viewpoint> view = MakeViewpoint(leases, FamilyOf(*core));
  if (!view.ok()) return view.status();

  const ForwarderConfig config = Configure(*view, core->start, options);
  dataplane::PeerTable peers;
  dataplane::RemoteTable remotes(view->local, peers);
  remotes.Resync(view->remotes);
  dataplane::Counters counters;
  Forwarder forwarder(config, remotes, peers, counters);
  forwarder.Refresh();

  // The frame is copied to where there is headroom for what the forwarder puts before it. The batch
  // is some 20 KiB: too much for a stack.
  dataplane::PacketSlab slab(1);
  const auto batch = std::make_unique<Batch>();
  const auto replies = std::make_unique<Batch>();
  dataplane::Packet& packet = batch->Add(slab.Lend(0));
  packet.length = static_cast<std::uint32_t>(core->octets.size());
  std::copy(core->octets.begin(), core->octets.end(), packet.data);
  if (judgement.outbound) {
    forwarder.Encapsulate(*batch, *replies);
  } else {
    forwarder.Decapsulate(*batch);
  }
  judgement.verdict = packet.verdict;
  const FrameFacts facts = CollectFacts(core->octets, core->start);
  judgement.reasons = judgement.outbound ? OutboundReasons(*view, config, facts, packet)
                                         : InboundReasons(*view, config, facts, packet);
  return judgement;
}

}  // namespace weft::cli
