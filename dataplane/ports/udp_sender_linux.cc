// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_sender_linux.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "dataplane/counters.h"
#include "dataplane/offload.h"
#include "dataplane/ports/port_rules.h"
#include "dataplane/ports/tunnel_gso_linux.h"
#include "vxlan/mtu.h"

namespace weft::dataplane {
namespace {

// RFC 6335 section 6: the dynamic ports, which RFC 7348 section 5 recommends as outer source ports.
constexpr std::uint32_t kFirstSourcePort = 49152;
constexpr std::uint32_t kSourcePorts = 16384;
constexpr std::uint32_t kMaxUdpPayload = 65'507;  // over IPv4
constexpr int kMaxSockets = 4096;                 // leaves each socket four ports to choose from

std::uint32_t OuterHeaders(IpFamily family) {
  return (family == IpFamily::kV4 ? kIpv4HeaderSize : kIpv6HeaderSize) + kUdpHeaderSize;
}

constexpr int kAttempts = 3;

bool IsSuperframe(const Packet& packet) {
  return packet.segmentation == Segmentation::kTcp || packet.segmentation == Segmentation::kUdp;
}

// Errors that concern every packet to a destination: there is no route, or the link is down.
bool ConcernsDestination(int error) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN;
}

// A rule of this host's firewall refused this packet. No ICMP error has this number, so it is this
// call's result.
bool IsForbidden(int error) { return error == EPERM; }

}  // namespace

UdpSender::UdpSender(const UdpOptions& options, std::uint16_t destination_port)
    : family_(options.family),
      destination_port_(destination_port),
      segments_(options.udp_checksum || options.family == IpFamily::kV6),
      udp_checksum_(options.udp_checksum),
      tunnel_gso_(options.tunnel_gso),
      paths_(destination_port),
      errors_(paths_, destination_port) {
  features_.datagram_aggregation = segments_;
}

absl::StatusOr<std::unique_ptr<UdpSender>> UdpSender::Open(const UdpOptions& options,
                                                           std::uint16_t destination_port) {
  if (options.sending_sockets < 1 || options.sending_sockets > kMaxSockets) {
    return absl::InvalidArgumentError(absl::StrCat("UDP port: ", options.sending_sockets,
                                                   " sending sockets; choose 1 to ", kMaxSockets));
  }
  std::unique_ptr<UdpSender> sender(new UdpSender(options, destination_port));
  if (absl::Status status = sender->errors_.Open(); !status.ok()) return status;
  if (absl::Status status = sender->paths_.Open(options); !status.ok()) return status;
  const auto count = static_cast<std::uint32_t>(options.sending_sockets);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t first = kFirstSourcePort + i * kSourcePorts / count;
    const std::uint32_t last = kFirstSourcePort + (i + 1) * kSourcePorts / count - 1;
    auto socket = OpenSendingSocket(options, static_cast<std::uint16_t>(first),
                                    static_cast<std::uint16_t>(last));
    if (!socket.ok()) return socket.status();
    if (absl::Status status = sender->errors_.Watch(socket->get()); !status.ok()) return status;
    sender->source_ports_.push_back(BoundPort(*socket));
    sender->sockets_.push_back(*std::move(socket));
  }
  return sender;
}

std::size_t UdpSender::ChooseSocket(const Packet& packet) const {
  // Each socket serves the part of the range that contains its own port.
  const std::uint32_t port = std::max<std::uint32_t>(packet.outer_port, kFirstSourcePort);
  return (port - kFirstSourcePort) * sockets_.size() / kSourcePorts;
}

bool UdpSender::Join(Message& message, const Packet& packet, std::size_t socket) const {
  if (message.closed || !message.segments || message.socket != socket ||
      message.ecn != packet.outer_ecn || message.may_fragment != packet.may_fragment ||
      packet.segmentation != Segmentation::kNone || packet.length > message.segment_size ||
      message.count == features_.max_segments ||
      message.bytes + packet.length > features_.max_aggregate ||
      planned_[message.first]->outer_address != packet.outer_address) {
    return false;
  }
  ++message.count;
  message.bytes += packet.length;
  message.closed = packet.length < message.segment_size;
  return true;
}

