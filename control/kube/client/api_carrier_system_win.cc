// SPDX-License-Identifier: Apache-2.0
#include <winsock2.h>
// After winsock2.h.
#include <mstcpip.h>
#include <wincrypt.h>

// wincrypt.h has macros of these names.
#undef X509_NAME
#undef X509_EXTENSIONS
#undef PKCS7_SIGNER_INFO
#undef OCSP_REQUEST
#undef OCSP_RESPONSE

#include "control/kube/client/api_carrier_system.h"

namespace weft::kube {

void AddSystemAuthorities(X509_STORE* store) {
  const HCERTSTORE roots = ::CertOpenSystemStoreW(0, L"ROOT");
  if (roots == nullptr) return;
  const CERT_CONTEXT* root = nullptr;
  while ((root = ::CertEnumCertificatesInStore(roots, root)) != nullptr) {
    const unsigned char* at = root->pbCertEncoded;
    X509* const parsed = d2i_X509(nullptr, &at, static_cast<long>(root->cbCertEncoded));
    if (parsed == nullptr) continue;  // OpenSSL cannot parse it
    X509_STORE_add_cert(store, parsed);
    X509_free(parsed);
  }
  ::CertCloseStore(roots, 0);
}

void KeepAlive(boost::asio::ip::tcp::socket& socket) {
  tcp_keepalive desired{};
  desired.onoff = 1;
  desired.keepalivetime = 30'000;     // milliseconds
  desired.keepaliveinterval = 6'000;  // ten times: the number is fixed on Windows
  DWORD unused = 0;
  ::WSAIoctl(socket.native_handle(), SIO_KEEPALIVE_VALS, &desired, sizeof desired, nullptr, 0,
             &unused, nullptr, nullptr);
}

}  // namespace weft::kube
