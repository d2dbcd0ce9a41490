// SPDX-License-Identifier: Apache-2.0
// What a connection needs of the operating system.
#pragma once

#include <openssl/x509.h>

#include <boost/asio/ip/tcp.hpp>

namespace weft::kube {

// Adds the authorities that this system trusts. None at all is no error here: nothing will then
// verify.
void AddSystemAuthorities(X509_STORE* store);

// After 30 s of silence the other side is asked whether it is there; a minute later the connection
// is dead if it was not. As far as the system allows it.
void KeepAlive(boost::asio::ip::tcp::socket& socket);

}  // namespace weft::kube
