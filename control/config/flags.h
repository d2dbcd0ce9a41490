// SPDX-License-Identifier: Apache-2.0
// The command line of flanneld: upstream's flags under the rules of Go's flag package, its
// environment, and our own flags.
//
// Where we differ from upstream: an error exits with 2 (there: 0), and words after the end of
// parsing are reported (there: lost in silence, with every flag among them).
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
  // For the log, one line each: flags without meaning here, variables that could not be read, words
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

// What differs from the defaults, as flags: "--iface=eth0 --ip-masq=true". Secrets are left out.
std::string Describe(const FlagValues& given);

// A word as it may be shown: without the user name and password that a URL can hold, with a scheme
// or without. A password may hold any character, so that all up to the last '@' may be it.
std::string Shown(std::string_view word);

// FLANNELD_KUBE_SUBNET_MGR for kube-subnet-mgr.
std::string VariableOf(std::string_view flag);

}  // namespace weft::config
