// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "control/admin/local_connection.h"
#include "control/admin/unix_address_linux.h"

namespace weft::admin {
namespace {

absl::Status FromErrno(int error) {
  const std::string text = std::strerror(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case EAGAIN:
      return absl::DeadlineExceededError("no answer in time");
    default:
      return absl::UnavailableError(text);
  }
}

class UnixConnection : public LocalConnection {
 public:
  explicit UnixConnection(int fd) : fd_(fd) {}
  ~UnixConnection() override { ::close(fd_); }

  absl::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return FromErrno(errno);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::size_t> Read(std::span<char> into) override {
    for (;;) {
      const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return FromErrno(errno);
    }
  }

  bool HasInput() override {
    pollfd input{fd_, POLLIN, 0};
    return ::poll(&input, 1, 0) != 0;
  }

  void Shutdown() override { ::shutdown(fd_, SHUT_RDWR); }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocalConnection>> ConnectLocal(const std::string& path,
                                                              std::chrono::milliseconds timeout) {
  const absl::StatusOr<sockaddr_un> address = UnixAddress(path);
  if (!address.ok()) return address.status();
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return FromErrno(errno);
  auto connection = std::make_unique<UnixConnection>(fd);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timeval wait{
      .tv_sec = seconds.count(),
      .tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(timeout - seconds).count()};
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
      ::connect(fd, Generic(*address), sizeof *address) != 0) {
    return FromErrno(errno);
  }
  return connection;
}

}  // namespace weft::admin
