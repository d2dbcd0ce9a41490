// SPDX-License-Identifier: Apache-2.0
// TLS as the API server is asked: who it must be, and who we are.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/client/cluster_access.h"

namespace weft::kube {

struct SslFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

// The client's side of one connection. Reads the credentials now.
class TlsSession {
 public:
  // kUnauthenticated or kInvalidArgument, as http_exchange.h has them.
  static absl::StatusOr<std::unique_ptr<TlsSession>> Make(const ClusterAccess& access);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  SSL* ssl() const { return ssl_.get(); }
  // What the last call's entries in OpenSSL's error queue mean, for people; empties the queue.
  absl::Status Failure() const;

 private:
  TlsSession() = default;
  static int Judge(int trusted, X509_STORE_CTX* chain);

  std::unique_ptr<SSL, SslFree> ssl_;
  std::string name_;         // who the server must be
  std::string authorities_;  // where the CAs come from
  std::string distrust_;     // why its certificate was refused, in words
};

}  // namespace weft::kube