const UdpPaths::Path* UdpSender::PathForWhole(const Packet& superframe) {
  if (superframe.may_fragment || superframe.segment_size == 0 ||
      superframe.outer_address.family() != family_ || !TunnelGso::Fits(superframe, family_))
    return nullptr;
  const std::uint32_t header = SuperframeHeaderLength(superframe);
  const std::uint32_t largest = OuterHeaders(family_) + header + superframe.segment_size;
  const UdpPaths::Path& path = paths_.To(superframe.outer_address, now_);
  const bool is_current = path.generation == tunnel_gso_->generation();
  return is_current && header != 0 && largest <= path.whole_limit && now_ >= path.whole_again
             ? &path
             : nullptr;
}

bool UdpSender::TakesWhole(const Packet& packet, Timestamp now) {
  if (!tunnel_gso_ || !tunnel_gso_->permitted() || !IsSuperframe(packet)) return false;
  now_ = now;
  return PathForWhole(packet) != nullptr &&
         paths_.IsTracked(sockets_[ChooseSocket(packet)].get(), packet.outer_address, now);
}

void UdpSender::SendWhole(const Message& message) {
  Packet& packet = *planned_[message.first];
  const int error = tunnel_gso_->Send(packet, {.source = message.source,
                                               .destination = packet.outer_address,
                                               .source_port = source_ports_[message.socket],
                                               .destination_port = destination_port_,
                                               .udp_checksum = udp_checksum_});
  if (error == 0) return;
  if (error == EINVAL) {
    Add(superframes_refused_, 1);
    paths_.RefuseWhole(packet.outer_address, now_);
  }
  packet.verdict = VerdictOf(error);
}

void UdpSender::Plan(Batch& batch) {
  planned_count_ = 0;
  message_count_ = 0;
  for (Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward) continue;
    const bool plain =
        packet.segmentation == Segmentation::kNone && packet.checksum == ChecksumState::kOnWire;
    const bool aggregate =
        packet.segmentation == Segmentation::kDatagrams && packet.segment_size != 0;
    const UdpPaths::Path* const whole =
        tunnel_gso_ && IsSuperframe(packet) ? PathForWhole(packet) : nullptr;
    if (packet.length == 0 || !(plain || aggregate || whole != nullptr) ||
        packet.outer_address.family() != family_) {
      packet.verdict = Verdict::kWireError;
      continue;
    }
    if (packet.length > kMaxUdpPayload && plain) {
      packet.verdict = Verdict::kTooBigSilent;
      continue;
    }
    const std::size_t socket = ChooseSocket(packet);
    const std::size_t place = planned_count_;
    planned_[place] = &packet;
    pieces_[place] = {packet.data, packet.length};
    if (whole != nullptr) {
      ++planned_count_;
      paths_.NoteSentWhole(sockets_[socket].get(), packet.outer_address, now_);
      Message& message = messages_[message_count_++];
      message.first = place;
      message.count = 1;
      message.socket = socket;
      message.closed = true;
      message.may_fragment = false;
      message.segments = false;
      message.whole = true;
      message.source = whole->source;
      continue;
    }
    if (message_count_ != 0 && Join(messages_[message_count_ - 1], packet, socket)) {
      ++planned_count_;
      continue;
    }
    const UdpPaths::Path& path = paths_.To(packet.outer_address, now_);
    const std::uint32_t largest =
        OuterHeaders(family_) + (aggregate ? packet.segment_size : packet.length);
    if (path.route_mtu != 0 && largest > path.route_mtu && !packet.may_fragment) {
      packet.verdict = Verdict::kTooBigSilent;
      errors_.Note({packet.outer_address, path.route_mtu});
      continue;
    }
    ++planned_count_;
    paths_.NoteSent(sockets_[socket].get(), packet.outer_address, now_);
    Message& message = messages_[message_count_++];
    message.destination = SocketAddress::From(packet.outer_address, destination_port_);
    message.first = place;
    message.count = 1;
    message.socket = socket;
    message.bytes = packet.length;
    message.segment_size =
        aggregate ? packet.segment_size : static_cast<std::uint16_t>(packet.length);
    message.ecn = packet.outer_ecn;
    message.closed = aggregate;
    message.may_fragment = packet.may_fragment;
    message.whole = false;
    // A packet that becomes fragments must be a single datagram.
    message.segments = segments_ && now_ >= path.segments_again &&
                       !(packet.may_fragment && family_ == IpFamily::kV6);
  }
  for (std::size_t i = 0; i < message_count_; ++i) {
    Message& message = messages_[i];
    if (message.whole) continue;
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &message.destination.storage;
    header.msg_namelen = message.destination.length;
    header.msg_iov = &pieces_[message.first];
    header.msg_iovlen = message.count;
    FillControl(message, header);
  }
}

