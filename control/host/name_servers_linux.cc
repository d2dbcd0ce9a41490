// SPDX-License-Identifier: Apache-2.0
#include "control/host/name_servers_linux.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_split.h"

namespace weft::host {
namespace {

constexpr char kResolvConf[] = "/etc/resolv.conf";
constexpr char kBehindStub[] = "/run/systemd/resolve/resolv.conf";
constexpr std::size_t kMostText = std::size_t{64} << 10;

std::vector<IpAddress> ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostText, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return ParseResolvConf(text);
}

}  // namespace

std::vector<IpAddress> ParseResolvConf(std::string_view text) {
  std::vector<IpAddress> servers;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() < 2 || words[0] != "nameserver") continue;
    // "fe80::1%eth0": the zone names the link.
    if (const auto address = IpAddress::Parse(words[1].substr(0, words[1].find('%'))))
      servers.push_back(*address);
  }
  return servers;
}

absl::StatusOr<std::vector<IpAddress>> ReadNameServers() {
  std::vector<IpAddress> servers = ReadFile(kResolvConf);
  const bool stub = std::any_of(servers.begin(), servers.end(),
                                [](const IpAddress& server) { return server.IsLoopback(); });
  if (!stub) return servers;
  for (const IpAddress& server : ReadFile(kBehindStub)) servers.push_back(server);
  return servers;
}

}  // namespace weft::host
