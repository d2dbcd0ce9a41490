// SPDX-License-Identifier: Apache-2.0
// A server's certificate that is not to be trusted, in words.
#pragma once

#include <openssl/x509.h>

#include <string>
#include <string_view>

namespace weft::kube {

// Why `error` (X509_V_ERR_...) happened at `certificate` (may be null), and what to do. `name` is
// who the server should be; `authorities` names where the CAs come from: "the CA file /k/ca.crt".
std::string DescribeDistrust(int error, const X509* certificate, std::string_view name,
                             std::string_view authorities);

}  // namespace weft::kube
