// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/cluster_access.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/kube/client/url.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::kube {
namespace {

struct Variable {
  std::string name, value;
};

// The variable `name` in upper case or, if unset, in lower case.
std::optional<Variable> Find(const Environment& environment, const std::string& name) {
  for (const std::string& each : {name, absl::AsciiStrToLower(name)}) {
    auto value = environment(each);
    if (value && !value->empty()) return Variable{each, *std::move(value)};
  }
  return std::nullopt;
}

// The destination of the request, in lower case.
struct Target {
  std::string host;
  std::optional<IpAddress> address;  // if `host` is one
  std::string port;
};

struct HostPort {
  std::string_view host, port;
};

// "host", "host:port", "[v6]:port" or a bare IPv6 address.
HostPort Split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (absl::StartsWith(text, "[")) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return {text, {}};
    return {text.substr(1, close - 1), colon > close && colon != std::string_view::npos
                                           ? text.substr(colon + 1)
                                           : std::string_view()};
  }
  if (colon == std::string_view::npos || text.find(':') != colon) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// One entry of NO_PROXY: "*", "10.0.0.0/8", or with or without ":port" an address, "example.com"
// (and all below it), ".example.com" or "*.example.com" (only what is below it).
bool Covers(std::string_view entry, const Target& target) {
  if (entry == "*") return true;
  if (const auto prefix = IpPrefix::Parse(entry))
    return target.address && prefix->Contains(*target.address);
  auto [host, port] = Split(entry);
  if (host.empty() || (!port.empty() && port != target.port)) return false;
  if (const auto address = IpAddress::Parse(host)) return target.address == address;
  if (absl::StartsWith(host, "*.")) host.remove_prefix(1);
  if (host.front() == '.') return absl::EndsWith(target.host, host);
  return target.host == host || absl::EndsWith(target.host, absl::StrCat(".", host));
}

}  // namespace

absl::StatusOr<Proxy> ParseProxy(std::string_view url, std::string_view field) {
  constexpr std::string_view kExample = "write it as \"http://10.0.0.9:3128\"";
  auto parsed = ParseUrl(absl::StripAsciiWhitespace(url));
  if (!parsed.ok()) return BadUrl(field, parsed.status().message(), kExample);
  if (!parsed->scheme.empty() && parsed->scheme != "http") {
    return BadUrl(field, absl::StrCat("\"", parsed->scheme, "://\" proxies are not supported"),
                  "give an \"http://\" proxy, or name the API server in NO_PROXY");
  }
  Proxy proxy;
  proxy.host = std::move(parsed->host);
  proxy.port = parsed->port != 0 ? parsed->port : std::uint16_t{80};
  proxy.username = std::move(parsed->username);
  proxy.password = std::move(parsed->password);
  return proxy;
}

void SetProxy(std::string_view url, std::string_view field, ClusterAccess& access) {
  absl::StatusOr<Proxy> proxy = ParseProxy(url, field);
  if (proxy.ok())
    access.proxy = *std::move(proxy);
  else
    access.warnings.push_back(
        absl::StrCat("the API server ", HostAndPort(access.host, access.port),
                     " is requested without a proxy: ", proxy.status().message()));
}

void SetProxyOfEnvironment(const Environment& environment, ClusterAccess& access) {
  access.proxy.reset();
  const auto url = Find(environment, access.tls ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (!url) return;
  Target target{absl::AsciiStrToLower(access.host), {}, absl::StrCat(access.port)};
  target.address = IpAddress::Parse(target.host);
  if (target.host == "localhost" || (target.address && target.address->IsLoopback())) return;
  if (const auto exceptions = Find(environment, "NO_PROXY")) {
    const std::string list = absl::AsciiStrToLower(exceptions->value);
    for (const std::string_view entry : absl::StrSplit(list, ','))
      if (Covers(absl::StripAsciiWhitespace(entry), target)) return;
  }
  SetProxy(url->value, absl::StrCat("environment variable ", url->name), access);
}

}  // namespace weft::kube
