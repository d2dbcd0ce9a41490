// SPDX-License-Identifier: Apache-2.0
// Any text as the output of an exec plugin: refused with one line that shows no secret, or
// credentials that fit into a request.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/kube/client/exec_plugin.h"

namespace {

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto credential = weft::kube::ParseExecCredential(text, "client.authentication.k8s.io/v1");
  if (!credential.ok()) {
    Require(credential.status().message().size() < 1000);
    for (const char c : credential.status().message()) Require(c >= ' ' && c < '\x7f');
    return 0;
  }
  for (const char c : credential->token) Require(c > ' ' && c < '\x7f');
  Require(credential->client_certificate.empty() == credential->client_key.empty());
  Require(!credential->token.empty() || !credential->client_key.empty());
  return 0;
}
