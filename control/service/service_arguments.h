// SPDX-License-Identifier: Apache-2.0
// What the flanneld of a service gets on its command line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/config/flags.h"

namespace weft::service {

// The folder of the log where no --log-dir is given: "C:\var\log\weft".
std::string DefaultLogFolder();

// `words`, and --log-dir if they name none. InvalidArgument: what flanneld itself would refuse or
// ignore, relative paths (a service starts in Windows' own folder), and secrets (any user of the
// machine can read the command line of a service).
absl::StatusOr<std::vector<std::string>> ServiceArguments(std::span<const std::string> words,
                                                          const config::Environment& environment);

}  // namespace weft::service
