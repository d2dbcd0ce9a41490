// SPDX-License-Identifier: Apache-2.0
// The words after "flanneld service".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/service/service_manager.h"

namespace weft::service {

enum class Verb : std::uint8_t { kInstall, kUninstall, kStart, kStop, kStatus, kHelp };

struct Command {
  Verb verb = Verb::kHelp;
  std::string name = "flanneld";
  StartType start = StartType::kAuto;
  std::vector<std::string> arguments;  // of the service's flanneld
};

// InvalidArgument: an unknown verb or option, an invalid name. The words of the service's flanneld
// are only collected.
absl::StatusOr<Command> ParseCommand(std::span<const std::string> words);

// The text of "flanneld service --help".
std::string CommandUsage();

}  // namespace weft::service
