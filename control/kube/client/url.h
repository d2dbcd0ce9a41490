// SPDX-License-Identifier: Apache-2.0
// "https://host:port/path": addresses of servers and proxies as kubeconfig and environment give
// them.
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

// Without a port: 443 for https, 80 for http, else 0. Refuses a query, a fragment and whatever
// could not stand in a request. Messages ("its port is not ...") show nothing of the text but its
// scheme: the rest may hold a password.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// Of `field`, which holds one: what is wrong, and what to do next.
absl::Status BadUrl(std::string_view field, std::string_view what, std::string_view next);

// "host:port", with brackets about an IPv6 address.
std::string HostAndPort(std::string_view host, std::uint16_t port);

}  // namespace weft::kube
