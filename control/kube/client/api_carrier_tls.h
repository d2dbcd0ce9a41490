// SPDX-License-Identifier: Apache-2.0
// TLS to the API server: verifies its identity and proves ours.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

struct SslFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

// As ClusterKeys of cluster_servers.h, for one server.
std::vector<std::string> ClusterKeys(const ClusterAccess& access);

// The client's side of one connection. Reads the credentials now.
class TlsSession {
 public:
  // Errors: kUnauthenticated or kInvalidArgument, as in http_exchange.h.
  static absl::StatusOr<std::unique_ptr<TlsSession>> Make(const ClusterAccess& access);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  SSL* ssl() const { return ssl_.get(); }
  // The error of the last call from OpenSSL's error queue, for people; empties the queue.
  absl::Status Failure() const;

 private:
  TlsSession() = default;
  static int Judge(int trusted, X509_STORE_CTX* chain);

  std::unique_ptr<SSL, SslFree> ssl_;
  std::string name_;         // the expected name of the server
  std::string authorities_;  // the source of the CAs
  std::string distrust_;     // why its certificate was refused, a sentence
};

}  // namespace weft::kube
