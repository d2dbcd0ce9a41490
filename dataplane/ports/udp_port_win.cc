// SPDX-License-Identifier: Apache-2.0
// The UDP port over Winsock: nonblocking sockets, one datagram a call. Tested under Wine only.
// Unproven on real Windows: that DF is honoured on every route (WSAEMSGSIZE then follows the
// route's MTU, not only the interface's), that 256 sockets share a firewall rule, and the speed.
// Not implemented: UDP_SEND_MSG_SIZE and UDP_RECV_MAX_COALESCED_SIZE (USO, URO), ECN (IP_ECN needs
// WSASendMsg), path MTU notices.
#include "dataplane/ports/udp_port.h"

#include <winsock2.h>
#include <ws2tcpip.h>
// Keep the order: mswsock.h requires winsock2.h before it.
#include <mswsock.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/counters.h"
#include "dataplane/ports/port_rules.h"

namespace weft::dataplane {
namespace {

constexpr std::uint32_t kFirstSourcePort = 49152;  // RFC 6335 section 6
constexpr std::uint32_t kSourcePorts = 16384;
constexpr std::uint32_t kMaxUdpPayload = 65'507;
constexpr int kMaxSockets = 4096;
constexpr DWORD kOuterTtl = 64;
// From <ws2ipdef.h> and <mstcpip.h> of newer SDKs.
constexpr int kIpDontFragment = 14;              // IP_DONTFRAGMENT
constexpr int kIpv6DontFragment = 14;            // IPV6_DONTFRAG
constexpr int kUdpNoChecksum = 1;                // UDP_NOCHECKSUM
constexpr DWORD kSioUdpConnReset = 0x9800'000c;  // SIO_UDP_CONNRESET: _WSAIOW(IOC_VENDOR, 12)

// Starts and stops Winsock, which counts its users.
class Winsock {
 public:
  Winsock() { started_ = ::WSAStartup(MAKEWORD(2, 2), &data_) == 0; }
  ~Winsock() {
    if (started_) ::WSACleanup();
  }
  Winsock(const Winsock&) = delete;
  Winsock& operator=(const Winsock&) = delete;

 private:
  WSADATA data_{};
  bool started_ = false;
};

class Socket {
 public:
  explicit Socket(SOCKET socket) : socket_(socket) {}
  Socket(Socket&& other) noexcept : socket_(std::exchange(other.socket_, INVALID_SOCKET)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Socket() {
    if (socket_ != INVALID_SOCKET) ::closesocket(socket_);
  }
  SOCKET get() const { return socket_; }
  bool valid() const { return socket_ != INVALID_SOCKET; }

 private:
  SOCKET socket_;
};

struct Address {
  sockaddr_storage storage{};
  int length = 0;

  static Address From(const IpAddress& ip, std::uint16_t port) {
    Address result;
    if (ip.is_v4()) {
      sockaddr_in in{};
      in.sin_family = AF_INET;
      in.sin_port = htons(port);
      std::memcpy(&in.sin_addr, ip.bytes().data(), sizeof in.sin_addr);
      std::memcpy(&result.storage, &in, sizeof in);
      result.length = sizeof in;
    } else {
      sockaddr_in6 in6{};
      in6.sin6_family = AF_INET6;
      in6.sin6_port = htons(port);
      std::memcpy(&in6.sin6_addr, ip.bytes().data(), sizeof in6.sin6_addr);
      std::memcpy(&result.storage, &in6, sizeof in6);
      result.length = sizeof in6;
    }
    return result;
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(&storage); }

