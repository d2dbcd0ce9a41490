// SPDX-License-Identifier: Apache-2.0
#include "bench/tools/sockets_linux.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::bench {

void Fail(const std::string& what) {
  std::fprintf(stderr, "traffic: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

Socket::Socket(int family, int type) : descriptor_(socket(family, type | SOCK_CLOEXEC, 0)) {
  if (descriptor_ < 0) Fail("socket");
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Socket::SetOption(int level, int name, int value, const char* what) {
  if (setsockopt(descriptor_, level, name, &value, sizeof value) != 0) Fail(what);
}

const sockaddr* Endpoint::get() const { return reinterpret_cast<const sockaddr*>(&address); }

Endpoint ParseEndpoint(const std::string& address, std::uint16_t port) {
  Endpoint endpoint;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&endpoint.address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&endpoint.address);
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    endpoint.length = sizeof *v4;
  } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    endpoint.length = sizeof *v6;
  } else {
    errno = EINVAL;
    Fail("address " + address);
  }
  return endpoint;
}

Socket BindAny(int type, std::uint16_t port) {
  Socket socket(AF_INET6, type);
  socket.SetOption(IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
  socket.SetOption(SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  const Endpoint any = ParseEndpoint("::", port);
  if (bind(socket.descriptor(), any.get(), any.length) != 0)
    Fail("bind to port " + std::to_string(port));
  return socket;
}

std::uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)
                   ->sin6_port);  // sockaddr_in has it in the same place
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weft::bench
