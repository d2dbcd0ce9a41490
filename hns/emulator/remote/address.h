// SPDX-License-Identifier: Apache-2.0
// Where the emulator listens, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::hns::emulator {

// Either host and port, or a path.
struct Address {
  std::string host, port;
  std::string path;
  // "tcp:127.0.0.1:4000", "tcp:[::1]:0", "unix:/run/hns.sock".
  std::string ToString() const;
  friend bool operator==(const Address&, const Address&) = default;
};

absl::StatusOr<Address> ParseAddress(std::string_view text);

}  // namespace weft::hns::emulator
