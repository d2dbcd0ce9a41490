// SPDX-License-Identifier: Apache-2.0
// flannelctl reset
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/admin/admin_client.h"
#include "control/cli/hns_option.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/config/options.h"
#include "control/file_io.h"
#include "control/journal/journal.h"
#include "control/ledger/undo.h"
#include "control/own_files.h"
#include "control/process_lock.h"

namespace weft::cli {
namespace {

constexpr char kResetVerb[] = "reset";

struct ResetOptions {
  ledger::UndoOptions undo;
  std::string hns, admin;
  std::string state_dir = control::DefaultStateFolder();
};

absl::Status DaemonRuns(const std::string& how) {
  return absl::FailedPreconditionError(absl::StrCat(
      "flanneld runs (", how,
      ") and would create everything again: stop it first (its service, pod or process), then run "
      "this again"));
}

// A flanneld with this ledger holds its lock; one that has created nothing yet answers at its
// endpoint.
absl::Status RefuseWhileADaemonRuns(const ResetOptions& options, const absl::Status& lock) {
  if (absl::IsFailedPrecondition(lock)) return DaemonRuns(std::string(lock.message()));
  if (!lock.ok()) return lock;
  if (options.admin == "none") return absl::OkStatus();
  const std::string endpoint = EndpointOf(options.admin);
  const auto status = admin::AdminClient(endpoint).ReadStatus();
  if (status.ok() && (status->hns || status->dataplane != "none"))
    return DaemonRuns(absl::StrCat("process ", status->pid, ", ", endpoint));
  return absl::IsUnavailable(status.status()) ? absl::OkStatus() : status.status();
}

// A missing folder lists nothing; a foreign one is not trusted.
absl::Status CheckFolder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(control::PathOf(folder), error)) {
    const absl::Status own = control::CheckOwn(folder);
    if (own.ok()) return own;
    return absl::PermissionDeniedError(absl::StrCat(
        "the folder is not trusted: ", own.message(),
        "; give it to root or Administrators if it is right, or another one with --state-dir"));
  }
  const std::string former = control::FormerStateFolder();
  const bool moves = folder == control::DefaultStateFolder() && !former.empty() &&
                     std::filesystem::exists(control::PathOf(former), error);
  return absl::NotFoundError(
      absl::StrCat("there is no folder ", folder, ", so what flanneld created here is not known; ",
                   moves ? absl::StrCat("an earlier version kept it in ", former,
                                        ": start this version once, which takes it over")
                         : "if flanneld ran with another --state-dir, give that one"));
}

// The leases of a network that no longer exists must not come back at the next start.
void RemoveJournal(const ResetOptions& options, Io& io) {
  const journal::Journal journal(options.state_dir);
  std::error_code error;
  if (options.undo.dry_run || !std::filesystem::remove(control::PathOf(journal.path()), error))
    return;
  io.out << "deleted the journal " << journal.path() << "\n";
}

ExitCode RunReset(ResetOptions options, Io& io) {
  options.state_dir = control::WithoutEndSlash(std::move(options.state_dir));
  if (const absl::Status status = CheckFolder(options.state_dir); !status.ok())
    return Fail(io, kResetVerb, status);
  const auto lock = control::ProcessLock::TryTake(ledger::LedgerLockPath(options.state_dir));
  if (const absl::Status status = RefuseWhileADaemonRuns(options, lock.status()); !status.ok())
    return Fail(io, kResetVerb, status);
  ledger::Ledger ledger(options.state_dir);
  if (const absl::Status status = ledger.Load(); !status.ok()) return Fail(io, kResetVerb, status);
  if (ledger::ListsNothing(ledger)) {
    RemoveJournal(options, io);
    std::error_code error;
    const bool exists = std::filesystem::exists(control::PathOf(ledger.path()), error);
    io.out << "nothing to do: the ledger " << ledger.path()
           << (exists ? " lists nothing that weft created\n" : " was never written\n");
    return ExitCode::kOk;
  }
  std::shared_ptr<hns::Api> api;
  std::optional<hns::Client> client;
  std::unique_ptr<host::Host> host;
  std::unique_ptr<host::PacketFilter> filter;
  ledger::UndoPlaces places;
  if (ledger::NeedsHns(ledger)) {
    auto opened = OpenHns(options.hns);
    if (!opened.ok()) return Fail(io, kResetVerb, opened.status());
    api = *std::move(opened);
    places.hns = &client.emplace(*api);
    if (const auto version = client->ReadVersion(); !version.ok())
      return Fail(io, kResetVerb, version.status());
  }
  if (ledger::NeedsHost(ledger)) {
    auto opened = host::OpenHost();
    if (!opened.ok()) return Fail(io, kResetVerb, opened.status());
    host = *std::move(opened);
    places.host = host.get();
  }
  if (ledger::NeedsFilter(ledger)) {
    filter = host::OpenPacketFilter();
    places.filter = filter.get();
  }
  const ledger::Undone undone = ledger::Undo(places, ledger, options.undo);
  if (!undone.refused.empty() && !options.undo.dry_run)
    return Fail(io, kResetVerb, absl::FailedPreconditionError(undone.refused));
  RemoveJournal(options, io);
  for (const std::string& line : undone.lines) io.out << line << "\n";
  for (const std::string& failure : undone.failed)
    io.err << "flannelctl reset: " << failure << "\n";
  if (!undone.refused.empty())
    io.err << "flannelctl reset: it would be refused: " << undone.refused << "\n";
  if (undone.failed.empty()) return undone.refused.empty() ? ExitCode::kOk : ExitCode::kFinding;
  io.err << "flannelctl reset: these remain, also in the ledger; run it again\n";
  return ExitCode::kFinding;
}

}  // namespace

Action AddReset(CLI::App& parser) {
  auto options = std::make_shared<ResetOptions>();
  parser.add_flag("--dry-run", options->undo.dry_run,
                  "Print what would be deleted, and delete nothing");
  parser.add_flag("--keep-vswitch", options->undo.keep_vswitch,
                  "Leave the base network, which keeps HNS's switch, so that the node is not cut "
                  "off for seconds");
  parser.add_flag("--force", options->undo.force, "Also while pods run, which lose their network");
  parser
      .add_option("--state-dir", options->state_dir,
                  "The folder of flanneld's --state-dir; else its default, "
                  "/var/lib/weft, on Windows ProgramData\\weft on the system drive")
      ->type_name("PATH");
  AddHnsOption(parser, options->hns);
  parser
      .add_option("--admin", options->admin,
                  "Admin endpoint of a flanneld that may still run, if not this node's own; none: "
                  "do not check")
      ->type_name("PATH");
  parser.footer(
      "Deletes what flanneld's ledger lists: networks and endpoints in HNS with their\n"
      "contents, host routes to peers, the firewall rule, and on Linux the rules for\n"
      "--ip-masq and --iptables-forward-rules. What existed before stays, and so do\n"
      "subnet.env and the Node's annotations.\n\n"
      "Exit code: 0 done, or nothing to do, 1 something remains, or the dry run of a\n"
      "reset that would be refused, 2 not started: flanneld or pods run, HNS does not\n"
      "answer, there is no such --state-dir.\n\n"
      "Examples:\n"
      "  flannelctl reset --dry-run\n"
      "  flannelctl reset --keep-vswitch\n"
      "  flannelctl reset --hns=emulator:hns.sock --state-dir=state");
  return [options](Io& io) { return RunReset(*options, io); };
}

}  // namespace weft::cli