void UdpSender::FillControl(Message& message, msghdr& header) const {
  header.msg_control = message.control.bytes.data();
  header.msg_controllen = message.control.bytes.size();
  std::size_t used = 0;
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  const auto add = [&](int level, int type, const void* value, std::size_t size) {
    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(control), value, size);
    used += CMSG_SPACE(size);
    control = reinterpret_cast<cmsghdr*>(message.control.bytes.data() + used);
  };
  if (message.ecn != 0) {
    const int traffic_class = message.ecn;
    const bool v4 = family_ == IpFamily::kV4;
    add(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
        sizeof traffic_class);
  }
  if (message.segments && IsSegmented(message))
    add(IPPROTO_UDP, UDP_SEGMENT, &message.segment_size, sizeof message.segment_size);
  header.msg_controllen = used;
  if (used == 0) header.msg_control = nullptr;
}

void UdpSender::Send(Batch& batch) {
  now_ = batch.now;
  given_up_.reset();
  Plan(batch);
  for (std::size_t first = 0; first < message_count_;) {
    const Message& one = messages_[first];
    if (one.whole) {
      SendWhole(one);
      ++first;
      continue;
    }
    std::size_t last = first + 1;
    while (last < message_count_ && !messages_[last].whole &&
           messages_[last].socket == one.socket &&
           messages_[last].may_fragment == one.may_fragment) {
      ++last;
    }
    if (one.may_fragment) {
      // Rare, so the socket's options are changed for the call; the flow keeps its source port.
      const FileDescriptor& socket = sockets_[one.socket];
      SetFragmentation(socket, family_, Fragmentation::kAllowed);
      SendRun(first, last);
      SetFragmentation(socket, family_, Fragmentation::kNever);
    } else {
      SendRun(first, last);
    }
    first = last;
  }
}

bool UdpSender::IsOneCall(const Message& message) const {
  return !IsSegmented(message) || message.segments;
}

bool UdpSender::IsGivenUp(const Message& message) const {
  return given_up_ && *given_up_ == planned_[message.first]->outer_address;
}

