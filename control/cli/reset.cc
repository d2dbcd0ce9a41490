// SPDX-License-Identifier: Apache-2.0
// flannelctl reset
#include "control/cli/reset.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/admin/admin_client.h"
#include "control/cli/daemon_check.h"
#include "control/cli/hns/hns_option.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/cni/installed_config.h"
#include "control/config/options.h"
#include "control/file_io.h"
#include "control/journal/journal.h"
#include "control/ledger/undo.h"
#include "control/own_files.h"
#include "control/process_lock.h"
#include "control/state_version.h"
#include "hns/base_network.h"
#include "hns/object_ledger.h"

namespace weft::cli {
namespace {

constexpr std::string_view kMakesAgain = "create everything again";

// A flanneld with this folder holds its lock; one that could not take it answers at its endpoint.
absl::Status RefuseWhileADaemonRuns(const ResetOptions& options, const absl::Status& lock) {
  if (absl::IsFailedPrecondition(lock)) return DaemonRuns(lock.message(), kMakesAgain);
  if (!lock.ok()) return lock;
  if (options.admin == "none") return absl::OkStatus();
  const std::string endpoint = EndpointOf(options.admin);
  const auto status = admin::AdminClient(endpoint).ReadStatus();
  if (status.ok() && (options.all || status->hns || status->dataplane != "none"))
    return DaemonRuns(absl::StrCat("process ", status->pid, ", ", endpoint), kMakesAgain);
  return absl::IsUnavailable(status.status()) ? absl::OkStatus() : status.status();
}

// Also what cannot be inspected.
bool MayBeFolder(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(control::PathOf(path), error).type();
  return type == std::filesystem::file_type::directory || type == std::filesystem::file_type::none;
}

// A missing folder lists nothing; a foreign one is not trusted.
absl::Status CheckFolder(const ResetOptions& options) {
  const std::string& folder = options.files.state_dir;
  if (MayBeFolder(folder)) {
    const absl::Status own = control::CheckOwn(folder);
    if (own.ok()) return own;
    return absl::PermissionDeniedError(absl::StrCat(
        "the folder is not trusted: ", own.message(),
        "; give it to root or Administrators if it is right, or another one with --state-dir"));
  }
  if (options.all) return absl::OkStatus();  // an earlier run removed it
  const std::string former = control::FormerStateFolder();
  const bool moves =
      folder == control::DefaultStateFolder() && !former.empty() && control::MayExist(former);
  return absl::NotFoundError(
      absl::StrCat("there is no folder ", folder, ", so what flanneld created here is not known; ",
                   moves ? absl::StrCat("an earlier version kept it in ", former,
                                        ": start this version once, which takes it over")
                         : "if flanneld ran with another --state-dir, give that one"));
}

// The leases of a network that no longer exists must not come back at the next start.
void RemoveJournal(const ResetOptions& options, Io& io) {
  const std::string path = journal::Journal(options.files.state_dir).path();
  std::error_code error;
  if (!options.undo.dry_run && std::filesystem::remove(control::PathOf(path), error))
    io.out << "deleted the journal " << path << "\n";
  if (error)
    io.err << "flannelctl reset: the journal " << path << " cannot be deleted: " << error.message()
           << "; delete it\n";
}

// The file of `flannelctl cni install`, before subnet.env: no pod starts without it.
absl::Status RemoveCniConfig(const ResetOptions& options, Io& io) {
  const bool dry_run = options.undo.dry_run;
  const auto done = cni::RemoveInstalledConfig(options.files.state_dir, dry_run);
  if (!done.ok()) return done.status();
  for (const std::string& path : done->removed)
    io.out << (dry_run ? "would delete " : "deleted ") << path << "\n";
  for (const std::string& each : done->left) io.out << "left " << each << "\n";
  return absl::OkStatus();
}

// What a reset works on. A member that it does not need is null.
struct Places {
  std::shared_ptr<hns::Api> api;
  std::optional<hns::Client> client;
  std::unique_ptr<host::Host> host;
  std::unique_ptr<host::PacketFilter> filter;
};

absl::Status Open(const ledger::Ledger& ledger, const ResetOptions& options, Places& places) {
  // Without entries HNS is read for the endpoints that are left.
  if (ledger::NeedsHns(ledger) || (options.all && !options.undo.force && options.UsesHns())) {
    auto opened = OpenHns(options.hns);
    if (!opened.ok()) return opened.status();
    places.api = *std::move(opened);
    const auto version = places.client.emplace(*places.api).ReadVersion();
    if (!version.ok()) return version.status();
  }
  if (ledger::NeedsHost(ledger)) {
    auto opened = host::OpenHost();
    if (!opened.ok()) return opened.status();
    places.host = *std::move(opened);
  }
  if (ledger::NeedsFilter(ledger)) places.filter = host::OpenPacketFilter();
  return absl::OkStatus();
}

// The networks whose reservations in host-local's store go: the given one, else those that the
// ledger has or had.
std::vector<std::string> NetworksOf(const ResetOptions& options, const ledger::Ledger& ledger) {
  std::vector<std::string> names = options.files.networks;
  if (!names.empty()) return names;
  names.emplace_back(options.UsesHns() ? "flannel.4096" : "cbr0");
  for (const ledger::HnsObject& each : ledger.All<ledger::HnsObject>()) {
    if (each.kind == hns::Kind::kNetwork && each.name != hns::kBaseNetworkName &&
        std::ranges::find(names, each.name) == names.end())
      names.push_back(each.name);
  }
  return names;
}

// Local endpoints in networks of these names that the reset leaves: their addresses must stay
// reserved.
absl::StatusOr<std::vector<std::string>> EndpointsLeft(hns::Client& client,
                                                       const ledger::Ledger& ledger,
                                                       const std::vector<std::string>& names) {
  std::vector<std::string> left;
  for (const std::string& name : names) {
    std::vector<hns::Unread> unread;
    const auto networks = client.Networks(name, &unread);
    if (!networks.ok()) return networks.status();
    for (const hns::Network& network : *networks) {
      bool goes = false;
      for (const ledger::HnsObject& each : ledger.All<ledger::HnsObject>())
        goes = goes || (!each.adopted && each.id == network.id);
      if (goes) continue;  // Undo judges its pods
      std::vector<hns::Unread> broken;
      const auto endpoints = client.Endpoints(network.id, &broken);
      if (!endpoints.ok()) return endpoints.status();
      for (const hns::Endpoint& endpoint : *endpoints) {
        if (endpoint.is_remote()) continue;
        const std::string& shown = endpoint.name.empty() ? endpoint.id.ToString() : endpoint.name;
        left.push_back(absl::StrCat(name, "/", shown));
      }
      for (const hns::Unread& each : broken)
        left.push_back(absl::StrCat(name, "/", each.id.ToString()));
    }
  }
  return left;
}

// Why host-local's folders must stay; empty: they may go.
absl::StatusOr<std::string> AddressesInUse(const ResetOptions& options, Places& places,
                                           const ledger::Ledger& ledger) {
  absl::StatusOr<std::vector<std::string>> used = ContainersIn(options.files);
  if (places.client) used = EndpointsLeft(*places.client, ledger, options.files.networks);
  if (!used.ok()) return used.status();
  if (used->empty()) return std::string();
  constexpr std::size_t kNamed = 5;
  const std::size_t count = used->size();
  used->resize(std::min(count, kNamed));
  const std::string_view more = places.client ? "s" : "es";
  return absl::StrCat(count, places.client ? " endpoint" : " address", count == 1 ? "" : more,
                      places.client ? " would be left: " : " of containers would be lost: ",
                      absl::StrJoin(*used, ", "), count > kNamed ? ", ..." : "",
                      "; remove their pods first, or give --force");
}

}  // namespace

ResetOptions::ResetOptions() {
  const config::PlainValues defaults;
  files.state_dir = control::DefaultStateFolder();
  files.subnet_file = control::OnSystemDrive(defaults.subnet_file);
  files.source_vip_store = control::OnSystemDrive(defaults.source_vip_store);
}

bool ResetOptions::UsesHns() const {
  return !hns.empty() || config::DefaultDataPlane() == config::DataPlane::kHns;
}

ExitCode RunReset(ResetOptions options, std::string_view verb, Io& io) {
  const bool dry_run = options.undo.dry_run;
  NodeFiles& files = options.files;
  files.state_dir = control::WithoutEndSlash(std::move(files.state_dir));
  if (const absl::Status status = CheckFolder(options); !status.ok()) return Fail(io, verb, status);
  std::optional<control::ProcessLock> lock;
  absl::Status locked;
  if (MayBeFolder(files.state_dir)) {
    auto taken = control::ProcessLock::TryTake(ledger::LedgerLockPath(files.state_dir));
    locked = taken.status();
    if (taken.ok()) lock.emplace(*std::move(taken));
  }
  const absl::Status alone =
      options.stops_daemon ? absl::OkStatus() : RefuseWhileADaemonRuns(options, locked);
  if (!alone.ok()) return Fail(io, verb, alone);
  ledger::Ledger ledger(files.state_dir);
  absl::Status loaded = ledger.Load();
  for (const char* const name : {"/journal.json", "/cni.json"})
    loaded.Update(control::CheckStateFile(absl::StrCat(files.state_dir, name)));
  if (!loaded.ok()) return Fail(io, verb, loaded);
  if (!options.all && ledger::ListsNothing(ledger)) {
    RemoveJournal(options, io);
    io.out << "nothing to do: the ledger " << ledger.path()
           << (control::MayExist(ledger.path()) ? " lists nothing that weft created\n"
                                                : " was never written\n");
    return ExitCode::kOk;
  }
  Places places;
  if (const absl::Status status = Open(ledger, options, places); !status.ok())
    return Fail(io, verb, status);
  hns::Client* const client = places.client ? &*places.client : nullptr;
  const ledger::UndoPlaces undo_places{client, places.host.get(), places.filter.get()};
  std::string refused;
  Deletions deletions;
  if (options.all) {
    files.networks = NetworksOf(options, ledger);
    if (!options.undo.force) {
      ledger::UndoOptions judge = options.undo;
      judge.dry_run = true;
      refused = ledger::Undo(undo_places, ledger, judge).refused;
      auto in_use = AddressesInUse(options, places, ledger);
      if (!in_use.ok()) return Fail(io, verb, in_use.status());
      if (refused.empty()) refused = *in_use;
    }
    if (!refused.empty() && !dry_run) return Fail(io, verb, absl::FailedPreconditionError(refused));
    // First, so that no pod starts on what is deleted next.
    if (const absl::Status removed = RemoveCniConfig(options, io); !removed.ok())
      return Fail(io, verb, removed);
    deletions = FindDeletions(files);
    if (!Delete(deletions, dry_run, verb, io)) return ExitCode::kFinding;
  }
  const ledger::Undone undone = ledger::Undo(undo_places, ledger, options.undo);
  if (!undone.refused.empty() && !dry_run)
    return Fail(io, verb, absl::FailedPreconditionError(undone.refused));
  if (!options.all) RemoveJournal(options, io);
  if (refused.empty()) refused = undone.refused;
  for (const std::string& line : undone.lines) io.out << line << "\n";
  for (const std::string& failure : undone.failed)
    io.err << "flannelctl " << verb << ": " << failure << "\n";
  if (!refused.empty())
    io.err << "flannelctl " << verb << ": it would be refused: " << refused << "\n";
  if (!undone.failed.empty()) {
    io.err << "flannelctl " << verb << ": these remain, also in the ledger; run it again\n";
    return ExitCode::kFinding;
  }
  if (options.all) {
    lock.reset();
    // What else there was to do was in its folder, with the lock.
    const Deletions state = FindStateDeletions(files);
    if (deletions.rows.empty() && state.rows.empty()) io.out << "nothing to do\n";
    if (!Delete(state, dry_run, verb, io)) return ExitCode::kFinding;
  }
  return refused.empty() ? ExitCode::kOk : ExitCode::kFinding;
}

void AddResetOptions(CLI::App& parser, ResetOptions& options) {
  parser.add_flag("--dry-run", options.undo.dry_run,
                  "Print what would be deleted, and delete nothing");
  parser.add_flag("--keep-vswitch", options.undo.keep_vswitch,
                  "Leave the base network, which keeps HNS's switch, so that the node is not cut "
                  "off for seconds");
  parser.add_flag("--force", options.undo.force, "Also while pods run, which lose their network");
  AddOption(parser, "--state-dir", options.files.state_dir, "PATH",
            "The folder of flanneld's --state-dir; else its default, /var/lib/weft, on Windows "
            "ProgramData\\weft on the system drive");
  AddHnsOption(parser, options.hns);
  AddOption(parser, "--admin", options.admin, "PATH",
            "Admin endpoint of a flanneld that may still run, if not this node's own; none: do not "
            "check");
}

void AddFileOptions(CLI::App& parser, ResetOptions& options, const std::string& with) {
  AddOption(parser, "--subnet-file", options.files.subnet_file, "PATH",
            with + "The file of flanneld's --subnet-file");
  AddOption(parser, "--source-vip-store", options.files.source_vip_store, "PATH",
            with + "host-local's folder, as flanneld's --source-vip-store; none: it stays");
  AddOption(parser, "--source-vip-file", options.files.source_vip_file, "PATH",
            with + "The file of flanneld's --source-vip-file; else none");
  AddOption(parser, "--network", options.files.networks, "NAME",
            with +
                "The network's name in host-local's folder; may be repeated; else "
                "flannel.4096, on Linux cbr0, and the names that the ledger has")
      ->allow_extra_args(false);
}

Action AddReset(CLI::App& parser) {
  auto options = std::make_shared<ResetOptions>();
  AddResetOptions(parser, *options);
  CLI::Option* const all = parser.add_flag(
      "--all", options->all,
      "Delete its files too: the CNI configuration of `cni install`, subnet.env, host-local's "
      "folder of the network with the source VIP, journal, ledger and their folder");
  AddFileOptions(parser, *options, "With --all: ");
  for (const char* each : {"--subnet-file", "--source-vip-store", "--source-vip-file", "--network"})
    parser.get_option(each)->needs(all);
  parser.footer(
      "Deletes what flanneld's ledger lists: networks and endpoints in HNS with their\n"
      "contents, host routes to peers, the firewall rule, and on Linux the rules for\n"
      "--ip-masq and --iptables-forward-rules. What existed before stays, and so do the\n"
      "Node's annotations (flannelctl node leave) and, without --all, subnet.env.\n\n"
      "--all is refused while a network that stays has an endpoint, on Linux while a\n"
      "container has an address in host-local's folder. Files that flanneld did not\n"
      "write stay and are named.\n\n"
      "Exit code: 0 done, or nothing to do, 1 something remains, or the dry run of a\n"
      "reset that would be refused, 2 not started: flanneld or pods run, HNS does not\n"
      "answer, there is no such --state-dir.\n\n"
      "Examples:\n"
      "  flannelctl reset --dry-run\n"
      "  flannelctl reset --keep-vswitch\n"
      "  flannelctl reset --all\n"
      "  flannelctl reset --hns=emulator:hns.sock --state-dir=state");
  return [options](Io& io) {
    if (options->files.source_vip_store == "none") options->files.source_vip_store.clear();
    return RunReset(*options, "reset", io);
  };
}

}  // namespace weft::cli
