// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/config/flag_table.h"
#include "control/config/flags.h"

namespace weft::config {
namespace {

constexpr std::size_t kWidth = 100;  // columns

void AppendGroup(std::string& out, FlagGroup group) {
  absl::StrAppend(&out, "\n", Title(group), ":\n");
  if (group == FlagGroup::kCompatible) {
    std::vector<std::string> names;
    for (const FlagRow& row : FlagTable())
      if (row.group == group) names.push_back(absl::StrCat("--", row.name));
    return AppendWrapped(out, absl::StrJoin(names, " "), kWidth);
  }
  for (const FlagRow& row : FlagTable()) {
    if (row.group != group) continue;
    absl::StrAppend(&out, "  --", row.name, row.value.empty() ? "" : "=", row.value, "\n");
    const std::string value = DefaultText(row);
    AppendWrapped(
        out,
        value.empty() ? std::string(row.help) : absl::StrCat(row.help, " (default ", value, ")"),
        kWidth);
  }
}

}  // namespace

void AppendWrapped(std::string& out, std::string_view text, std::size_t width) {
  constexpr std::size_t kIndent = 6;  // of a flag's help
  std::size_t column = 0;
  for (std::string_view word : absl::StrSplit(text, ' ')) {
    if (column == 0 || column + 1 + word.size() > width) {
      absl::StrAppend(&out, column == 0 ? "" : "\n", std::string(kIndent, ' '), word);
      column = kIndent + word.size();
    } else {
      absl::StrAppend(&out, " ", word);
      column += 1 + word.size();
    }
  }
  out.push_back('\n');
}

std::string Usage() {
  std::string out =
      "usage: flanneld [FLAG...]\n"
      "       flanneld service --help (Windows)\n"
      "\n"
      "Connects this node's pods with those of the other nodes of a flannel cluster.\n"
      "\n"
      "-name and --name are the same. A value follows after = or as the next word, that of a "
      "boolean after\n"
      "= only. A flag that is not given is read from its variable: FLANNELD_PUBLIC_IP for "
      "--public-ip.\n";
  for (FlagGroup group : {FlagGroup::kLeases, FlagGroup::kInterface, FlagGroup::kDataPlane,
                          FlagGroup::kOutputs, FlagGroup::kLogs, FlagGroup::kCompatible}) {
    AppendGroup(out, group);
  }
  absl::StrAppend(&out,
                  "\n"
                  "Exit status: 0 stopped by a signal; 1 wrong configuration; 2 wrong flags.\n");
  return out;
}

}  // namespace weft::config
