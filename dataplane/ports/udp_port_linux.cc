// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_port.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/ports/udp_receiver_linux.h"
#include "dataplane/ports/udp_sender_linux.h"
#include "dataplane/ports/udp_socket_linux.h"

namespace weft::dataplane {
namespace {

constexpr std::uint32_t kRoundsBetweenDrains = 64;

}  // namespace

struct UdpPort::Impl {
  Impl(FileDescriptor socket, std::uint16_t bound_port, std::unique_ptr<UdpSender> udp_sender)
      : port(bound_port),
        receiver(std::move(socket)),
        sender(std::move(udp_sender)),
        handles{receiver.descriptor(), sender->errors().wait_descriptor()} {}

  std::uint16_t port;
  UdpReceiver receiver;
  std::unique_ptr<UdpSender> sender;
  std::array<WaitHandle, 2> handles;
  std::uint32_t busy_rounds = 0;
};

absl::StatusOr<std::unique_ptr<UdpPort>> UdpPort::Open(const UdpOptions& options) {
  auto all = OpenAll(options, 1);
  if (!all.ok()) return all.status();
  return std::move(all->front());
}

absl::StatusOr<std::vector<std::unique_ptr<UdpPort>>> UdpPort::OpenAll(
    const UdpOptions& all_options, std::size_t workers) {
  UdpOptions options = all_options;
  if (!options.bind_address.IsUnspecified() && options.bind_address.family() != options.family) {
    return absl::InvalidArgumentError(
        absl::StrCat("UDP port: address ", options.bind_address.ToString(),
                     " is not of the underlay's family; give one of that family"));
  }
  std::vector<std::unique_ptr<UdpPort>> ports;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    UdpOptions receiving = options;
    if (options.receive_on_all) receiving.bind_address = IpAddress();
    auto socket = OpenReceivingSocket(receiving, /*beside=*/worker != 0);
    if (!socket.ok()) return socket.status();
    if (worker == 0) {
      options.port = BoundPort(*socket);
      if (workers > 1) {
        ShareReceivingPort(*socket);
        options.sending_sockets = std::max(options.sending_sockets / static_cast<int>(workers), 1);
      }
    }
    auto sender = UdpSender::Open(options, options.port);
    if (!sender.ok()) return sender.status();
    ports.emplace_back(
        new UdpPort(std::make_unique<Impl>(*std::move(socket), options.port, *std::move(sender))));
  }
  return ports;
}

std::uint32_t MaxUdpSegments() { return FindMaxUdpSegments(); }

UdpPort::UdpPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UdpPort::~UdpPort() = default;

std::uint16_t UdpPort::port() const { return impl_->port; }
const PortFeatures& UdpPort::features() const { return impl_->sender->features(); }
std::span<const WaitHandle> UdpPort::wait_handles() const { return impl_->handles; }

std::size_t UdpPort::Receive(Batch& batch) {
  const std::size_t received = impl_->receiver.Receive(batch);
  // An idle worker is about to wait, and errors left in a queue would wake it again and again. A
  // busy one drains most of them at its next send.
  if (received != 0 && ++impl_->busy_rounds % kRoundsBetweenDrains != 0) return received;
  return received + impl_->sender->DrainErrors(batch.now);
}

bool UdpPort::Takes(const Packet& packet, Timestamp now) {
  return PacketPort::Takes(packet, now) || impl_->sender->TakesWhole(packet, now);
}

void UdpPort::Send(Batch& batch) { impl_->sender->Send(batch); }

std::size_t UdpPort::DrainPathMtuNotices(std::span<PathMtuNotice> out) {
  return impl_->sender->errors().TakeNotices(out);
}

std::vector<IcmpErrors> UdpPort::Errors() const { return impl_->sender->errors().Errors(); }

std::vector<NamedCount> UdpPort::Counts() const {
  std::vector<NamedCount> counts = {{"socket-overflow", impl_->receiver.KernelDrops()},
                                    {"receive-error", impl_->receiver.errors()},
                                    {"empty-datagram", impl_->receiver.empty()}};
  impl_->sender->AppendCounts(counts);
  return counts;
}

}  // namespace weft::dataplane
