// SPDX-License-Identifier: Apache-2.0
// flannelctl reset
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "control/admin/admin_client.h"
#include "control/admin/endpoint.h"
#include "control/cli/hns_option.h"
#include "control/cli/host_option.h"
#include "control/cli/undo.h"
#include "control/cli/verbs.h"
#include "control/emulator/open_host.h"
#include "control/file_io.h"
#include "control/process_lock.h"

namespace weft::cli {
namespace {

constexpr char kVerb[] = "reset";

struct Options {
  UndoOptions undo;
  std::string hns, host, admin, state_dir = "/var/lib/weft";
};

absl::Status DaemonRuns(const std::string& how) {
  return absl::FailedPreconditionError(absl::StrCat(
      "flanneld runs (", how,
      ") and would make everything anew: stop it first (its service, pod or process), then run "
      "this again"));
}

// Of this ledger by its lock; one that has made nothing yet by its answer.
absl::Status RefuseWhileADaemonRuns(const Options& options, const absl::Status& lock) {
  if (absl::IsFailedPrecondition(lock)) return DaemonRuns(std::string(lock.message()));
  if (!lock.ok()) return lock;
  if (options.admin == "none") return absl::OkStatus();
  const std::string endpoint =
      options.admin.empty() ? std::string(admin::DefaultEndpoint()) : options.admin;
  const auto status = admin::AdminClient(endpoint).ReadStatus();
  if (status.ok() && (status->hns || status->dataplane == "hns" || status->dataplane == "routes"))
    return DaemonRuns(absl::StrCat("process ", status->pid, ", ", endpoint));
  return absl::IsUnavailable(status.status()) ? absl::OkStatus() : status.status();
}

ExitCode Run(const Options& options, Io& io) {
  const std::filesystem::path folder = control::PathOf(options.state_dir);
  std::error_code error;
  absl::Status locked;  // where there is no folder, nobody has it
  std::optional<control::ProcessLock> lock;
  if (std::filesystem::is_directory(folder, error)) {
    auto taken = control::ProcessLock::TryTake(control::LedgerLockPath(options.state_dir));
    locked = taken.status();
    if (taken.ok()) lock.emplace(*std::move(taken));
  }
  if (const absl::Status status = RefuseWhileADaemonRuns(options, locked); !status.ok())
    return Fail(io, kVerb, status);
  control::Ledger ledger(options.state_dir);
  if (const absl::Status status = ledger.Load(); !status.ok()) return Fail(io, kVerb, status);
  if (ListsNothing(ledger)) {
    io.out << "nothing to do: the ledger " << ledger.path() << " lists nothing that weft made\n";
    return ExitCode::kOk;
  }
  std::shared_ptr<hns::Api> api;
  std::optional<hns::Client> client;
  std::unique_ptr<host::Host> host;
  std::unique_ptr<host::PacketFilter> filter;
  UndoPlaces places;
  if (NeedsHns(ledger)) {
    auto opened = OpenHns(options.hns);
    if (!opened.ok()) return Fail(io, kVerb, opened.status());
    api = *std::move(opened);
    places.hns = &client.emplace(*api);
    if (const auto version = client->ReadVersion(); !version.ok())
      return Fail(io, kVerb, version.status());
  }
  if (NeedsHost(ledger)) {
    auto opened = emulator::OpenHost(options.host);
    if (!opened.ok()) return Fail(io, kVerb, opened.status());
    host = *std::move(opened);
    places.host = host.get();
  }
  if (NeedsFilter(ledger)) {
    filter = host::OpenPacketFilter();
    places.filter = filter.get();
  }
  const Undone undone = Undo(places, ledger, options.undo);
  for (const std::string& line : undone.lines) io.out << line << "\n";
  for (const std::string& failure : undone.failed)
    io.err << "flannelctl reset: " << failure << "\n";
  if (undone.failed.empty()) return ExitCode::kOk;
  io.err << "flannelctl reset: these still stand and stay in the ledger; run it again\n";
  return ExitCode::kFinding;
}

}  // namespace

Action AddReset(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser.add_flag("--dry-run", options->undo.dry_run,
                  "Say what would be deleted, and delete nothing");
  parser.add_flag("--keep-vswitch", options->undo.keep_vswitch,
                  "Leave the base network, which keeps HNS's switch, so that the node is not cut "
                  "off for seconds");
  parser
      .add_option("--state-dir", options->state_dir,
                  "The folder that flanneld was given with --state-dir")
      ->type_name("PATH")
      ->capture_default_str();
  AddHnsOption(parser, options->hns);
  AddHostOption(parser, options->host);
  parser
      .add_option("--admin", options->admin,
                  "Where a flanneld that still runs would answer, if not at this node's own "
                  "endpoint; none: do not ask")
      ->type_name("PATH");
  parser.footer(
      "Deleted is what flanneld's ledger says it made: networks and endpoints in HNS,\n"
      "with what lives in them, host routes to peers, the firewall's rule, and on\n"
      "Linux the rules for --ip-masq and --iptables-forward-rules. What was there\n"
      "before is left. subnet.env and the Node's annotations stay.\n\n"
      "Exit code: 0 done, or nothing to do, 1 something still stands, 2 not begun:\n"
      "flanneld runs, HNS does not answer.\n\n"
      "Examples:\n"
      "  flannelctl reset --dry-run\n"
      "  flannelctl reset --keep-vswitch\n"
      "  flannelctl reset --hns=emulator:hns.json --state-dir=state");
  return [options](Io& io) { return Run(*options, io); };
}

}  // namespace weft::cli
