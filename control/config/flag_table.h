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

#include "control/config/flag_values.h"

namespace weft::config {

enum class FlagGroup : std::uint8_t {
  kLeases,
  kInterface,
  kDataPlane,
  kOutputs,
  kLogs,
  kCompatible
};

// Repeated flags append to a list; any other flag's last value counts.
using FlagPlace = std::variant<bool FlagValues::*, std::int64_t FlagValues::*,
                               std::string FlagValues::*, std::vector<std::string> FlagValues::*>;

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
// As Go prints it; of a list nothing.
std::string DefaultOf(const FlagRow& row);
// The row of `name`, or null.
const FlagRow* FindFlag(std::string_view name);

}  // namespace weft::config
