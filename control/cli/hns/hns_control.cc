// SPDX-License-Identifier: Apache-2.0
// flannelctl hns control
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/cli/hns/hns_option.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/emulator/remote/remote_api.h"

namespace weft::cli {
namespace {

constexpr char kControlVerb[] = "hns control";

struct ControlOptions {
  std::string path, command;
  std::vector<std::string> fields;
};

ExitCode RunControl(const ControlOptions& options, Io& io) {
  namespace emulator = hns::emulator;
  absl::StatusOr<nlohmann::json> command = JsonFields(options.fields);
  if (!command.ok()) return Fail(io, kControlVerb, command.status());
  (*command)["command"] = options.command;
  const hns::Reply reply = emulator::RemoteApi(options.path).Control(command->dump());
  if (reply.ok()) {
    io.out << nlohmann::json::parse(reply.text).dump(2) << "\n";
    return ExitCode::kOk;
  }
  if (!reply.error_record.empty())
    return Fail(io, kControlVerb, absl::InvalidArgumentError(reply.error_record));
  return Fail(io, kControlVerb,
              absl::UnavailableError(absl::StrCat("no HNS emulator answers at ", options.path,
                                                  "; start one: flannelctl hns emulate --listen ",
                                                  options.path)));
}

}  // namespace

Action AddHnsControl(CLI::App& parser) {
  auto options = std::make_shared<ControlOptions>();
  AddOption(parser, "PATH", options->path, "PATH",
            "The emulator's socket or pipe, as given with --listen")
      ->required();
  AddOption(parser, "COMMAND", options->command, "COMMAND",
            "fault, clear-faults, stop, start, restart, take-name, release-name, set, calls, "
            "handles, hanging, dump, load; of its machine: host, load-host, reboot, add-adapter, "
            "remove-adapter, rename, unplug, plug, link, set-addresses, set-static-ip, put-route, "
            "remove-route, stop-firewall")
      ->required();
  AddOption(parser, "FIELDS", options->fields, "KEY=VALUE...", "The command's fields");
  parser.footer(
      "Examples:\n"
      "  flannelctl hns control hns.sock dump\n"
      "  flannelctl hns control hns.sock fault function=HcnModifyNetwork \\\n"
      "      code=0x803B000D count=2\n"
      "  flannelctl hns control hns.sock restart networks=lost\n"
      "  flannelctl hns control hns.sock rename adapter=Ethernet to=LAN\n"
      "  flannelctl hns control hns.sock set-addresses adapter=Ethernet \\\n"
      "      addresses=192.168.1.77/24\n"
      "  flannelctl hns control hns.sock put-route destination=10.8.0.0/16 \\\n"
      "      gateway=192.168.1.254 adapter=Ethernet\n"
      "  flannelctl hns control hns.sock set 'settings={\"latency_ms\":20}'");
  return [options](Io& io) { return RunControl(*options, io); };
}

}  // namespace weft::cli
