// SPDX-License-Identifier: Apache-2.0
// Any text as net-conf.json: refused with one bounded line, or a configuration that is complete.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/net_conf.h"

namespace {

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Which defaults: by the size, so that every text is read both ways.
  const auto& defaults =
      size % 2 == 0 ? weft::control::kHnsDefaults : weft::control::kLinuxDefaults;
  const auto conf = weft::control::ParseNetConf({reinterpret_cast<const char*>(data), size},
                                                "net-conf.json", defaults);
  if (!conf.ok()) {
    const std::string_view message = conf.status().message();
    Require(message.starts_with("net-conf net-conf.json: ") && message.size() < 1000);
    for (const char c : message) Require(c >= ' ' && c < '\x7f');
    return 0;
  }
  Require(conf->enable_ipv4 || conf->enable_ipv6);
  for (const auto family : {weft::IpFamily::kV4, weft::IpFamily::kV6}) {
    const auto& network = conf->network_of(family);
    Require(network.has_value() == conf->enabled(family));
    Require(!network || network->family() == family);
  }
  Require(conf->port != 0);
  for (const std::string& note : conf->notes) {
    Require(note.size() < 1000);
    for (const char c : note) Require(c >= ' ' && c < '\x7f');
  }
  return 0;
}