  IpAddress ip() const {
    if (storage.ss_family == AF_INET)
      return IpAddress::FromBytes(IpFamily::kV4, bytes() + offsetof(sockaddr_in, sin_addr));
    return IpAddress::FromBytes(IpFamily::kV6, bytes() + offsetof(sockaddr_in6, sin6_addr));
  }
  // sin_port and sin6_port have the same offset.
  std::uint16_t port() const { return LoadBe16(bytes() + offsetof(sockaddr_in, sin_port)); }
};

bool Set(SOCKET socket, int level, int option, auto value) {
  return ::setsockopt(socket, level, option, reinterpret_cast<const char*>(&value), sizeof value) ==
         0;
}

IpAddress BindAddress(const UdpOptions& options) {
  if (options.bind_address.family() == options.family) return options.bind_address;
  return options.family == IpFamily::kV4 ? IpAddress() : *IpAddress::Parse("::");
}

absl::Status SocketError(const UdpOptions& options, std::uint32_t port, int error) {
  const std::string socket =
      absl::StrCat("UDP socket ", BindAddress(options).ToString(), " port ", port, ": ");
  switch (error) {
    case WSAEADDRINUSE:
    case WSAEACCES:
      return absl::AlreadyExistsError(
          absl::StrCat(socket,
                       "the port is taken, by HNS's own VXLAN or another flanneld (netstat -abno "
                       "-p udp): remove that, or set Backend.Port"));
    case WSAEADDRNOTAVAIL:
      return absl::NotFoundError(
          absl::StrCat(socket, "no interface has this address; check --iface and --public-ip"));
    default:
      return absl::UnavailableError(
          absl::StrCat(socket, "Winsock error ", error, "; net helpmsg ", error, " explains it"));
  }
}

absl::StatusOr<Socket> Open(const UdpOptions& options, std::uint32_t first_port,
                            std::uint32_t last_port) {
  const bool v4 = options.family == IpFamily::kV4;
  Socket socket(::WSASocketW(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, IPPROTO_UDP, nullptr, 0,
                             WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
  if (!socket.valid()) return SocketError(options, first_port, ::WSAGetLastError());
  u_long nonblocking = 1;
  ::ioctlsocket(socket.get(), FIONBIO, &nonblocking);
  // Without this a port-unreachable from one peer makes the next receive fail.
  BOOL report_resets = FALSE;
  DWORD returned = 0;
  ::WSAIoctl(socket.get(), kSioUdpConnReset, &report_resets, sizeof report_resets, nullptr, 0,
             &returned, nullptr, nullptr);
  if (!v4) Set<DWORD>(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  int error = 0;
  for (std::uint32_t port = first_port; port <= last_port; ++port) {
    const Address address = Address::From(BindAddress(options), static_cast<std::uint16_t>(port));
    if (::bind(socket.get(), address.get(), address.length) == 0) return socket;
    error = ::WSAGetLastError();
    // WSAEACCES: Windows reserves ranges of ports (netsh int ipv4 show excludedportrange).
    if (error != WSAEADDRINUSE && error != WSAEACCES) break;
  }
  return SocketError(options, first_port, error);
}

}  // namespace

struct UdpPort::Impl {
  Winsock winsock;
  IpFamily family = IpFamily::kV4;
  std::uint16_t port = 0;
  PortFeatures features;
  std::vector<Socket> receiver;  // one
  std::vector<Socket> senders;
  WSAEVENT readable = WSA_INVALID_EVENT;
  WaitHandle handle = 0;
  PacketSlab slab;
  std::atomic<std::uint64_t> receive_errors{0};
  std::atomic<std::uint64_t> send_errors{0};
  std::atomic<std::uint64_t> empty{0};

  ~Impl() {
    receiver.clear();
    senders.clear();
    if (readable != WSA_INVALID_EVENT) ::WSACloseEvent(readable);
  }

  SOCKET Choose(const Packet& packet) const {
    const std::uint32_t desired = std::max<std::uint32_t>(packet.outer_port, kFirstSourcePort);
    return senders[(desired - kFirstSourcePort) * senders.size() / kSourcePorts].get();
  }

  // One datagram, or each of an aggregate.
  Verdict SendPacket(Packet& packet) {
    if (packet.length == 0 || packet.outer_address.family() != family ||
        packet.checksum != ChecksumState::kOnWire || packet.segmentation == Segmentation::kTcp ||
        packet.segmentation == Segmentation::kUdp) {
      return Verdict::kWireError;
    }
    const bool aggregate = packet.segmentation == Segmentation::kDatagrams;
    const std::uint32_t size = aggregate ? packet.segment_size : packet.length;
    if (size == 0) return Verdict::kWireError;
    if (size > kMaxUdpPayload) return Verdict::kTooBigSilent;
    const Address to = Address::From(packet.outer_address, port);
    for (std::uint32_t offset = 0; offset < packet.length; offset += size) {
      const auto* bytes = reinterpret_cast<const char*>(packet.data + offset);
      const int length = static_cast<int>(std::min(size, packet.length - offset));
      if (::sendto(Choose(packet), bytes, length, 0, to.get(), to.length) >= 0) continue;
      packet.left = static_cast<std::uint16_t>(offset / size);
      switch (::WSAGetLastError()) {
        case WSAEMSGSIZE:
          return Verdict::kTooBigSilent;
        case WSAEWOULDBLOCK:
        case WSAENOBUFS:
          return Verdict::kWireFull;
        default:
          Add(send_errors, 1);
          return Verdict::kWireError;
      }
    }
    return Verdict::kForward;
  }
};

absl::StatusOr<std::vector<std::unique_ptr<UdpPort>>> UdpPort::OpenAll(const UdpOptions& options,
                                                                       std::size_t workers) {
  if (workers != 1)
    return absl::UnimplementedError("several UDP ports with one receiving port: Linux only");
  auto port = Open(options);
  if (!port.ok()) return port.status();
  std::vector<std::unique_ptr<UdpPort>> ports;
  ports.push_back(*std::move(port));
  return ports;
}

absl::StatusOr<std::unique_ptr<UdpPort>> UdpPort::Open(const UdpOptions& options) {
  if (!options.bind_address.IsUnspecified() && options.bind_address.family() != options.family) {
    return absl::InvalidArgumentError(
        absl::StrCat("UDP port: address ", options.bind_address.ToString(),
                     " is not of the underlay's family; give one of that family"));
  }
  if (options.sending_sockets < 1 || options.sending_sockets > kMaxSockets) {
    return absl::InvalidArgumentError(absl::StrCat("UDP port: ", options.sending_sockets,
                                                   " sending sockets; choose 1 to ", kMaxSockets));
  }
  auto impl = std::make_unique<Impl>();
  impl->family = options.family;
  UdpOptions receiving = options;
  if (options.receive_on_all) receiving.bind_address = IpAddress();
  auto receiver = dataplane::Open(receiving, options.port, options.port);
  if (!receiver.ok()) return receiver.status();
  Set<int>(receiver->get(), SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
  Address bound;
  bound.length = sizeof bound.storage;
  ::getsockname(receiver->get(), bound.get(), &bound.length);
  impl->port = bound.port();
  impl->readable = ::WSACreateEvent();
  impl->handle = reinterpret_cast<WaitHandle>(impl->readable);
  if (impl->readable == WSA_INVALID_EVENT ||
      ::WSAEventSelect(receiver->get(), impl->readable, FD_READ) != 0) {
    return SocketError(options, impl->port, ::WSAGetLastError());
  }
  impl->receiver.push_back(*std::move(receiver));

  const bool v4 = options.family == IpFamily::kV4;
  const auto count = static_cast<std::uint32_t>(options.sending_sockets);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto socket = dataplane::Open(options, kFirstSourcePort + i * kSourcePorts / count,
                                  kFirstSourcePort + (i + 1) * kSourcePorts / count - 1);
    if (!socket.ok()) return socket.status();
    // Nothing is read here, so received datagrams must not use memory.
    Set<int>(socket->get(), SOL_SOCKET, SO_RCVBUF, 0);
    Set<int>(socket->get(), SOL_SOCKET, SO_SNDBUF, options.send_buffer);
    Set<DWORD>(socket->get(), v4 ? IPPROTO_IP : IPPROTO_IPV6,
               v4 ? kIpDontFragment : kIpv6DontFragment, 1);
    Set<DWORD>(socket->get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_UNICAST_HOPS,
               kOuterTtl);
    if (v4 && !options.udp_checksum) Set<DWORD>(socket->get(), IPPROTO_UDP, kUdpNoChecksum, 1);
    impl->senders.push_back(*std::move(socket));
  }
  return std::unique_ptr<UdpPort>(new UdpPort(std::move(impl)));
}

// A limit of Linux' sockets; on Windows no port delivers a pod's superframes.
std::uint32_t MaxUdpSegments() { return 64; }

UdpPort::UdpPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UdpPort::~UdpPort() = default;

std::uint16_t UdpPort::port() const { return impl_->port; }
const PortFeatures& UdpPort::features() const { return impl_->features; }

bool UdpPort::Takes(const Packet& packet, Timestamp now) { return PacketPort::Takes(packet, now); }
std::span<const WaitHandle> UdpPort::wait_handles() const { return {&impl_->handle, 1}; }

std::size_t UdpPort::Receive(Batch& batch) {
  batch.clear();
  // Reset first: a datagram that arrives after this sets the event again.
  ::WSAResetEvent(impl_->readable);
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (taken < kMaxBatch && bytes < kBatchBytes) {
    Packet packet = impl_->slab.Lend(batch.size());
    Address from;
    from.length = sizeof from.storage;
    const int got = ::recvfrom(impl_->receiver.front().get(), reinterpret_cast<char*>(packet.data),
                               kMaxPacket, 0, from.get(), &from.length);
    const int error = got < 0 ? ::WSAGetLastError() : 0;
    if (error == WSAEWOULDBLOCK) break;
    if (error != 0) Add(impl_->receive_errors, 1);
    // An error about one message, such as an ICMP error, is consumed with it: others may follow.
    const bool of_a_message =
        error == WSAECONNRESET || error == WSAENETRESET || error == WSAEMSGSIZE;
    if (error != 0 && !of_a_message) break;
    ++taken;
    if (of_a_message) continue;
    if (got == 0) {
      Add(impl_->empty, 1);
      continue;
    }
    packet.length = static_cast<std::uint32_t>(got);
    packet.tailroom -= packet.length;
    packet.outer_address = from.ip();
    packet.outer_port = from.port();
    bytes += packet.length;
    batch.Add(packet);
  }
  return taken;
}

void UdpPort::Send(Batch& batch) {
  for (Packet& packet : batch)
    if (packet.verdict == Verdict::kForward) packet.verdict = impl_->SendPacket(packet);
}

std::size_t UdpPort::DrainPathMtuNotices(std::span<PathMtuNotice>) { return 0; }

std::vector<IcmpErrors> UdpPort::Errors() const { return {}; }

std::vector<NamedCount> UdpPort::Counts() const {
  return {{"receive-error", impl_->receive_errors.load(std::memory_order_relaxed)},
          {"empty-datagram", impl_->empty.load(std::memory_order_relaxed)},
          {"send-error", impl_->send_errors.load(std::memory_order_relaxed)}};
}

}  // namespace weft::dataplane
