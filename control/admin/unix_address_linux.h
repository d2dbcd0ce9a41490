// SPDX-License-Identifier: Apache-2.0
// A file path as a Unix-domain socket address. Internal to the Linux side of both ends.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace weft::admin {

// sun_path holds 107 bytes and a NUL. Without this check a longer path would be truncated silently.
inline constexpr std::size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

inline absl::StatusOr<sockaddr_un> UnixAddress(const std::string& path) {
  if (path.empty() || path.size() > kLongestSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat("socket path \"", path, "\" has ", path.size(),
                                                   " bytes; a Unix-domain socket's path has 1 to ",
                                                   kLongestSocketPath, ": choose a shorter one"));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// The view that the socket calls take.
inline const sockaddr* Generic(const sockaddr_un& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

}  // namespace weft::admin
