// SPDX-License-Identifier: Apache-2.0
#include "control/cli/own_service.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "control/config/flags.h"

namespace weft::cli {

absl::StatusOr<std::optional<config::FlagValues>> FlagsOfService(OwnService& service,
                                                                 const std::string& name) {
  if (!service.manager) return std::nullopt;
  const absl::StatusOr<service::Config> config = service.manager->Read(name);
  if (absl::IsNotFound(config.status())) return std::nullopt;
  if (!config.ok()) {
    return absl::Status(config.status().code(),
                        absl::StrCat("service ", name, ": ", config.status().message()));
  }
  std::vector<std::string> words = service.manager->Words(config->command);
  if (!words.empty()) words.erase(words.begin());
  const auto line = config::ParseFlags(words, [](const std::string&) { return std::nullopt; });
  return line.ok() ? std::optional(line->values) : std::nullopt;
}

}  // namespace weft::cli
