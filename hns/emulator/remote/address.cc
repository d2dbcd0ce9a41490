// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/remote/address.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weft::hns::emulator {
namespace {

absl::Status NoAddress(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no address of an HNS emulator; write tcp:127.0.0.1:PORT or "
                   "unix:PATH"));
}

}  // namespace

std::string Address::ToString() const {
  if (!path.empty()) return absl::StrCat("unix:", path);
  const bool v6 = host.find(':') != std::string::npos;
  return absl::StrCat("tcp:", v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  constexpr std::string_view kTcp = "tcp:", kUnix = "unix:";
  Address address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    if (address.path.empty()) return NoAddress(text);
    return address;
  }
  if (!text.starts_with(kTcp)) return NoAddress(text);
  const std::string_view rest = text.substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return NoAddress(text);
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint32_t port = 0;
  if (host.empty() || !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port > 65535) {
    return NoAddress(text);
  }
  address.host = host;
  address.port = absl::StrCat(port);
  return address;
}

}  // namespace weft::hns::emulator
