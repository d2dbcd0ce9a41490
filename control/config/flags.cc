// SPDX-License-Identifier: Apache-2.0
#include "control/config/flags.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/config/flag_table.h"
#include "control/config/go_values.h"
#include "vxlan/text/edit_distance.h"
#include "vxlan/text/printable.h"

namespace weft::config {
namespace {

bool IsBool(const FlagRow& row) { return std::holds_alternative<bool FlagValues::*>(row.place); }

// A value list "a|b|c" is closed when it is in lower case; "IP|NAME" only describes.
bool IsClosed(std::string_view value) {
  return value.find('|') != value.npos &&
         std::none_of(value.begin(), value.end(), absl::ascii_isupper);
}

// "--etcd-password" and any other whose value must not be shown.
bool IsSecret(std::string_view word) {
  const FlagRow* row = FindFlag(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  return row && row->value == "SECRET";
}

// Puts `text` into its place. The error is the end of Go's message: "parse error".
absl::Status Set(const FlagRow& row, std::string_view text, FlagValues& values) {
  if (const auto* place = std::get_if<bool FlagValues::*>(&row.place)) {
    const std::optional<bool> value = ParseGoBool(text);
    if (!value) return absl::InvalidArgumentError("parse error");
    values.** place = *value;
  } else if (const auto* number = std::get_if<std::int64_t FlagValues::*>(&row.place)) {
    const GoInt value = ParseGoInt(text);
    if (value.error == GoIntError::kSyntax) return absl::InvalidArgumentError("parse error");
    const bool no_port = row.value == "PORT" && value.value > 65535;
    if (value.error == GoIntError::kRange || no_port)
      return absl::InvalidArgumentError("value out of range");
    values.** number = value.value;
  } else if (const auto* list = std::get_if<std::vector<std::string> FlagValues::*>(&row.place)) {
    (values.**list).emplace_back(text);
  } else {
    if (IsClosed(row.value)) {
      const std::vector<std::string_view> choices = absl::StrSplit(row.value, '|');
      if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("must be one of ", absl::StrJoin(choices, ", ")));
      }
    }
    values.*std::get<std::string FlagValues::*>(row.place) = std::string(text);
  }
  return absl::OkStatus();
}

// ", did you mean -iface?", or nothing when no flag is near.
std::string Suggestion(std::string_view name) {
  const FlagRow* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const FlagRow& row : FlagTable()) {
    // Case is ignored: KubeSubnetMgr means kube-subnet-mgr.
    const std::size_t distance = EditDistance(absl::AsciiStrToLower(name), row.name);
    if (distance < least) {
      least = distance;
      nearest = &row;
    }
  }
  return nearest ? absl::StrCat("; did you mean --", nearest->name, "?") : "";
}

// One pass over the words, after flag.FlagSet.parseOne.
class Parser {
 public:
  Parser(std::span<const std::string> words, CommandLine& out) : words_(words), out_(out) {}

  // The names that were given.
  absl::StatusOr<std::set<std::string_view>> Run() {
    while (next_ < words_.size()) {
      const std::string_view word = words_[next_];
      if (word.size() < 2 || word[0] != '-') break;
      ++next_;
      if (word == "--") {
        after_terminator_ = true;
        break;
      }
      const absl::Status status = One(word);
      if (!status.ok()) return status;
      if (out_.help) return given_;
    }
    ReportIgnored();
    return given_;
  }

