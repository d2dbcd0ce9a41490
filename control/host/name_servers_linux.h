// SPDX-License-Identifier: Apache-2.0
// The name servers of resolv.conf(5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vxlan/ip_address.h"

namespace weft::host {

// The name servers in the text of a resolv.conf; invalid ones are skipped, as glibc does.
std::vector<IpAddress> ParseResolvConf(std::string_view text);

// Those of resolv.conf and, if that names a local stub, those that systemd-resolved uses. A missing
// file has none; one that cannot be read is an error.
absl::StatusOr<std::vector<IpAddress>> ReadNameServers(
    const std::string& resolv_conf = "/etc/resolv.conf",
    const std::string& behind_stub = "/run/systemd/resolve/resolv.conf");

}  // namespace weft::host
