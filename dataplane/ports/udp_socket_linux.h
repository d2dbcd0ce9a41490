// SPDX-License-Identifier: Apache-2.0
// Opening the UDP port's sockets, and addresses in the kernel's form.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/ports/udp_port.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// An address of either family, with its length, in the kernel's form.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  static SocketAddress From(const IpAddress& address, std::uint16_t port);
};

// From the 16 or 28 bytes that the kernel wrote; 0.0.0.0 and port 0 for another family.
IpAddress AddressOf(const sockaddr_storage& storage);
std::uint16_t PortOf(const sockaddr_storage& storage);

// Bound to the options' address and port; accepts zero checksums and aggregates, and reports ECN.
// `beside` others for which ShareReceivingPort was called (SO_REUSEPORT).
absl::StatusOr<FileDescriptor> OpenReceivingSocket(const UdpOptions& options, bool beside = false);
// Further sockets may be opened beside `socket`. A program that did not ask for that still cannot
// take the port, and neither can this call's user take one that is in use: the first socket is
// bound alone.
void ShareReceivingPort(const FileDescriptor& socket);

// Bound to a free port in [first_port, last_port]; receives nothing but error messages.
absl::StatusOr<FileDescriptor> OpenSendingSocket(const UdpOptions& options,
                                                 std::uint16_t first_port, std::uint16_t last_port);

// For route queries only: drops all received datagrams.
absl::StatusOr<FileDescriptor> OpenRouteSocket(const UdpOptions& options);

// Whether outer packets may be fragmented.
enum class Fragmentation : std::uint8_t {
  kNever,    // DF; ignores path MTUs that the kernel has learnt from ICMP
  kAllowed,  // no DF: routers may fragment. IPv6: this host fragments to the MTU learnt from ICMP
};
void SetFragmentation(const FileDescriptor& socket, IpFamily family, Fragmentation fragmentation);

// Maximum segments of one UDP_SEGMENT message that this kernel accepts: 64; since Linux 6.9 128.
std::uint32_t FindMaxUdpSegments();

// The port of getsockname.
std::uint16_t BoundPort(const FileDescriptor& socket);

}  // namespace weft::dataplane
