// SPDX-License-Identifier: Apache-2.0
// Any text as a kubeconfig: refused with one line, or a usable server. The first line is
// --kube-api-url.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "control/kube/client/credentials_kubeconfig.h"

namespace {

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\n');
  const std::string_view text = end == std::string_view::npos ? "" : input.substr(end + 1);
  const auto access =
      weft::kube::ParseKubeconfig(text, "/k/config", std::string(input.substr(0, end)));
  if (!access.ok()) {
    const std::string_view message = access.status().message();
    for (const char c : message) Require(c >= ' ' && c < '\x7f');
    return 0;
  }
  Require(!access->host.empty() && access->port != 0);
  for (const char c : access->host + access->path) Require(c > ' ' && c < '\x7f');
  Require(access->client_certificate.empty() == access->client_key.empty());
  if (access->exec) {
    Require(!access->exec->command.empty() && access->token.empty());
    for (const auto& [name, value] : access->exec->env)
      Require(!name.empty() && (name + value).find('\0') == std::string::npos);
  }
  return 0;
}
