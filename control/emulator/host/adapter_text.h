// SPDX-License-Identifier: Apache-2.0
// A machine's network adapters in the syntax of the command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/emulator/host/emulated_host.h"

namespace weft::emulator {

// "192.168.80.11/24,fd80::11": the default length is 24, for IPv6 64.
std::optional<std::vector<host::AssignedAddress>> ParseAddresses(std::string_view text);
// "Ethernet=192.168.80.11/24,fd80::11": name and addresses; AddNic sets the rest.
absl::StatusOr<host::Adapter> ParseAdapter(std::string_view text);

// Adds the adapter: up, with an MTU of 1500, and a MAC of its own if it has none. Returns its
// index. A team and its members share one MAC; the members are not `usable`.
std::uint32_t AddNic(host::EmulatedHost& host, host::Adapter adapter, bool usable = true);

}  // namespace weft::emulator
