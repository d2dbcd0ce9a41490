// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_carrier_request.h"

#include <algorithm>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "control/kube/client/credentials_file.h"
#include "control/kube/client/url.h"
#include "control/kube/codec/objects_json.h"

namespace weft::kube {
namespace {

std::string Basic(std::string_view username, std::string_view password) {
  return absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(username, ":", password)), "\r\n");
}

std::string ProxyLine(const Proxy& proxy) {
  if (proxy.username.empty() && proxy.password.empty()) return {};
  return "Proxy-Authorization: " + Basic(proxy.username, proxy.password);
}

// Without the scheme's default port, and without a zone, which is valid on this machine only.
std::string HostField(const ClusterAccess& access) {
  const std::string host = access.host.substr(0, access.host.find('%'));
  const std::string both = HostAndPort(host, access.port);
  if (access.port != (access.tls ? 443 : 80)) return both;
  return both.substr(0, both.rfind(':'));
}

}  // namespace

absl::StatusOr<std::string> AuthorizationLine(const ClusterAccess& access) {
  if (!access.token.empty()) {
    const auto text = ReadSecret(access.token, "token");
    if (!text.ok()) return text.status();
    const std::string_view token = absl::StripAsciiWhitespace(*text);
    const auto fits = [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); };
    if (!std::all_of(token.begin(), token.end(), fits)) {
      return absl::InvalidArgumentError(absl::StrCat(
          access.token.text.empty() ? absl::StrCat("the token file ", access.token.file)
                                    : "the token",
          " has characters that are not valid in a token; write it again, on one line"));
    }
    return absl::StrCat("Authorization: Bearer ", token, "\r\n");
  }
  if (access.username.empty() && access.password.empty()) return std::string();
  return "Authorization: " + Basic(access.username, access.password);
}

std::string DescribeCredentials(const ClusterAccess& access, absl::Time now) {
  const auto named = [&](std::string_view what, const Secret& secret) {
    return secret.text.empty() ? absl::StrCat("the ", what, " in the file ", secret.file)
                               : absl::StrCat("the ", what, " of ", access.origin);
  };
  if (!access.token.empty()) {
    std::string text = named("token", access.token);
    const auto token = ReadSecret(access.token, "token");
    const auto expiry =
        token.ok() ? DecodeTokenExpiry(absl::StripAsciiWhitespace(*token)) : std::nullopt;
    if (!expiry) return absl::StrCat(text, ", which names no expiry");
    const absl::Time at = absl::FromUnixSeconds(*expiry);
    return absl::StrCat(text, at <= now ? ", which expired on " : ", which expires on ",
                        absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", at, absl::UTCTimeZone()));
  }
  if (!access.username.empty()) return absl::StrCat("the user name of ", access.origin);
  if (!access.client_certificate.empty())
    return named("client certificate", access.client_certificate);
  return absl::StrCat("a request without credentials, as ", access.origin, " has none");
}

std::string WriteRequest(const HttpRequest& request, const ClusterAccess& access,
                         const std::string& user_agent, const std::string& authorization) {
  // A request for an "http://" resource to a proxy has the whole URL.
  const bool by_proxy = access.proxy && !access.tls;
  const std::string content =
      request.body.empty() && request.content_type.empty()
          ? std::string()
          : absl::StrCat("Content-Type: ", request.content_type,
                         "\r\nContent-Length: ", request.body.size(), "\r\n");
  return absl::StrCat(request.method, " ", by_proxy ? "http://" + HostField(access) : "",
                      access.path, request.target, " HTTP/1.1\r\nHost: ", HostField(access),
                      "\r\nUser-Agent: ", user_agent, "\r\nAccept: ", request.accept, "\r\n",
                      content, authorization, by_proxy ? ProxyLine(*access.proxy) : "",
                      "Connection: close\r\n\r\n", request.body);
}

std::string WriteConnect(const ClusterAccess& access, const std::string& user_agent) {
  const std::string to = HostAndPort(access.host, access.port);
  return absl::StrCat("CONNECT ", to, " HTTP/1.1\r\nHost: ", to, "\r\nUser-Agent: ", user_agent,
                      "\r\n", ProxyLine(*access.proxy), "\r\n");
}

}  // namespace weft::kube
