// SPDX-License-Identifier: Apache-2.0
// The bytes of a request. They hold secrets: never printed.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/http_exchange.h"

namespace weft::kube {

// Field lines that let us in, each with its CRLF; empty without credentials. Reads them now.
// kUnauthenticated or kInvalidArgument, as http_exchange.h has them.
absl::StatusOr<std::string> AuthorizationLine(const ClusterAccess& access);

// `authorization`: lines as AuthorizationLine gives them.
std::string WriteRequest(const HttpRequest& request, const ClusterAccess& access,
                         const std::string& user_agent, const std::string& authorization);

// Asks `access`'s proxy for a tunnel to the server.
std::string WriteConnect(const ClusterAccess& access, const std::string& user_agent);

}  // namespace weft::kube
