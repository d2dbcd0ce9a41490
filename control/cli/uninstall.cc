// SPDX-License-Identifier: Apache-2.0
// flannelctl uninstall
#include "control/cli/uninstall.h"

#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "control/cli/hns/hns_option.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/config/flags.h"
#include "control/file_io.h"
#include "control/own_files.h"
#include "control/service/service_verbs.h"

namespace weft::cli {
namespace {

constexpr std::string_view kUninstallVerb = "uninstall", kNone = "none";
const std::string kDefaultService = UninstallOptions().service_name;

ResetOptions ResetOf(const UninstallOptions& options, const config::FlagValues& flags,
                     const std::string& log_folder) {
  const auto first = [](const std::string& one, const std::string& other) {
    return one.empty() ? other : one;
  };
  ResetOptions reset;
  reset.all = true;
  reset.undo = options.undo;
  reset.hns = options.hns;
  reset.admin = first(options.admin, flags.admin);
  NodeFiles& files = reset.files;
  files.networks = options.files.networks;
  files.state_dir = first(options.files.state_dir, first(flags.state_dir, files.state_dir));
  files.subnet_file = first(options.files.subnet_file, control::OnSystemDrive(flags.subnet_file));
  files.source_vip_store =
      options.source_vip_store.value_or(control::OnSystemDrive(flags.source_vip_store));
  files.source_vip_file = first(options.files.source_vip_file, flags.source_vip_file);
  files.log_dir =
      control::WithoutEndSlash(first(options.files.log_dir, first(flags.log_dir, log_folder)));
  return reset;
}

}  // namespace

ExitCode RunUninstall(const UninstallOptions& options, const UninstallContext& context, Io& io) {
  OwnService& service = context.service;
  const std::string& name = options.service_name;
  const bool dry_run = options.undo.dry_run;
  const bool has_service = service.manager && !name.empty();
  std::ostringstream unused;
  std::optional<service::VerbContext> verbs;
  config::FlagValues flags;
  bool stops = false;
  if (has_service) {
    verbs.emplace(service::VerbContext{*service.manager, service.program, unused, context.clock,
                                       context.sleep});
    const absl::Status own = service::CheckOwnService(name, *verbs);
    stops = own.ok();
    if (!own.ok() && !absl::IsNotFound(own)) return Fail(io, kUninstallVerb, own);
    auto given = FlagsOfService(service, name);
    if (!given.ok()) return Fail(io, kUninstallVerb, given.status());
    if (*given) flags = **std::move(given);
  }
  ResetOptions reset = ResetOf(options, flags, service.log_folder);
  // What would be refused is refused before the service is stopped.
  ResetOptions judge = reset;
  judge.undo.dry_run = true;
  judge.stops_daemon = stops;
  std::ostringstream would;
  Io quiet{io.in, would, io.err};
  if (const ExitCode code = RunReset(judge, kUninstallVerb, quiet); code != ExitCode::kOk) {
    if (dry_run) io.out << would.str();
    return code == ExitCode::kFinding && !dry_run ? ExitCode::kUnusable : code;
  }
  if (dry_run) {
    if (stops) io.out << "would stop service " << name << "\n";
    io.out << would.str();
    if (stops) io.out << "would delete service " << name << "\n";
    return ExitCode::kOk;
  }
  if (stops) {
    if (const absl::Status stopped = service::Stop(name, *verbs); !stopped.ok())
      return Fail(io, kUninstallVerb, stopped);
    io.out << "stopped service " << name << "\n";
  }
  if (const ExitCode code = RunReset(std::move(reset), kUninstallVerb, io); code != ExitCode::kOk)
    return code;
  if (has_service) {
    const absl::Status removed = service::Uninstall(name, *verbs);
    if (removed.ok()) io.out << "deleted service " << name << " and its event source\n";
    if (!removed.ok() && !absl::IsNotFound(removed)) return Fail(io, kUninstallVerb, removed);
  }
  return ExitCode::kOk;
}

Action AddUninstall(CLI::App& parser) {
  auto options = std::make_shared<UninstallOptions>();
  parser.add_flag("--dry-run", options->undo.dry_run,
                  "Print what would be deleted, and delete nothing");
  parser.add_flag("--force", options->undo.force, "Also while pods run, which lose their network");
  parser.add_flag("--keep-vswitch", options->undo.keep_vswitch,
                  "Leave the base network, which keeps HNS's switch, so that the node is not cut "
                  "off for seconds");
  AddOption(parser, "--service-name", options->service_name, "NAME",
            "Windows: the service, as with `flanneld service install`; none: there is none")
      ->capture_default_str();
  AddOption(parser, "--state-dir", options->files.state_dir, "PATH",
            "The folder of flanneld's --state-dir");
  AddOption(parser, "--subnet-file", options->files.subnet_file, "PATH",
            "The file of its --subnet-file");
  AddOption(parser, "--source-vip-store", options->source_vip_store, "PATH",
            "The folder of its --source-vip-store; none: it stays");
  AddOption(parser, "--source-vip-file", options->files.source_vip_file, "PATH",
            "The file of its --source-vip-file");
  AddOption(parser, "--log-dir", options->files.log_dir, "PATH", "The folder of its --log-dir");
  AddOption(parser, "--network", options->files.networks, "NAME",
            "The network's name in host-local's folder; may be repeated; else flannel.4096, on "
            "Linux cbr0, and the names that the ledger has")
      ->allow_extra_args(false);
  AddHnsOption(parser, options->hns);
  AddOption(parser, "--admin", options->admin, "PATH",
            "Admin endpoint of a flanneld that may still run, if not this node's own; none: do not "
            "check");
  parser.footer(
      "Stops the service, does what `flannelctl reset --all` does, deletes the log\n"
      "files, then the service and its event source. Paths that are not given are those\n"
      "of the service's command line, else flanneld's defaults. Files that flanneld did\n"
      "not write stay and are named, and so do the programs themselves, the kubeconfig\n"
      "and net-conf. The Node's annotations: `flannelctl node leave`, before. A run\n"
      "that was ended is completed by the next one.\n\n"
      "Exit code: 0 done, or nothing to do, 1 something remains, 2 not started: pods or\n"
      "another flanneld run, HNS does not answer, the service is another program's.\n\n"
      "Examples:\n"
      "  flannelctl uninstall --dry-run\n"
      "  flannelctl uninstall");
  return [options](Io& io) {
    if (options->service_name == kNone) options->service_name.clear();
    if (options->source_vip_store == kNone) options->source_vip_store = "";
    absl::StatusOr<OwnService> service = OpenOwnService(/*to_change=*/!options->undo.dry_run);
    if (!service.ok()) return Fail(io, kUninstallVerb, service.status());
    const control::SystemClock clock;
    const ExitCode code = RunUninstall(
        *options,
        {*service, clock, [](control::Duration time) { std::this_thread::sleep_for(time); }}, io);
    // With a name of its own there may be another flanneld.
    const bool only = options->service_name.empty() || options->service_name == kDefaultService;
    if (code == ExitCode::kOk && only && !options->undo.dry_run) control::ForgetBootId();
    return code;
  };
}

}  // namespace weft::cli
