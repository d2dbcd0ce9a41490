// SPDX-License-Identifier: Apache-2.0
// winsock2.h before ws2tcpip.h.
#include <winsock2.h>
//
#include <ws2tcpip.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/emulator/remote/address.h"
#include "hns/emulator/remote/stream.h"

namespace weft::hns::emulator {
namespace {

class Socket {
 public:
  explicit Socket(SOCKET socket) : socket_(socket) {}
  ~Socket() {
    if (socket_ != INVALID_SOCKET) ::closesocket(socket_);
  }
  Socket(Socket&& other) noexcept : socket_(std::exchange(other.socket_, INVALID_SOCKET)) {}
  Socket& operator=(Socket&&) = delete;
  SOCKET get() const { return socket_; }

 private:
  SOCKET socket_;
};

// Winsock takes sizes as int.
int Piece(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, 1 << 20)); }

// shutdown() wakes nobody who waits in recv() or send(), so nobody waits there: the socket does not
// block, and who waits looks up from time to time.
class WindowsStream final : public Stream {
 public:
  explicit WindowsStream(Socket socket) : socket_(std::move(socket)) {
    const BOOL on = TRUE;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&on),
                 sizeof(on));
    u_long yes = 1;
    ::ioctlsocket(socket_.get(), static_cast<long>(FIONBIO), &yes);
  }

  bool Write(std::string_view octets) override {
    while (!octets.empty()) {
      const int sent = ::send(socket_.get(), octets.data(), Piece(octets.size()), 0);
      if (sent > 0) {
        octets.remove_prefix(static_cast<std::size_t>(sent));
      } else if (!WaitAfter(sent, Direction::kOut)) {
        return false;
      }
    }
    return true;
  }

  bool Read(char* into, std::size_t size) override {
    while (size > 0) {
      const int got = ::recv(socket_.get(), into, Piece(size), 0);
      if (got > 0) {
        into += got;
        size -= static_cast<std::size_t>(got);
      } else if (!WaitAfter(got, Direction::kIn)) {
        return false;
      }
    }
    return true;
  }

  bool HasInput() override { return Ready(Direction::kIn, 0); }

  void Shutdown() override {
    ended_ = true;
    ::shutdown(socket_.get(), SD_BOTH);
  }

 private:
  enum class Direction { kIn, kOut };
  static constexpr long kLookUp = 20'000;  // microseconds

  bool Ready(Direction direction, long microseconds) {
    fd_set wanted{};
    wanted.fd_count = 1;
    wanted.fd_array[0] = socket_.get();
    timeval most{0, microseconds};
    return ::select(0, direction == Direction::kIn ? &wanted : nullptr,
                    direction == Direction::kOut ? &wanted : nullptr, nullptr, &most) != 0;
  }

  // `result`: what recv or send returned instead of octets. False: the end.
  bool WaitAfter(int result, Direction direction) {
    if (result == 0 || ::WSAGetLastError() != WSAEWOULDBLOCK) return false;
    while (!ended_ && !Ready(direction, kLookUp)) {
    }
    return !ended_;
  }

  const Socket socket_;
  std::atomic<bool> ended_ = false;
};

class WindowsListener final : public Listener {
 public:
  WindowsListener(Socket socket, const Address& address)
      : socket_(std::move(socket)), address_(address.ToString()) {}
  std::unique_ptr<Stream> Accept() override {
    Socket accepted(::accept(socket_.get(), nullptr, nullptr));
    if (accepted.get() == INVALID_SOCKET) return nullptr;
    return std::make_unique<WindowsStream>(std::move(accepted));
  }
  const std::string& address() const override { return address_; }

 private:
  const Socket socket_;
  const std::string address_;
};

absl::Status Failure(std::string_view what, const Address& address, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " ", address.ToString(), ": Windows Sockets error ", error));
}

// Once in a process and never undone: it ends with the process.
int StartWinsock() {
  static const int kError = [] {
    WSADATA data;
    return ::WSAStartup(MAKEWORD(2, 2), &data);
  }();
  return kError;
}

// One that `use` (bind or connect) was content with.
template <class Use>
absl::StatusOr<Socket> Open(const Address& address, std::string_view what, Use use) {
  if (!address.path.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(address.ToString(), " cannot be used on Windows; write tcp:127.0.0.1:PORT"));
  if (const int error = StartWinsock(); error != 0) return Failure(what, address, error);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) return Failure(what, address, error);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Socket socket(::socket(found->ai_family, SOCK_STREAM, 0));
  if (socket.get() == INVALID_SOCKET ||
      !use(socket.get(), found->ai_addr, static_cast<int>(found->ai_addrlen))) {
    return Failure(what, address, ::WSAGetLastError());
  }
  return socket;
}

std::string PortOf(const Socket& socket) {
  sockaddr_storage name{};
  int size = sizeof(name);
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
      [](SOCKET made, const sockaddr* name, int size) { return ::connect(made, name, size) == 0; });
  if (!socket.ok()) return socket.status();
  return std::make_unique<WindowsStream>(*std::move(socket));
}

absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& text) {
  absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) return address.status();
  absl::StatusOr<Socket> socket =
      Open(*address, "listen on", [](SOCKET made, const sockaddr* name, int size) {
        return ::bind(made, name, size) == 0 && ::listen(made, SOMAXCONN) == 0;
      });
  if (!socket.ok()) return socket.status();
  address->port = PortOf(*socket);
  return std::make_unique<WindowsListener>(*std::move(socket), *address);
}

}  // namespace weft::hns::emulator
