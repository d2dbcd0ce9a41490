// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/emulator/remote/address.h"
#include "hns/emulator/remote/stream.h"

namespace weft::hns::emulator {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class LinuxStream final : public Stream {
 public:
  explicit LinuxStream(Socket socket) : socket_(std::move(socket)) {
    const int on = 1;  // refused on a Unix-domain socket, which needs it not
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  bool Write(std::string_view octets) override {
    while (!octets.empty()) {
      const ssize_t sent = ::send(socket_.get(), octets.data(), octets.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      octets.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  bool Read(char* into, std::size_t size) override {
    while (size > 0) {
      const ssize_t got = ::recv(socket_.get(), into, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      into += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  bool HasInput() override {
    pollfd wanted{socket_.get(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) != 0;
  }

  void Shutdown() override { ::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  const Socket socket_;
};

class LinuxListener final : public Listener {
 public:
  LinuxListener(Socket socket, Address address)
      : socket_(std::move(socket)), address_(address.ToString()), path_(std::move(address.path)) {}
  ~LinuxListener() override {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  std::unique_ptr<Stream> Accept() override {
    Socket accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (accepted.get() < 0) return nullptr;
    return std::make_unique<LinuxStream>(std::move(accepted));
  }
  const std::string& address() const override { return address_; }

 private:
  const Socket socket_;
  const std::string address_, path_;
};

absl::Status Failure(std::string_view what, const Address& address) {
  const int error = errno;
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrCat("cannot ", what, " ", address.ToString(), ": ", std::strerror(error)));
}

// One that `use` (bind or connect) was content with.
template <class Use>
absl::StatusOr<Socket> Open(const Address& address, std::string_view what, Use use) {
  if (!address.path.empty()) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (address.path.size() >= sizeof(name.sun_path))
      return absl::InvalidArgumentError(
          absl::StrCat(address.path, " is too long for a socket; choose a shorter path"));
    std::memcpy(name.sun_path, address.path.data(), address.path.size());
    Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.get() < 0 || !use(socket.get(), reinterpret_cast<const sockaddr*>(&name),
                                 static_cast<socklen_t>(sizeof(name)))) {
      return Failure(what, address);
    }
    return socket;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot ", what, " ", address.ToString(), ": ", ::gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || !use(socket.get(), found->ai_addr, found->ai_addrlen)) {
    return Failure(what, address);
  }
  return socket;
}

std::string PortOf(const Socket& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  char port[NI_MAXSERV] = "0";
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0) {
    ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, nullptr, 0, port, sizeof(port),
                  NI_NUMERICSERV);
  }
  return port;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> Connect(const std::string& text) {
  const absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) return address.status();
  absl::StatusOr<Socket> socket = Open(
      *address, "connect to",
      [](int fd, const sockaddr* name, socklen_t size) { return ::connect(fd, name, size) == 0; });
  if (!socket.ok()) return socket.status();
  return std::make_unique<LinuxStream>(*std::move(socket));
}

absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& text) {
  absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) return address.status();
  // A file that nobody listens behind any more is in the way.
  if (!address->path.empty() && !Connect(text).ok()) ::unlink(address->path.c_str());
  absl::StatusOr<Socket> socket =
      Open(*address, "listen on", [](int fd, const sockaddr* name, socklen_t size) {
        const int on = 1;
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        return ::bind(fd, name, size) == 0 && ::listen(fd, SOMAXCONN) == 0;
      });
  if (!socket.ok()) return socket.status();
  if (address->path.empty()) address->port = PortOf(*socket);
  return std::make_unique<LinuxListener>(*std::move(socket), *std::move(address));
}

}  // namespace weft::hns::emulator
