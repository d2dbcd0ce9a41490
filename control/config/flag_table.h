// SPDX-License-Identifier: Apache-2.0
// Every flag of flanneld, and every variable that it reads, once. Parser, environment, --help,
// flanneld.8 and REFERENCE.md are made from these tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/config/flag_values.h"
#include "control/net_conf.h"

namespace weft::config {

enum class FlagGroup : std::uint8_t {
  kLeases,
  kInterface,
  kDataPlane,
  kOutputs,
  kLogs,
  kCompatible,  // accepted, without effect
};

// A node's configuration, as NodeConfig has it (options.h).
struct Options;
struct Situation {
  const FlagValues& values;
  const Options& options;
  const control::NetConf& conf;
};
// What a flag needs on this node to have an effect.
struct Need {
  std::string_view text;  // "it needs ..."
  bool (*is_met)(const Situation& on);
};

// A repeated flag appends to a list; of any other the last value counts.
using FlagPlace = std::variant<bool FlagValues::*, std::int64_t FlagValues::*,
                               std::string FlagValues::*, std::vector<std::string> FlagValues::*>;

struct FlagRow {
  FlagGroup group;
  std::string_view name;
  FlagPlace place;
  std::string_view value;      // its name in --help: "PATH"; the closed list "a|b|c" is checked.
                               // Empty for booleans
  std::string_view help;       // one sentence, no full stop
  const Need* need = nullptr;  // null: it has its effect on every node
  // The program's own default where FlagValues has an empty one; windows_default empty: the same on
  // both systems.
  std::string_view linux_default = "", windows_default = "";
};

struct VariableRow {
  std::string_view name;
  std::string_view help;  // one sentence, no full stop
  bool without_effect = false;
};

std::span<const FlagRow> FlagTable();
// Those that set no flag. A flag's own is FLANNELD_...: VariableOf.
std::span<const VariableRow> VariableTable();
std::string_view Title(FlagGroup group);
// As Go prints it; empty for a list.
std::string TextOf(const FlagRow& row, const FlagValues& values);
std::string DefaultOf(const FlagRow& row);
// For display: "userspace, on Windows hns"; empty: nothing to display.
std::string DefaultText(const FlagRow& row);
// The row of `name`, or null.
const FlagRow* FindFlag(std::string_view name);

}  // namespace weft::config
