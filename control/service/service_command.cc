// SPDX-License-Identifier: Apache-2.0
#include "control/service/service_command.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::service {
namespace {

constexpr char kUsage[] =
    R"(usage: flanneld service install [--service-name=NAME] [--start=auto|delayed|manual] [FLAG...]
       flanneld service uninstall|start|stop|status [--service-name=NAME]

Runs flanneld as a service of Windows.

install    makes the service, or changes it and prints what differed; every other FLAG is the
           service's own, with --log-dir=C:\var\log\weft unless given (flanneld --help). Paths
           must be whole: a service starts in C:\Windows\System32
uninstall  stops it and removes it and its event source; what flanneld made in HNS and on the
           host stays, for flannelctl reset
start      starts it and waits until it runs, not until the network is ready
stop       stops it and waits for its end; pods stay connected
status     prints its state and its settings

  --service-name=NAME   (default flanneld)
  --start=auto|delayed|manual
                        when it starts: at boot, two minutes later, or on request only (default
                        auto)

Exit status: 0 done, or with status: it runs; 1 failed, or it does not run; 2 wrong words.
)";

constexpr std::size_t kLongestName = 80;

std::optional<Verb> VerbOf(std::string_view word) {
  if (word == "install") return Verb::kInstall;
  if (word == "uninstall") return Verb::kUninstall;
  if (word == "start") return Verb::kStart;
  if (word == "stop") return Verb::kStop;
  if (word == "status") return Verb::kStatus;
  if (word == "help" || word == "--help" || word == "-help" || word == "-h") return Verb::kHelp;
  return std::nullopt;
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
                  c == '.';
         });
}

// The value of "--FLAG=VALUE", or of "--FLAG" and the word after it; empty: another flag.
struct Value {
  bool is_flag = false;
  std::optional<std::string> text{};
};
Value ValueOf(std::string_view flag, std::span<const std::string> words, std::size_t& at) {
  std::string_view word = words[at];
  if (!word.starts_with('-')) return {};
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  if (!word.starts_with(flag)) return {};
  word.remove_prefix(flag.size());
  if (word.starts_with('=')) return {true, std::string(word.substr(1))};
  if (!word.empty()) return {};
  if (at + 1 == words.size()) return {true};
  return {true, words[++at]};
}

absl::Status SetStart(const std::optional<std::string>& value, StartType& start) {
  if (value == "auto")
    start = StartType::kAuto;
  else if (value == "delayed")
    start = StartType::kDelayed;
  else if (value == "manual")
    start = StartType::kManual;
  else
    return absl::InvalidArgumentError(
        absl::StrCat("--start=", value.value_or(""), ": must be one of auto, delayed, manual"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Command> ParseCommand(std::span<const std::string> words) {
  Command command;
  if (words.empty()) return command;
  const std::optional<Verb> verb = VerbOf(words[0]);
  if (!verb)
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown verb ", Quoted(words[0]), "; one of install, uninstall, start, stop, status"));
  command.verb = *verb;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--help" || words[i] == "-h" || words[i] == "-help") {
      command.verb = Verb::kHelp;
    } else if (const Value name = ValueOf("service-name", words, i); name.is_flag) {
      command.name = name.text.value_or("");
      if (!IsName(command.name))
        return absl::InvalidArgumentError(absl::StrCat("--service-name=", Quoted(command.name),
                                                       ": use 1 to ", kLongestName,
                                                       " of the characters a-z A-Z 0-9 . _ -"));
    } else if (*verb != Verb::kInstall) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(words[i]), " is no option of service ",
                                                     words[0], "; it has --service-name only"));
    } else if (const Value start = ValueOf("start", words, i); start.is_flag) {
      if (absl::Status status = SetStart(start.text, command.start); !status.ok()) return status;
    } else {
      command.arguments.push_back(words[i]);
    }
  }
  return command;
}

std::string CommandUsage() { return kUsage; }

}  // namespace weft::service
