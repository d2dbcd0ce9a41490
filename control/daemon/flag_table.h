// SPDX-License-Identifier: Apache-2.0
// Every flag of flanneld, once: name, place of its value, help. Parser, environment and --help read
// this table only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/daemon/options.h"

namespace weft::daemon {

enum class FlagGroup : std::uint8_t {
  kLeases,
  kInterface,
  kDataPlane,
  kOutputs,
  kLogs,
  kCompatible
};

// Repeated flags append to a list; any other flag's last value counts.
using FlagPlace = std::variant<bool Options::*, std::int64_t Options::*, std::string Options::*,
                               std::vector<std::string> Options::*>;

struct FlagRow {
  FlagGroup group;
  std::string_view name;
  FlagPlace place;
  std::string_view value;  // what --help calls it: "PATH"; the closed list "a|b|c" is checked.
                           // Empty for booleans
  std::string_view help;   // one sentence, no full stop
  bool without_meaning = false;  // accepted, does nothing here
};

std::span<const FlagRow> FlagTable();
std::string_view Title(FlagGroup group);
// The row of `name`, or null.
const FlagRow* FindFlag(std::string_view name);

}  // namespace weft::daemon
