// SPDX-License-Identifier: Apache-2.0
// CLI11, and the options that several verbs have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace weft::cli {

// `type` is what the help calls the value: "PATH".
CLI::Option* AddOption(CLI::App& parser, const std::string& name, auto& value,
                       const std::string& type, const std::string& help) {
  return parser.add_option(name, value, help)->type_name(type);
}

// -o, --output; `output` has the default, one of `forms`.
void AddOutputOption(CLI::App& parser, std::string& output, const std::vector<std::string>& forms,
                     const std::string& text = "Form of the output");

// --admin, for a verb that requests something of a running flanneld.
CLI::Option* AddAdminOption(CLI::App& parser, std::string& admin);
// The endpoint that --admin names; this system's default where it is empty.
std::string EndpointOf(const std::string& admin);

// Of `flag`: more than zero and at most 24h; `example` is for the error.
absl::StatusOr<absl::Duration> DurationOf(std::string_view flag, const std::string& text,
                                          std::string_view example);

// A check for unsigned numbers, which CLI11 would wrap around.
inline std::string NotNegative(const std::string& text) {
  return text.starts_with('-') ? text + " is less than zero" : "";
}

}  // namespace weft::cli
