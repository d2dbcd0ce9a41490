// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>

#include "control/kube/client/api_carrier_system.h"

namespace weft::kube {
namespace {

// The CA bundles of other distributions than the one we were built on; Go searches the same.
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

}  // namespace

void AddSystemAuthorities(X509_STORE* store) {
  X509_STORE_set_default_paths(store);  // uses SSL_CERT_FILE and SSL_CERT_DIR
  std::error_code error;
  if (std::getenv(X509_get_default_cert_file_env()) != nullptr ||
      std::filesystem::exists(X509_get_default_cert_dir(), error))
    return;
  for (const char* bundle : kBundles)
    if (X509_STORE_load_file(store, bundle) == 1) return;
}

void KeepAlive(boost::asio::ip::tcp::socket& socket) {
  const auto set = [&socket](int level, int option, int value) {
    ::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace weft::kube
