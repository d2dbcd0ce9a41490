// SPDX-License-Identifier: Apache-2.0
#include "control/cli/parser.h"

#include "absl/strings/str_cat.h"
#include "control/admin/endpoint.h"

namespace weft::cli {

void AddOutputOption(CLI::App& parser, std::string& output, const std::vector<std::string>& forms,
                     const std::string& text) {
  AddOption(parser, "-o,--output", output, "FORM", text)
      ->capture_default_str()
      ->check(CLI::IsMember(forms));
}

CLI::Option* AddAdminOption(CLI::App& parser, std::string& admin) {
  return AddOption(parser, "--admin", admin, "PATH",
                   "Admin endpoint of flanneld, if not this node's own: a socket's path, on "
                   "Windows a pipe's name");
}

std::string EndpointOf(const std::string& admin) {
  return admin.empty() ? std::string(admin::DefaultEndpoint()) : admin;
}

absl::StatusOr<absl::Duration> DurationOf(std::string_view flag, const std::string& text,
                                          std::string_view example) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration() &&
      duration <= absl::Hours(24))
    return duration;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, "=", text, " is not a duration of at most 24h; write ", example));
}

}  // namespace weft::cli