void UdpSender::SendRun(std::size_t first, std::size_t last) {
  const int socket = sockets_[messages_[first].socket].get();
  while (first < last) {
    Message& message = messages_[first];
    if (IsGivenUp(message)) {
      Fail(message, {given_up_error_});
      ++first;
      continue;
    }
    if (!IsOneCall(message)) {
      SendSingly(message);
      ++first;
      continue;
    }
    // Messages that are sent singly must not be in the run.
    std::size_t end = first + 1;
    while (end < last && IsOneCall(messages_[end]) && !IsGivenUp(messages_[end])) ++end;
    const int sent = ::sendmmsg(socket, &headers_[first], static_cast<unsigned>(end - first), 0);
    if (sent > 0) {
      first += static_cast<std::size_t>(sent);
      continue;
    }
    SendResult result{errno};
    if (!IsForbidden(result.error)) {
      if (!IsFull(result.error)) errors_.Drain(socket, now_);
      result = SendOne(socket, headers_[first].msg_hdr);
    }
    const int error = result.error;
    ++first;
    if (error == 0) continue;
    if (!IsSegmented(message) || IsFull(error) || IsForbidden(error) ||
        ConcernsDestination(error)) {
      Fail(message, result);
      continue;
    }
    // EIO: the route's device cannot compute checksums, or IPsec applies, so the kernel does not
    // segment; it would fail every time. The rest of the batch is not tried either.
    if (error == EIO) {
      Add(segmentation_refused_, 1);
      paths_.RefuseSegments(planned_[message.first]->outer_address, now_);
      for (std::size_t i = first; i < message_count_; ++i) {
        if (planned_[messages_[i].first]->outer_address == planned_[message.first]->outer_address)
          messages_[i].segments = false;
      }
    }
    // EMSGSIZE for segments does not put the route's MTU into the error queue; a single datagram
    // does.
    SendSingly(message);
  }
}

void UdpSender::SendSingly(const Message& message) {
  const int socket = sockets_[message.socket].get();
  SendResult result;
  for (std::size_t i = 0; i < message.count; ++i) {
    Packet& packet = *planned_[message.first + i];
    if (result.own && ConcernsDestination(result.error)) {
      packet.verdict = VerdictOf(result.error);
      continue;
    }
    for (std::uint32_t offset = 0; offset < packet.length; offset += message.segment_size) {
      Message single;
      single.ecn = message.ecn;
      single.bytes = std::min<std::uint32_t>(message.segment_size, packet.length - offset);
      single.segment_size = message.segment_size;
      iovec piece = {packet.data + offset, single.bytes};
      msghdr header{};
      single.destination = message.destination;
      header.msg_name = &single.destination.storage;
      header.msg_namelen = single.destination.length;
      header.msg_iov = &piece;
      header.msg_iovlen = 1;
      FillControl(single, header);
      result = SendOne(socket, header);
      if (result.error != 0) {
        packet.verdict = VerdictOf(result.error);
        packet.left = static_cast<std::uint16_t>(offset / message.segment_size);
        break;
      }
    }
  }
  GiveUp(message, result);
}

UdpSender::SendResult UdpSender::SendOne(int socket, msghdr& header) {
  bool own = true;
  for (int attempts = kAttempts;;) {
    if (::sendmsg(socket, &header, 0) >= 0) return {};
    const int error = errno;
    if (IsFull(error) || IsForbidden(error)) return {error};
    // An arriving ICMP error is queued shortly before sendmsg returns it, and may be drained first.
    own = errors_.Drain(socket, now_) == 0 && own;
    if (--attempts == 0) return {error, own};
  }
}

void UdpSender::GiveUp(const Message& message, SendResult result) {
  if (!result.own || !ConcernsDestination(result.error)) return;
  given_up_ = planned_[message.first]->outer_address;
  given_up_error_ = result.error;
}

void UdpSender::Fail(const Message& message, SendResult result) {
  GiveUp(message, result);
  const Verdict verdict = VerdictOf(result.error);
  for (std::size_t i = 0; i < message.count; ++i) planned_[message.first + i]->verdict = verdict;
}

Verdict UdpSender::VerdictOf(int error) {
  if (IsFull(error)) return Verdict::kWireFull;
  if (error == EMSGSIZE) return Verdict::kTooBigSilent;
  Add(send_errors_, 1);
  return Verdict::kWireError;
}

void UdpSender::AppendCounts(std::vector<NamedCount>& out) const {
  errors_.AppendCounts(out);
  out.push_back({"segmentation-refused", segmentation_refused_.load(std::memory_order_relaxed)});
  if (tunnel_gso_) {
    out.push_back({"superframe-refused", superframes_refused_.load(std::memory_order_relaxed)});
  }
  out.push_back({"send-error", send_errors_.load(std::memory_order_relaxed)});
}

}  // namespace weft::dataplane
