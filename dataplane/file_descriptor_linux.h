// SPDX-License-Identifier: Apache-2.0
// Owner of one file descriptor, and the meaning of its errors.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weft::dataplane {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes ownership; a negative `fd` is no descriptor.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Whether a send or write failed only because there is no room now.
constexpr bool IsFull(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM; }

}  // namespace weft::dataplane