 private:
  absl::Status One(std::string_view word) {
    std::string_view name = word.substr(word[1] == '-' ? 2 : 1);
    if (name.empty() || name[0] == '-' || name[0] == '=')
      return absl::InvalidArgumentError(absl::StrCat("bad flag syntax: ", Shown(word)));
    std::optional<std::string_view> value;
    if (const std::size_t equals = name.find('='); equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const FlagRow* row = FindFlag(name);
    if (!row) {
      if (name == "help" || name == "h") {
        out_.help = true;
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(
          absl::StrCat("flag provided but not defined: -", name, Suggestion(name)));
    }
    if (!value && IsBool(*row)) value = "true";
    if (!value && next_ < words_.size()) value = words_[next_++];
    if (!value) return absl::InvalidArgumentError(absl::StrCat("flag needs an argument: -", name));
    const absl::Status set = Set(*row, *value, out_.values);
    if (!set.ok()) {
      const std::string_view kind = IsBool(*row) ? "invalid boolean value " : "invalid value ";
      const std::string_view link = IsBool(*row) ? " for -" : " for flag -";
      return absl::InvalidArgumentError(
          absl::StrCat(kind, Quoted(Shown(*value)), link, name, ": ", set.message()));
    }
    given_.insert(row->name);
    return absl::OkStatus();
  }

  void ReportIgnored() {
    if (next_ >= words_.size()) return;
    std::vector<std::string> ignored;
    bool secret = false;  // the previous word takes one
    for (const std::string& word : words_.subspan(next_)) {
      const std::string_view name = std::string_view(word).substr(0, word.find('='));
      ignored.push_back(Quoted(secret ? "..." : Shown(IsSecret(name) ? name : word)));
      secret = IsSecret(name) && name.size() == word.size();
    }
    out_.warnings.push_back(absl::StrCat(
        "IGNORED on the command line: ", absl::StrJoin(ignored, " "),
        ": parsing stops at the first word that is not a flag",
        after_terminator_
            ? " or at --"
            : "; a boolean takes its value after an equals sign only (--ip-masq=true)"));
  }

  std::span<const std::string> words_;
  CommandLine& out_;
  std::size_t next_ = 0;
  bool after_terminator_ = false;
  std::set<std::string_view> given_;
};

}  // namespace

std::string Shown(std::string_view word) {
  const std::size_t at = word.rfind('@');
  const std::string_view before = word.substr(0, std::min(at, word.size()));
  if (at == word.npos || before.find(':') == before.npos) return std::string(word);
  const std::size_t scheme = before.find("://"), equals = before.find('=');
  const std::size_t begin = scheme != before.npos   ? scheme + 3
                            : equals != before.npos ? equals + 1
                                                    : 0;
  return absl::StrCat(before.substr(0, begin), "...", word.substr(at));
}

std::string Describe(const FlagValues& given) {
  std::vector<std::string> words;
  for (const FlagRow& row : FlagTable()) {
    std::vector<std::string> values;
    if (const auto* list = std::get_if<std::vector<std::string> FlagValues::*>(&row.place))
      values = given.**list;
    else if (std::string text = TextOf(row, given); text != DefaultOf(row))
      values = {std::move(text)};
    for (const std::string& value : values)
      words.push_back(absl::StrCat("--", row.name, "=", IsSecret(row.name) ? "..." : Shown(value)));
  }
  return absl::StrJoin(words, " ");
}

std::string VariableOf(std::string_view flag) {
  std::string name = absl::StrCat("FLANNELD_", absl::AsciiStrToUpper(flag));
  std::replace(name.begin(), name.end(), '-', '_');
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

absl::StatusOr<CommandLine> ParseFlags(std::span<const std::string> words,
                                       const Environment& environment) {
  CommandLine out;
  absl::StatusOr<std::set<std::string_view>> given = Parser(words, out).Run();
  if (!given.ok()) return given.status();
  if (out.help || out.values.version)
    return out;  // upstream checks --version before the environment

  std::vector<std::string> without_effect;
  for (const FlagRow& row : FlagTable()) {
    bool set = given->contains(row.name);
    const std::optional<std::string> value = environment(VariableOf(row.name));
    if (!set && value && !value->empty() && row.name != "version") {
      const absl::Status status = Set(row, *value, out.values);
      set = status.ok();
      if (!set) {
        out.warnings.push_back(absl::StrCat("the variable ", VariableOf(row.name),
                                            " is ignored: invalid value ", Quoted(Shown(*value)),
                                            ": ", status.message()));
      }
    }
    if (set) out.values.given.push_back(row.name);
    if (set && row.group == FlagGroup::kCompatible)
      without_effect.push_back(absl::StrCat("--", row.name));
  }
  if (out.values.superframes == "auto") {
    out.warnings.emplace_back(
        "--superframes=auto means cut; whole, which bypasses rules of the host, is only taken by "
        "name");
  }
  for (const VariableRow& row : VariableTable()) {
    if (!row.without_effect) continue;
    const std::optional<std::string> value = environment(std::string(row.name));
    if (value && !value->empty()) without_effect.emplace_back(row.name);
  }
  std::sort(without_effect.begin(), without_effect.end());
  if (!without_effect.empty()) {
    out.warnings.push_back(absl::StrCat("accepted from upstream, without effect: ",
                                        absl::StrJoin(without_effect, ", ")));
  }
  return out;
}

}  // namespace weft::config
