// SPDX-License-Identifier: Apache-2.0
// The bytes of a request. They contain secrets: never print them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/http_exchange.h"

namespace weft::kube {

// The authorization field lines, each with its CRLF; empty without credentials, which are read now.
// Errors: kUnauthenticated or kInvalidArgument, as in http_exchange.h.
absl::StatusOr<std::string> AuthorizationLine(const ClusterAccess& access);

// `authorization`: lines from AuthorizationLine.
std::string WriteRequest(const HttpRequest& request, const ClusterAccess& access,
                         const std::string& user_agent, const std::string& authorization);

// The request to `access`'s proxy for a tunnel to the server.
std::string WriteConnect(const ClusterAccess& access, const std::string& user_agent);

}  // namespace weft::kube
