// SPDX-License-Identifier: Apache-2.0
#include "control/cli/frame_facts.h"

#include "vxlan/ethernet.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/vxlan_header.h"

namespace weft::cli {
namespace {

void AddInnerIp(Bytes frame, FrameFacts& facts) {
  const Parsed<InnerPacket> inner = ParseInnerIp(frame);
  if (!inner) return;
  facts.inner_source = inner->source();
  facts.inner_destination = inner->destination();
  facts.inner_length = inner->total_length;
}

void AddVxlan(Bytes frame, FrameFacts& facts) {
  if (frame.size() < VxlanHeader::kSize) return;
  facts.vni = LoadBe32(frame.data() + 4) >> 8;
  const Bytes inner = frame.subspan(VxlanHeader::kSize);
  const Parsed<EthernetFrame> ethernet = EthernetFrame::Parse(inner);
  if (!ethernet) return;
  facts.inner_destination_mac = ethernet->destination;
  facts.inner_source_mac = ethernet->source;
  AddInnerIp(inner.subspan(ethernet->payload_offset), facts);
}

}  // namespace

FrameFacts CollectFacts(Bytes frame, FrameStart start) {
  FrameFacts facts;
  if (start == FrameStart::kInnerIp) {
    AddInnerIp(frame, facts);
  } else if (start == FrameStart::kVxlan) {
    AddVxlan(frame, facts);
  } else if (const Parsed<OuterPacket> outer = ParseOuterPacket(frame, OuterChecksums::kTrust)) {
    facts.outer_source = outer->source();
    facts.outer_port = outer->destination_port;
    AddVxlan(outer->payload(), facts);
  }
  return facts;
}

}  // namespace weft::cli
