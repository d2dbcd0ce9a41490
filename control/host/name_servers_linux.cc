// SPDX-License-Identifier: Apache-2.0
#include "control/host/name_servers_linux.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_split.h"
#include "control/host/system_file_linux.h"

namespace weft::host {
namespace {

absl::StatusOr<std::vector<IpAddress>> ReadFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSystemFile(path);
  if (absl::IsNotFound(text.status())) return std::vector<IpAddress>();
  if (!text.ok()) return text.status();
  return ParseResolvConf(*text);
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

absl::StatusOr<std::vector<IpAddress>> ReadNameServers(const std::string& resolv_conf,
                                                       const std::string& behind_stub) {
  absl::StatusOr<std::vector<IpAddress>> servers = ReadFile(resolv_conf);
  const bool stub = servers.ok() && std::ranges::any_of(*servers, &IpAddress::IsLoopback);
  if (!stub) return servers;
  const absl::StatusOr<std::vector<IpAddress>> behind = ReadFile(behind_stub);
  if (!behind.ok()) return behind;
  servers->insert(servers->end(), behind->begin(), behind->end());
  return servers;
}

}  // namespace weft::host
