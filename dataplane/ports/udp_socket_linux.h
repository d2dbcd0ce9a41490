// SPDX-License-Identifier: Apache-2.0
// Opening the UDP port's sockets, and addresses in the kernel's form.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "dataplane/ports/file_descriptor_linux.h"
#include "dataplane/ports/udp_port.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// Room for either family, with its length as the kernel wants it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  static SocketAddress Of(const IpAddress& address, std::uint16_t port);
};

// Of the 16 or 28 bytes that the kernel wrote; 0.0.0.0 and port 0 for another family.
IpAddress AddressOf(const sockaddr_storage& storage);
std::uint16_t PortOf(const sockaddr_storage& storage);

// Bound to the options' address and port; takes zero checksums and aggregates, and reports ECN.
absl::StatusOr<FileDescriptor> OpenReceivingSocket(const UdpOptions& options);

// Bound to a free port in [first_port, last_port]; receives nothing but error messages.
absl::StatusOr<FileDescriptor> OpenSendingSocket(const UdpOptions& options,
                                                 std::uint16_t first_port, std::uint16_t last_port);

// For questions about routes only: refuses all that comes in.
absl::StatusOr<FileDescriptor> OpenRouteSocket(const UdpOptions& options);

// How outer packets to a destination may reach it.
enum class Fragmentation : std::uint8_t {
  kNever,    // DF; what the kernel has learnt of the path from ICMP is left to the caller
  kAllowed,  // no DF: routers may cut. IPv6: this host cuts, to what it has learnt from ICMP
};
void SetFragmentation(const FileDescriptor& socket, IpFamily family, Fragmentation fragmentation);

// The most segments of one UDP_SEGMENT message that this kernel takes: 64, since Linux 6.9 128.
std::uint32_t FindMaxUdpSegments();

// What getsockname says.
std::uint16_t BoundPort(const FileDescriptor& socket);

}  // namespace weft::dataplane
