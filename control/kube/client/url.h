// SPDX-License-Identifier: Apache-2.0
// "https://host:port/path": addresses of servers and proxies in kubeconfig and environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::kube {

struct Url {
  std::string scheme;  // lower case; empty if none was written
  std::string host;    // a name, or an address without brackets
  std::uint16_t port = 0;
  std::string path;  // escaped as written, without a slash at its end
  std::string username, password;
};

// The default port is 443 for https, 80 for http, else 0. Refuses a query, a fragment and
// characters that are not valid in a request. Messages ("its port is not ...") contain only the
// scheme: the rest of the text may contain a password.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// The error of `field`, which contains a URL: the cause and the next step.
absl::Status BadUrl(std::string_view field, std::string_view what, std::string_view next);

// "host:port", with an IPv6 address in brackets.
std::string HostAndPort(std::string_view host, std::uint16_t port);

}  // namespace weft::kube
