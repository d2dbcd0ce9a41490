// SPDX-License-Identifier: Apache-2.0
#include "control/cli/capture/outer_pieces.h"

#include <algorithm>

#include "control/cli/capture/frame_selection.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft::cli {
namespace {

// Bytes of the datagram that begins with a VXLAN header; 0: it has no IP packet inside.
std::size_t DatagramSize(Bytes payload) {
  constexpr std::size_t kBefore = VxlanHeader::kSize + EthernetHeader::kSize;
  if (!VxlanHeader::Parse(payload)) return 0;
  const auto inner = ParseInnerFrame(payload.subspan(VxlanHeader::kSize));
  return inner ? kBefore + inner->total_length : 0;
}

MutableBytes BytesOf(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

}  // namespace

OuterPieces::OuterPieces(Bytes outer, dataplane::LinkType link_type) : outer_(outer) {
  const Bytes ip = IpOf(outer, link_type);
  const auto packet = ParseOuterPacket(ip, OuterChecksums::kTrust);
  if (!packet) return;
  const Bytes payload = packet->payload();
  size_ = DatagramSize(payload);
  // Two datagrams in one: the second has the first one's VNI.
  if (size_ == 0 || payload.size() <= size_) return;
  const Bytes second = payload.subspan(size_);
  const auto header = VxlanHeader::Parse(second);
  if (DatagramSize(second) == 0 || !header || header->vni != VxlanHeader::Parse(payload)->vni)
    return;
  if (packet->is_v4()) header_ = *Ipv4Header::Parse(ip);
  ip_ = outer.size() - ip.size();
  payload_ = ip_ + packet->payload_offset;
  udp_ = payload_ - UdpHeader::kSize;
  outer_ = outer.first(payload_ + payload.size());
  count_ = (payload.size() + size_ - 1) / size_;
}

Bytes OuterPieces::Piece(std::size_t index) {
  const Bytes all = outer_.subspan(payload_);
  const Bytes datagram = all.subspan(index * size_, std::min(size_, all.size() - index * size_));
  piece_.assign(reinterpret_cast<const char*>(outer_.data()), payload_);
  piece_.append(reinterpret_cast<const char*>(datagram.data()), datagram.size());
  const MutableBytes out = BytesOf(piece_);
  std::byte* const ip = out.data() + ip_;
  const auto udp_length = static_cast<std::uint16_t>(UdpHeader::kSize + datagram.size());
  if (Load8(ip) >> 4 == 4) {
    Ipv4Header header = header_;
    header.total_length = static_cast<std::uint16_t>(out.size() - ip_);
    header.identification = static_cast<std::uint16_t>(header.identification + index);
    header.Emit(out.subspan(ip_));
  } else {
    StoreBe16(ip + 4, static_cast<std::uint16_t>(out.size() - ip_ - Ipv6Header::kSize));
  }
  StoreBe16(out.data() + udp_ + 4, udp_length);
  if (LoadBe16(out.data() + udp_ + 6) != 0) CompleteTransportChecksum(out.subspan(ip_));
  return out;
}

}  // namespace weft::cli
