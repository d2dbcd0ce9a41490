// SPDX-License-Identifier: Apache-2.0
// The sending half of the UDP port: a pool of sockets, one source port each, and as few system
// calls as a batch allows.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/udp_errors_linux.h"
#include "dataplane/ports/udp_paths_linux.h"
#include "dataplane/ports/udp_port.h"
#include "dataplane/ports/udp_socket_linux.h"

namespace weft::dataplane {

// Worker's thread, except AppendCounts.
class UdpSender {
 public:
  // `destination_port` is what the peers receive on.
  static absl::StatusOr<std::unique_ptr<UdpSender>> Open(const UdpOptions& options,
                                                         std::uint16_t destination_port);

  // Whether Send accepts this superframe.
  bool TakesWhole(const Packet& packet, Timestamp now);
  // As PacketPort::Send.
  void Send(Batch& batch);

  UdpErrors& errors() { return errors_; }
  // UdpErrors::DrainAll.
  std::size_t DrainErrors(Timestamp now) { return errors_.DrainAll(now); }
  const PortFeatures& features() const { return features_; }
  void AppendCounts(std::vector<NamedCount>& out) const;

 private:
  // Room for traffic class and segment size.
  struct alignas(cmsghdr) Control {
    std::array<char, 2 * CMSG_SPACE(sizeof(int))> bytes;
  };

  // One msghdr: one packet, or the packets [first, first + count) of the plan, which have one
  // destination, socket, ECN and fragmentation, and are all `segment_size` long, except the last,
  // which may be shorter.
  struct Message {
    SocketAddress destination;
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t socket = 0;
    std::uint32_t bytes = 0;
    std::uint16_t segment_size = 0;
    std::uint8_t ecn = 0;
    bool closed = false;    // accepts no more packets
    bool segments = false;  // the kernel may segment it
    bool may_fragment = false;
    bool whole = false;  // a superframe for tunnel_gso_
    IpAddress source;    // of such a one
    Control control;
  };

  UdpSender(const UdpOptions& options, std::uint16_t destination_port);

  std::size_t ChooseSocket(const Packet& packet) const;
  // Fills the plan: planned_, pieces_, messages_.
  void Plan(Batch& batch);
  bool Join(Message& message, const Packet& packet, std::size_t socket) const;
  // Writes traffic class and, for more than one segment, segment size.
  void FillControl(Message& message, msghdr& header) const;
  bool IsSegmented(const Message& message) const { return message.bytes > message.segment_size; }

  // The path to the superframe's destination; null: it must be cut.
  const UdpPaths::Path* PathForWhole(const Packet& superframe);
  void SendWhole(const Message& message);
  // Sends messages [first, last), which share a socket and fragmentation.
  void SendRun(std::size_t first, std::size_t last);
  // Sends a message's datagrams one by one, for routes and devices that refuse segmentation.
  void SendSingly(const Message& message);
  // Whether the message can be sent with one call.
  bool IsOneCall(const Message& message) const;
  // Whether a send in this batch showed that the message's destination is unreachable; it is then
  // not retried for each packet.
  bool IsGivenUp(const Message& message) const;
  // 0 or an errno. An error may belong to an earlier packet, even to another peer, or be forged, so
  // the error queue is drained and the send repeated, a few times. `own`: the queue was always
  // empty, so the error is this packet's and also applies to the next ones to its peer.
  struct SendResult {
    int error = 0;
    bool own = true;
  };
  SendResult SendOne(int socket, msghdr& header);
  void Fail(const Message& message, SendResult result);
  void GiveUp(const Message& message, SendResult result);
  Verdict VerdictOf(int error);

  const IpFamily family_;
  const std::uint16_t destination_port_;
  PortFeatures features_;
  const bool segments_;  // false: the kernel refuses segmentation
  const bool udp_checksum_;
  const std::shared_ptr<TunnelGso> tunnel_gso_;  // null: superframes are cut
  std::vector<FileDescriptor> sockets_;
  std::vector<std::uint16_t> source_ports_;  // of sockets_
  UdpPaths paths_;
  UdpErrors errors_;  // watches sockets_

  // Of the batch being sent.
  Timestamp now_{};
  std::optional<IpAddress> given_up_;
  int given_up_error_ = 0;

  std::array<Packet*, kMaxBatch> planned_{};
  std::array<iovec, kMaxBatch> pieces_{};  // one for each planned packet
  std::array<Message, kMaxBatch> messages_;
  std::array<mmsghdr, kMaxBatch> headers_{};  // one for each message
  std::size_t planned_count_ = 0;
  std::size_t message_count_ = 0;

  std::atomic<std::uint64_t> segmentation_refused_{0};
  std::atomic<std::uint64_t> superframes_refused_{0};
  std::atomic<std::uint64_t> send_errors_{0};
};

}  // namespace weft::dataplane
