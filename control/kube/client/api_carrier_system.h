// SPDX-License-Identifier: Apache-2.0
// The functions of the operating system that a connection needs.
#pragma once

#include <openssl/x509.h>

#include <boost/asio/ip/tcp.hpp>

namespace weft::kube {

// Adds the authorities that this system trusts. If there are none, this is no error, but no
// certificate will verify.
void AddSystemAuthorities(X509_STORE* store);

// Enables TCP keep-alive, as far as the system allows: probes after 30 s of silence; a minute later
// without an answer the connection fails.
void KeepAlive(boost::asio::ip::tcp::socket& socket);

}  // namespace weft::kube
