// SPDX-License-Identifier: Apache-2.0
// A machine's network adapters, as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/emulator/host/emulated_host.h"

namespace weft::emulator {

// "192.168.80.11/24,fd80::11": without a length 24, and 64.
std::optional<std::vector<host::AssignedAddress>> ParseAddresses(std::string_view text);
// "Ethernet=192.168.80.11/24,fd80::11": name and addresses; the rest is AddNic's.
absl::StatusOr<host::Adapter> ParseAdapter(std::string_view text);

// Up, with an MTU of 1500 and, where it has none, a MAC of its own; its index. A team and its
// members have one MAC; the members are not `usable`.
std::uint32_t AddNic(host::EmulatedHost& host, host::Adapter adapter, bool usable = true);

}  // namespace weft::emulator
