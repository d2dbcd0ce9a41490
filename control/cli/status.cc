// SPDX-License-Identifier: Apache-2.0
// flannelctl status
#include <memory>

#include "control/admin/admin_client.h"
#include "control/cli/json_to_yaml.h"
#include "control/cli/parser.h"
#include "control/cli/status_text.h"
#include "control/cli/verbs.h"
#include "nlohmann/json.hpp"

namespace weft::cli {
namespace {

struct StatusOptions {
  std::string admin;
  std::string output = "text";
  bool peers = false;
};

ExitCode RunStatus(const StatusOptions& options, Io& io) {
  const admin::AdminClient client(EndpointOf(options.admin));
  const absl::StatusOr<admin::Status> status = client.ReadStatus();
  if (!status.ok()) return Fail(io, "status", status.status());
  if (options.output == "json") {
    io.out << admin::ToJson(*status).dump(2) << "\n";
  } else if (options.output == "yaml") {
    io.out << ToYaml(admin::ToJson(*status));
  } else {
    io.out << StatusText(*status, options.peers);
  }
  return IsWell(*status) ? ExitCode::kOk : ExitCode::kFinding;
}

}  // namespace

Action AddStatus(CLI::App& parser) {
  auto options = std::make_shared<StatusOptions>();
  AddOutputOption(parser, options->output, {"text", "json", "yaml"});
  parser.add_flag(
      "--peers", options->peers,
      "With text: add each peer's counts and path MTU (json and yaml always have them)");
  AddAdminOption(parser, options->admin);
  parser.footer(
      "Exit code: 0 ready, nothing pending and every peer programmed, 1 degraded,\n"
      "2 flanneld does not answer.\n\n"
      "Examples:\n"
      "  flannelctl status\n"
      "  flannelctl status --peers\n"
      "  flannelctl status -o json | jq '.tunnels[].toPods.packets'");
  return [options](Io& io) { return RunStatus(*options, io); };
}

}  // namespace weft::cli
