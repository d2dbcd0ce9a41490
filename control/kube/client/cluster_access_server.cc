// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/cluster_access_server.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/kube/client/url.h"

namespace weft::kube {
absl::Status SetServer(std::string_view url, std::string_view field, ClusterAccess& access) {
  constexpr std::string_view kExample = "write it as \"https://10.0.0.1:6443\"";
  auto parsed = ParseUrl(absl::StripAsciiWhitespace(url));
  if (!parsed.ok()) return BadUrl(field, parsed.status().message(), kExample);
  const bool needs_tls = access.insecure_skip_tls_verify || !access.certificate_authority.empty() ||
                         !access.client_certificate.empty();
  if (parsed->scheme.empty()) parsed->scheme = needs_tls ? "https" : "http";
  if (parsed->scheme != "https" && parsed->scheme != "http")
    return BadUrl(field, absl::StrCat("\"", parsed->scheme, "://\" is not spoken here"), kExample);
  if (!parsed->username.empty() || !parsed->password.empty()) {
    return BadUrl(field, "it holds a user name or password",
                  "they belong into the kubeconfig's user, as username and password");
  }
  access.tls = parsed->scheme == "https";
  access.host = parsed->host;
  access.port = parsed->port != 0 ? parsed->port
                : access.tls      ? std::uint16_t{443}
                                  : std::uint16_t{80};
  access.path = parsed->path;
  return absl::OkStatus();
}

}  // namespace weft::kube
