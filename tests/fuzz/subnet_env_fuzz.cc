// SPDX-License-Identifier: Apache-2.0
// Any text as an old subnet.env: a value read from it appears in it and is read again once written,
// and flanneld's own text is read back after any earlier content.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/node/subnet_env.h"
#include "tests/fuzz/input.h"

namespace {

using weft::IpPrefix;
using weft::fuzz::Require;
using namespace weft::node;  // NOLINT: a program of one file

std::optional<IpPrefix> ReadPrefix(std::string_view text, std::string_view key) {
  const std::vector<IpPrefix> prefixes = ReadPrefixes(text, key);
  return prefixes.size() == 1 ? std::optional(prefixes.front()) : std::nullopt;
}

void CheckKey(std::string_view text, std::string_view key) {
  const std::vector<IpPrefix> prefixes = ReadPrefixes(text, key);
  if (prefixes.empty()) return;
  Require(text.find(absl::StrCat(key, "=")) != std::string_view::npos, "its key is in the text");
  const std::string line = absl::StrJoin(prefixes, ",", [](std::string* out, const IpPrefix& each) {
    absl::StrAppend(out, each.ToString());
  });
  Require(ReadPrefixes(absl::StrCat(text, "\n", key, "=", line), key) == prefixes,
          "written down it is read again, and the last line counts");
}

// The values that the text gives, as flanneld would write them.
void CheckOwnText(std::string_view text) {
  SubnetEnv env;
  const auto network = ReadPrefix(text, "FLANNEL_NETWORK");
  const auto subnet = ReadPrefix(text, "FLANNEL_SUBNET");
  const auto network_v6 = ReadPrefix(text, "FLANNEL_IPV6_NETWORK");
  const auto subnet_v6 = ReadPrefix(text, "FLANNEL_IPV6_SUBNET");
  if (network && subnet) env.v4 = {*network, *subnet};
  if (network_v6 && subnet_v6) env.v6 = {*network_v6, *subnet_v6};
  const std::string own = Text(env);
  for (const std::string& with : {own, absl::StrCat(text, "\n", own)}) {
    if (env.v4) Require(ReadPrefix(with, "FLANNEL_NETWORK") == network, "the network");
    if (env.v4 && subnet->length() < (subnet->family() == weft::IpFamily::kV4 ? 32 : 128))
      Require(ReadPrefix(with, "FLANNEL_SUBNET") == subnet, "the subnet");
    if (env.v6) Require(ReadPrefix(with, "FLANNEL_IPV6_NETWORK") == network_v6, "the IPv6 network");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* key :
       {"FLANNEL_NETWORK", "FLANNEL_SUBNET", "FLANNEL_IPV6_NETWORK", "FLANNEL_IPV6_SUBNET"})
    CheckKey(text, key);
  CheckOwnText(text);
  return 0;
}
