// SPDX-License-Identifier: Apache-2.0
#include "control/node/subnet_env.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/file_io.h"

namespace weft::node {
namespace {

void AppendFamily(std::string& text, std::string_view prefix, const SubnetEnvFamily& family) {
  absl::StrAppend(&text, "FLANNEL_", prefix, "NETWORK=", family.network.ToString(), "\n");
  absl::StrAppend(&text, "FLANNEL_", prefix, "SUBNET=", family.subnet.base().Next().ToString(), "/",
                  family.subnet.length(), "\n");
}

}  // namespace

std::string Text(const SubnetEnv& env) {
  std::string text;
  if (env.v4) AppendFamily(text, "", *env.v4);
  if (env.v6) AppendFamily(text, "IPV6_", *env.v6);
  absl::StrAppend(&text, "FLANNEL_MTU=", env.mtu.bytes(), "\n");
  absl::StrAppend(&text, "FLANNEL_IPMASQ=", env.ip_masq ? "true" : "false", "\n");
  return text;
}

std::vector<IpPrefix> ReadPrefixes(std::string_view text, std::string_view key) {
  std::vector<IpPrefix> prefixes;
  for (std::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, "=")) continue;
    prefixes.clear();  // of two lines the last counts
    for (std::string_view entry : absl::StrSplit(line, ',')) {
      if (const auto prefix = IpPrefix::Parse(absl::StripAsciiWhitespace(entry)))
        prefixes.push_back(*prefix);
    }
  }
  return prefixes;
}

absl::StatusOr<IpPrefix> ReadOwnSubnet(const std::string& path) {
  constexpr std::size_t kMost = 64 * 1024;  // bytes
  const absl::StatusOr<std::string> text = control::ReadFileText(path, kMost);
  const std::vector<IpPrefix> subnets =
      text.ok() ? ReadPrefixes(*text, "FLANNEL_SUBNET") : std::vector<IpPrefix>();
  if (!subnets.empty() && subnets.front().family() == IpFamily::kV4) return subnets.front();
  return absl::NotFoundError(
      absl::StrCat(path, " names no subnet of this node",
                   text.ok() ? "" : absl::StrCat(" (", text.status().message(), ")"),
                   "; start flanneld, or name its file with --subnet-file"));
}

std::string OtherLease(std::string_view text, const SubnetEnv& env) {
  const auto other = [&](std::string_view key, const std::optional<IpPrefix>& ours) {
    for (const IpPrefix& found : ReadPrefixes(text, key))
      if (found != ours) return absl::StrCat(key, " ", found.ToString());
    return std::string();
  };
  for (const bool v4 : {true, false}) {
    const std::optional<SubnetEnvFamily>& family = v4 ? env.v4 : env.v6;
    std::optional<IpPrefix> network, subnet;
    if (family) network = family->network, subnet = family->subnet;
    std::string found = other(v4 ? "FLANNEL_SUBNET" : "FLANNEL_IPV6_SUBNET", subnet);
    if (found.empty()) found = other(v4 ? "FLANNEL_NETWORK" : "FLANNEL_IPV6_NETWORK", network);
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace weft::node
