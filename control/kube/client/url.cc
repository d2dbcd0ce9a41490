// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/url.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "control/http1/percent.h"

namespace weft::kube {
namespace {

constexpr std::size_t kLongestHost = 255;

absl::Status Bad(std::string_view what) { return absl::InvalidArgumentError(what); }

bool IsAlphanumeric(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// Go's net/url refuses the same characters, in a user as in a path.
bool IsVisible(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isgraph(c); });
}

// Cuts "scheme://" off the front of `text`.
absl::Status TakeScheme(std::string_view& text, Url& url) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return absl::OkStatus();
  const std::string_view scheme = text.substr(0, end);
  const auto fits = [](char c) { return IsAlphanumeric(c) || c == '+' || c == '-' || c == '.'; };
  if (scheme.empty() || scheme.size() > 16 || !std::all_of(scheme.begin(), scheme.end(), fits))
    return Bad("the text before \"://\" is not a scheme");
  url.scheme = absl::AsciiStrToLower(scheme);
  text.remove_prefix(end + 3);
  return absl::OkStatus();
}

absl::Status TakeUser(std::string_view& authority, Url& url) {
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return absl::OkStatus();
  const std::string_view user = authority.substr(0, at);
  if (!IsVisible(user)) return Bad("its user name or password has characters that must be escaped");
  const std::size_t colon = user.find(':');
  auto name = http1::DecodePercent(user.substr(0, colon));
  auto password = colon == std::string_view::npos ? std::string()
                                                  : http1::DecodePercent(user.substr(colon + 1));
  if (!name || !password) return Bad("its user name or password has a broken percent escape");
  url.username = *std::move(name);
  url.password = *std::move(password);
  authority.remove_prefix(at + 1);
  return absl::OkStatus();
}

absl::Status ReadPort(std::string_view text, Url& url) {
  std::uint32_t port = 0;
  if (!absl::ascii_isdigit(static_cast<unsigned char>(text.front())) ||
      !absl::SimpleAtoi(text, &port) || port == 0 || port > 65'535)
    return Bad("its port is not a number from 1 to 65535");
  url.port = static_cast<std::uint16_t>(port);
  return absl::OkStatus();
}

absl::Status ReadHost(std::string_view authority, Url& url) {
  std::string_view port;
  if (absl::StartsWith(authority, "[")) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return Bad("its '[' has no ']'");
    auto host = http1::DecodePercent(authority.substr(1, close - 1));  // a zone: "fe80::1%25eth0"
    if (!host || host->find(':') == std::string::npos)
      return Bad("the text in brackets is not an IPv6 address");
    url.host = *std::move(host);
    port = authority.substr(close + 1);
    if (!port.empty() && !absl::ConsumePrefix(&port, ":"))
      return Bad("its host is not followed by ':' or '/'");
  } else {
    const std::size_t colon = authority.find(':');
    url.host = std::string(authority.substr(0, colon));
    if (colon != std::string_view::npos) port = authority.substr(colon + 1);
    if (port.find(':') != std::string_view::npos)
      return Bad("it has more than one ':'; write an IPv6 address in brackets");
  }
  const bool v6 = url.host.find(':') != std::string::npos;
  const auto fits = [v6](char c) {
    return IsAlphanumeric(c) || c == '.' || c == '-' || c == '_' || (v6 && (c == ':' || c == '%'));
  };
  if (url.host.empty()) return Bad("it has no host");
  if (url.host.size() > kLongestHost || !std::all_of(url.host.begin(), url.host.end(), fits))
    return Bad("its host is neither a name nor an address");
  // "host:" means the default, as in Go.
  return port.empty() ? absl::OkStatus() : ReadPort(port, url);
}

}  // namespace

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  Url url;
  if (auto taken = TakeScheme(text, url); !taken.ok()) return taken;
  const std::size_t slash = text.find_first_of("/?#");
  std::string_view authority = text.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? std::string_view() : text.substr(slash);
  if (auto taken = TakeUser(authority, url); !taken.ok()) return taken;
  if (auto read = ReadHost(authority, url); !read.ok()) return read;
  if (url.port == 0 && url.scheme == "https") url.port = 443;
  if (url.port == 0 && url.scheme == "http") url.port = 80;
  if (path.find_first_of("?#") != std::string_view::npos)
    return Bad("it has a query or a fragment");
  if (!IsVisible(path)) return Bad("its path has characters that must be escaped");
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  url.path = std::string(path);
  return url;
}

absl::Status BadUrl(std::string_view field, std::string_view what, std::string_view next) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what, "; ", next));
}

std::string HostAndPort(std::string_view host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

}  // namespace weft::kube
