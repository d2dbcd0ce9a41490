// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/frame.h"

#include <array>
#include <utility>

#include "vxlan/ethernet.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/vxlan_header.h"

namespace weft::cli {
namespace {

constexpr std::array<std::pair<std::string_view, FrameStart>, 5> kNames{{
    {"outer-ethernet", FrameStart::kOuterEthernet},
    {"outer-ip", FrameStart::kOuterIp},
    {"vxlan", FrameStart::kVxlan},
    {"inner-ethernet", FrameStart::kInnerEthernet},
    {"inner-ip", FrameStart::kInnerIp},
}};

bool IsIp(EtherType type) { return type == EtherType::kIpv4 || type == EtherType::kIpv6; }

bool HasKnownType(Bytes frame) {
  const Parsed<EthernetHeader> header = EthernetHeader::Parse(frame);
  return header && (IsIp(header->ether_type) || IsVlanTag(header->ether_type) ||
                    header->ether_type == EtherType::kArp);
}

bool IsOuter(Bytes ip) {
  const Parsed<OuterPacket> outer = ParseOuterPacket(ip, OuterChecksums::kTrust);
  return outer && CarriesVxlan(outer->destination_port, outer->payload());
}

// Eight bytes whose reserved bits are clear, before an Ethernet header of a known type: an
// Ethernet frame to a MAC address of 08:00:00:... is hardly ever mistaken for it.
bool BeginsWithVxlan(Bytes frame) {
  return frame.size() > VxlanHeader::kSize &&
         LoadBe32(frame.data()) == std::uint32_t{VxlanHeader::kFlagVni} << 24 &&
         Load8(frame.data() + 7) == 0 && HasKnownType(frame.subspan(VxlanHeader::kSize));
}

bool BeginsWithIp(Bytes frame) {
  if (ParseInnerIp(frame)) return true;
  // Truncated: the version decides, unless it can be Ethernet.
  const unsigned version = frame.empty() ? 0 : Load8(frame.data()) >> 4;
  return (version == 4 || version == 6) && !HasKnownType(frame);
}

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

std::string_view Name(FrameStart start) {
  for (const auto& [name, value] : kNames)
    if (value == start) return name;
  return "";
}

std::optional<FrameStart> ParseFrameStart(std::string_view name) {
  for (const auto& [known, value] : kNames)
    if (known == name) return value;
  return std::nullopt;
}

FrameStart GuessFrameStart(Bytes frame) {
  if (BeginsWithVxlan(frame)) return FrameStart::kVxlan;
  if (BeginsWithIp(frame)) return IsOuter(frame) ? FrameStart::kOuterIp : FrameStart::kInnerIp;
  const Parsed<EthernetFrame> ethernet = EthernetFrame::Parse(frame);
  const bool outer = ethernet && IsOuter(frame.subspan(ethernet->payload_offset));
  return outer ? FrameStart::kOuterEthernet : FrameStart::kInnerEthernet;
}

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
