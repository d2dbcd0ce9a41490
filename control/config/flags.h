// SPDX-License-Identifier: Apache-2.0
// The command line of flanneld: upstream's flags under the rules of Go's flag package, its
// environment, and our own flags.
//
// Where we differ from upstream: an error exits with 2 (there: 0), and words after the end of
// parsing are reported (there: ignored silently, flags included).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/config/flag_values.h"

namespace weft::config {

// The value of an environment variable, if it is set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

struct CommandLine {
  FlagValues values;
  bool help = false;
  // For the log, one line each: flags without effect here, variables with an invalid value, words
  // that were ignored.
  std::vector<std::string> warnings;
};

// `words` are the arguments after the program's name. `-h` and `--help` end the parsing, as an
// error would. Errors are InvalidArgument with Go's text, and the nearest flag's name after an
// unknown one.
absl::StatusOr<CommandLine> ParseFlags(std::span<const std::string> words,
                                       const Environment& environment);

// The text of --help: flags by subject, each with its default. 100 columns.
std::string Usage();
// Appends `text` as indented lines of at most `width` columns.
void AppendWrapped(std::string& out, std::string_view text, std::size_t width);

// What differs from the defaults, as flags: "--iface=eth0 --ip-masq=true". Secrets are left out.
std::string Describe(const FlagValues& given);

// A word for display: without the user name and password of a URL, which may lack its scheme. A
// password may contain any character, so everything up to the last '@' is removed.
std::string Shown(std::string_view word);

// FLANNELD_KUBE_SUBNET_MGR for kube-subnet-mgr.
std::string VariableOf(std::string_view flag);

}  // namespace weft::config
