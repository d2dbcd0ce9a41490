// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trace_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "vxlan/describe.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/mtu.h"
#include "vxlan/udp.h"
#include "vxlan/vni.h"

namespace weft::dataplane {
namespace {

FrameStart StartOf(PortKind kind) {
  switch (kind) {
    case PortKind::kPodL3:
      return FrameStart::kInnerIp;
    case PortKind::kPodL2:
      return FrameStart::kInnerEthernet;
    case PortKind::kWirePacket:
      return FrameStart::kOuterIp;
    case PortKind::kWireDatagram:
      return FrameStart::kVxlan;
  }
  return FrameStart::kOuterIp;
}

std::string_view SegmentWord(Segmentation segmentation) {
  switch (segmentation) {
    case Segmentation::kNone:
      return "";
    case Segmentation::kTcp:
      return ", TCP superframe of ";
    case Segmentation::kUdp:
      return ", UDP superframe of ";
    case Segmentation::kDatagrams:
      return ", datagrams of ";
  }
  return "";
}

// A datagram of a kWireDatagram port with the outer headers that it has on the wire. UDP checksum
// zero; truncated to the maximum size of an IP packet.
std::vector<std::byte> WithOuterHeaders(TraceDirection direction, const Packet& packet,
                                        Bytes payload) {
  const bool v4 = packet.outer_address.is_v4();
  const std::size_t ip_size = v4 ? Ipv4Header::kSize : Ipv6Header::kSize;
  payload =
      payload.first(std::min<std::size_t>(payload.size(), 65'535 - ip_size - UdpHeader::kSize));
  std::vector<std::byte> result(ip_size + UdpHeader::kSize + payload.size());
  const auto udp_length = static_cast<std::uint16_t>(UdpHeader::kSize + payload.size());
  const bool received = direction == TraceDirection::kReceived;
  if (v4) {
    Ipv4Header ip;
    ip.ecn = EcnOf(packet.outer_ecn);
    ip.total_length = static_cast<std::uint16_t>(ip_size + udp_length);
    ip.dont_fragment = true;
    ip.protocol = IpProtocol::kUdp;
    (received ? ip.source : ip.destination) = packet.outer_address.v4();
    ip.Emit(result);
  } else {
    Ipv6Header ip;
    ip.ecn = EcnOf(packet.outer_ecn);
    ip.payload_length = udp_length;
    ip.next_header = IpProtocol::kUdp;
    ip.source = ip.destination = *IpAddress::Parse("::");
    (received ? ip.source : ip.destination) = packet.outer_address;
    ip.Emit(MutableBytes(result).first<Ipv6Header::kSize>());
  }
  const UdpHeader udp{packet.outer_port, kVxlanPort, udp_length, 0};
  udp.Emit(std::span<std::byte, UdpHeader::kSize>(result.data() + ip_size, UdpHeader::kSize));
  std::copy(payload.begin(), payload.end(),
            result.begin() + static_cast<std::ptrdiff_t>(ip_size + UdpHeader::kSize));
  return result;
}

}  // namespace

LinkType TraceLinkType(PortKind kind) {
  return kind == PortKind::kPodL2 ? LinkType::kEthernet : LinkType::kRaw;
}

TracePort::TracePort(std::unique_ptr<PacketPort> inner, TraceOptions options)
    : inner_(std::move(inner)), options_(std::move(options)), offered_(kMaxBatch) {}

std::size_t TracePort::Receive(Batch& batch) {
  const std::size_t received = inner_->Receive(batch);
  for (const Packet& packet : batch) {
    Show(TraceDirection::kReceived, packet, packet.bytes());
    Write(TraceDirection::kReceived, packet, packet.bytes(), batch.now);
  }
  return received;
}

void TracePort::Send(Batch& batch) {
  // The inner port may write into headroom but does not change the packets' own bytes, so they can
  // be shown once the verdicts are known.
  for (std::size_t i = 0; i < batch.size(); ++i)
    offered_[i] = batch[i].verdict == Verdict::kForward;
  inner_->Send(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Packet& packet = batch[i];
    if (!offered_[i]) continue;
    Show(TraceDirection::kSent, packet, packet.bytes());
    if (packet.verdict == Verdict::kForward)
      Write(TraceDirection::kSent, packet, packet.bytes(), batch.now);
  }
}

void TracePort::Show(TraceDirection direction, const Packet& packet, Bytes bytes) {
  if (!options_.describe) return;
  std::string text = absl::StrCat(direction == TraceDirection::kReceived ? "received " : "sent ",
                                  packet.length, " bytes");
  if (packet.segmentation != Segmentation::kNone) {
    absl::StrAppend(&text, SegmentWord(packet.segmentation), packet.segment_size);
  }
  if (packet.verdict != Verdict::kForward) absl::StrAppend(&text, " (", Name(packet.verdict), ")");
  if (kind() == PortKind::kWireDatagram) {
    absl::StrAppend(&text, direction == TraceDirection::kReceived ? " from " : " to ",
                    packet.outer_address.ToString());
  }
  absl::StrAppend(&text, ":\n", weft::Describe(bytes, StartOf(kind())));
  options_.describe(direction, text);
}

void TracePort::Write(TraceDirection direction, const Packet& packet, Bytes bytes, Timestamp now) {
  if (!options_.capture) return;
  const CaptureTime time = options_.epoch + now;
  absl::Status status;
  if (kind() == PortKind::kWireDatagram) {
    status = options_.capture->Write(time, WithOuterHeaders(direction, packet, bytes));
  } else {
    status = options_.capture->Write(time, bytes);
  }
  if (!status.ok()) options_.capture.reset();  // a full disk: Flush reports it
  if (capture_status_.ok()) capture_status_ = status;
}

absl::Status TracePort::Flush() {
  if (options_.capture && capture_status_.ok()) capture_status_ = options_.capture->Flush();
  return capture_status_;
}

}  // namespace weft::dataplane
