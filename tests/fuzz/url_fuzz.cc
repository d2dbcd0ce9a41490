// SPDX-License-Identifier: Apache-2.0
// Any text as the address of a server or a proxy: refused in one line that shows nothing of it, or
// parts that are valid in a request and make the same address again. The lines of the input: the
// address, NO_PROXY, the API server's host.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/url.h"
#include "tests/fuzz/input.h"
#include "vxlan/ip_address.h"

namespace {

using weft::fuzz::Require;
using namespace weft::kube;  // NOLINT: a program of one file

bool IsLine(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

std::string Escape(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    absl::StrAppend(&out, "%", kDigits.substr(byte >> 4, 1), kDigits.substr(byte & 15, 1));
  }
  return out;
}

std::string Text(const Url& url) {
  std::string text = url.scheme.empty() ? "" : absl::StrCat(url.scheme, "://");
  if (!url.username.empty() || !url.password.empty())
    absl::StrAppend(&text, Escape(url.username), ":", Escape(url.password), "@");
  const bool v6 = url.host.find(':') != std::string::npos;
  absl::StrAppend(&text, v6 ? absl::StrCat("[", Escape(url.host), "]") : url.host);
  if (url.port != 0) absl::StrAppend(&text, ":", url.port);
  return text + url.path;
}

void CheckUrl(std::string_view text) {
  const auto url = ParseUrl(text);
  if (!url.ok()) {
    const std::string_view message = url.status().message();
    Require(!message.empty() && message.size() < 100 && IsLine(message), "one short line");
    return;
  }
  Require(!url->host.empty() && url->host.size() <= 255, "a host");
  for (const char c : absl::StrCat(url->host, url->path))
    Require(c > ' ' && c < '\x7f', "sendable");
  const bool implied = url->port == 0 || url->port == (url->scheme == "https" ? 443 : 80);
  Require(implied || text.find(absl::StrCat(url->port)) != std::string_view::npos, "its own port");
  Require(url->path.empty() || (url->path.front() == '/' && url->path.back() != '/'), "the path");
  const auto again = ParseUrl(Text(*url));
  Require(again.ok() && again->scheme == url->scheme && again->host == url->host &&
              again->port == url->port && again->path == url->path &&
              again->username == url->username && again->password == url->password,
          "printed and parsed it is the same");
  Require(IsLine(HostAndPort(url->host, url->port)), "host and port for people");
}

void CheckProxy(std::string_view text, std::string_view exceptions, std::string_view host) {
  const auto proxy = ParseProxy(text, "proxy-url");
  if (!proxy.ok()) {
    Require(proxy.status().message().starts_with("proxy-url: "), "the field is named");
    Require(IsLine(proxy.status().message()), "one line");
  } else {
    Require(!proxy->host.empty() && proxy->port != 0, "a proxy that can be dialled");
  }
  ClusterAccess access;
  access.host = std::string(host);
  SetProxyOfEnvironment(
      [&](const std::string& name) -> std::optional<std::string> {
        if (name == "HTTPS_PROXY") return std::string(text);
        if (name == "NO_PROXY") return std::string(exceptions);
        return std::nullopt;
      },
      access);
  if (text.empty() || host == "localhost" || exceptions == "*") {
    Require(!access.proxy && access.warnings.empty(), "no proxy");
  } else if (exceptions.empty() && !weft::IpAddress::Parse(host) && host.find_first_of("Ll") != 0) {
    Require(access.proxy.has_value() == proxy.ok() && access.warnings.empty() == proxy.ok(),
            "the proxy of the environment, or why it is not used");
    Require(
        !access.proxy || (access.proxy->host == proxy->host && access.proxy->port == proxy->port),
        "the proxy of the environment");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return taken;
  };
  const std::string_view url = line(), exceptions = line(), host = line();
  CheckUrl(url);
  CheckProxy(url, exceptions, host);
  return 0;
}
