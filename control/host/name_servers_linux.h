// SPDX-License-Identifier: Apache-2.0
// The name servers of resolv.conf(5).
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vxlan/ip_address.h"

namespace weft::host {

// Those that the text of a resolv.conf names; what is not one is passed over, as glibc does.
std::vector<IpAddress> ParseResolvConf(std::string_view text);

// Of /etc/resolv.conf; and where that names a local stub, of what systemd-resolved asks. A file
// that is not there names none.
absl::StatusOr<std::vector<IpAddress>> ReadNameServers();

}  // namespace weft::host
