// SPDX-License-Identifier: Apache-2.0
// The bytes of a request. They contain secrets: never print them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/http_exchange.h"

namespace weft::kube {

// The authorization field lines, each with its CRLF; empty without credentials, which are read now.
// Errors: kUnauthenticated or kInvalidArgument, as in http_exchange.h.
absl::StatusOr<std::string> AuthorizationLine(const ClusterAccess& access);

// What `access` authenticates with, for people and without its secrets: "the token in the file
// /var/run/.../token, which expired on 2026-11-27 10:00:00 UTC".
std::string DescribeCredentials(const ClusterAccess& access, absl::Time now);

// `authorization`: lines from AuthorizationLine.
std::string WriteRequest(const HttpRequest& request, const ClusterAccess& access,
                         const std::string& user_agent, const std::string& authorization);

// The request to `access`'s proxy for a tunnel to the server.
std::string WriteConnect(const ClusterAccess& access, const std::string& user_agent);

}  // namespace weft::kube
