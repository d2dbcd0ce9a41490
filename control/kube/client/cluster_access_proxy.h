// SPDX-License-Identifier: Apache-2.0
// The HTTP proxy on the way to the API server, if there is one.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

// "http://user:password@host:port", or without the scheme. Errors begin with `field`.
absl::StatusOr<Proxy> ParseProxy(std::string_view url, std::string_view field);

// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, also in lower case, as Go reads them: the proxy for
// `access`'s host, if there is to be one. Never for localhost and loopback addresses.
absl::StatusOr<std::optional<Proxy>> ProxyOfEnvironment(const ClusterAccess& access,
                                                        const Environment& environment);

}  // namespace weft::kube
