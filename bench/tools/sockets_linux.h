// SPDX-License-Identifier: Apache-2.0
// Sockets with one owner, and the calls that the traffic programs share. A failure ends the program
// with one line.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace weft::bench {

// Prints "traffic: WHAT: the system's text for errno" and exits with 1.
[[noreturn]] void Fail(const std::string& what);

class Socket {
 public:
  Socket(int family, int type);
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&&) = delete;

  int descriptor() const { return descriptor_; }
  void SetOption(int level, int name, int value, const char* what);

 private:
  int descriptor_ = -1;
};

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
  int family() const { return address.ss_family; }
  const sockaddr* get() const;
};

// "10.0.0.1" or "fd00::1".
Endpoint ParseEndpoint(const std::string& address, std::uint16_t port);
// A socket that listens on every address of both families.
Socket BindAny(int type, std::uint16_t port);
std::uint16_t PortOf(const sockaddr_storage& address);

double Seconds();  // monotonic

}  // namespace weft::bench
