// SPDX-License-Identifier: Apache-2.0
// flannelctl cni: the CNI configuration of a Windows node.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "control/cli/cni/node_facts.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/cni/containerd_folders.h"
#include "control/cni/installed_config.h"
#include "control/cni/plugin_config.h"
#include "control/cni/source_vip.h"
#include "control/file_io.h"
#include "control/net_conf.h"
#include "control/node/subnet_env.h"
#include "control/own_files.h"

namespace weft::cli {
namespace {

using std::chrono::steady_clock;

constexpr auto kPeriod = std::chrono::milliseconds(200);
constexpr std::string_view kFlannel = "flannel";

struct CniOptions : FactOptions {
  // What is chosen. Plugin and delegate: empty: as net-conf's Backend.Type.
  std::string plugin, delegate;
  bool loopback_dsr = false, encap_overhead = false;
  // Where it lies.
  std::string containerd_config = cni::DefaultsOfContainerd().config, conf_dir, bin_dir;
  std::string file_name = "10-flannel.conflist";
  std::string timeout = "60s", file;
  bool overwrite = false;
};

// ---- render, install

absl::StatusOr<cni::ConfigChoice> ChoiceOf(const CniOptions& options, control::BackendType type) {
  cni::ConfigChoice choice;
  choice.loopback_dsr = options.loopback_dsr;
  choice.encap_overhead = options.encap_overhead;
  choice.through_flannel = options.plugin == kFlannel;
  if (!choice.through_flannel && !options.delegate.empty())
    return absl::InvalidArgumentError("--delegate is for --plugin=flannel");
  const bool bridge = type == control::BackendType::kHostGw;
  choice.plugin = cni::PluginOf(choice.through_flannel ? options.delegate : options.plugin)
                      .value_or(bridge ? cni::Plugin::kWinBridge : cni::Plugin::kWinOverlay);
  if (bridge != (choice.plugin == cni::Plugin::kWinBridge)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "net-conf's Backend.Type is ", Name(type), ", and ", Name(choice.plugin), " is for ",
        bridge ? "vxlan" : "host-gw", "; leave the plugin out, and the right one is taken"));
  }
  return choice;
}

// What is wrong with the facts is printed, and sets `code`.
absl::StatusOr<std::string> Render(const CniOptions& options, std::string_view verb, Io& io,
                                   ExitCode& code) {
  const auto conf = control::LoadNetConf(options.net_conf, control::kHnsDefaults);
  const auto choice = ChoiceOf(options, conf.ok() ? conf->type : control::BackendType::kVxlan);
  if (!choice.ok()) return choice.status();
  const Known known =
      ReadKnown(options, conf, choice->plugin != cni::Plugin::kWinOverlay, options.loopback_dsr);
  if (choice->plugin == cni::Plugin::kSdnOverlay &&
      known.facts.store != control::OnSystemDrive(std::string(cni::kDefaultStore)))
    return absl::InvalidArgumentError(absl::StrCat(
        "sdnoverlay makes host-local use ", control::OnSystemDrive(std::string(cni::kDefaultStore)),
        ", and the source VIP is reserved in ", known.facts.store,
        "; run flanneld and this without --source-vip-store, or take win-overlay"));
  if (!known.uncompared_services.empty())
    io.err << "flannelctl " << verb << ": not compared: " << known.uncompared_services << "\n";
  if (!known.wrong_services.empty()) {
    io.err << "flannelctl " << verb << ": " << known.wrong_services << "\n";
    code = ExitCode::kFinding;
  }
  auto text = cni::ConfigText(*choice, known.facts);
  if (text.ok() || known.unknown.empty()) return text;
  return absl::Status(text.status().code(), absl::StrCat(text.status().message(), ": ",
                                                         absl::StrJoin(known.unknown, ". ")));
}

ExitCode RunRender(CniOptions options, Io& io) {
  CompleteFromService(options);
  ExitCode code = ExitCode::kOk;
  const auto text = Render(options, "cni render", io, code);
  if (!text.ok()) return Fail(io, "cni render", text.status());
  io.out << *text;
  return code;
}

absl::StatusOr<cni::ContainerdFolders> Folders(const CniOptions& options) {
  cni::ContainerdFolders folders;
  if (options.conf_dir.empty() || options.bin_dir.empty()) {
    auto read = cni::ReadContainerdFolders(options.containerd_config);
    if (!read.ok()) return read;
    folders = *std::move(read);
  }
  if (!options.conf_dir.empty()) folders.conf_dir = options.conf_dir;
  if (!options.bin_dir.empty()) folders.bin_dir = options.bin_dir;
  return folders;
}

// What keeps containerd from calling the plugins of `text`, the file `name`: a sentence each.
absl::StatusOr<std::vector<std::string>> Obstacles(const cni::ContainerdFolders& folders,
                                                   const std::string& name,
                                                   const std::string& text) {
  std::vector<std::string> found;
  const auto names = cni::ConfigsIn(folders.conf_dir);
  if (!names.ok()) return names.status();
  if (!names->empty() && names->front() != name && std::ranges::count(*names, name) != 0)
    found.push_back(absl::StrCat("containerd takes ", names->front(), ", not ", name,
                                 ": the first by name in ", folders.conf_dir,
                                 "; remove that one, or give this one an earlier name"));
  const cni::ContainerdDefaults here = cni::DefaultsOfContainerd();
  for (const std::string& plugin : cni::PluginsOf(text)) {
    const std::string path = absl::StrCat(folders.bin_dir, here.separator, plugin, here.end);
    if (!control::MayExist(path))
      found.push_back(absl::StrCat("the plugin ", path,
                                   " is missing: no pod can start; copy it there, or give "
                                   "containerd's bin_dir with --bin-dir"));
  }
  return found;
}

ExitCode RunInstall(CniOptions options, Io& io) {
  CompleteFromService(options);
  constexpr std::string_view kVerb = "cni install";
  absl::Duration timeout;
  if (!absl::ParseDuration(options.timeout, &timeout) || timeout < absl::ZeroDuration() ||
      timeout > absl::Hours(24)) {
    return Fail(io, kVerb,
                absl::InvalidArgumentError(absl::StrCat("--timeout=", options.timeout,
                                                        " is no duration up to 24h; write 60s")));
  }
  const auto folders = Folders(options);
  if (!folders.ok()) return Fail(io, kVerb, folders.status());
  const auto deadline = steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  const bool needs_subnet = options.plugin != kFlannel;  // which reads it for each pod
  while (needs_subnet && !node::ReadOwnSubnet(options.subnet_file).ok() &&
         steady_clock::now() < deadline)
    std::this_thread::sleep_for(kPeriod);
  ExitCode code = ExitCode::kOk;
  const auto text = Render(options, kVerb, io, code);
  if (!text.ok()) return Fail(io, kVerb, text.status());
  const std::string path =
      (control::PathOf(folders->conf_dir) / control::PathOf(options.file_name)).string();
  const auto installed = cni::InstallConfig(
      {control::WithoutEndSlash(options.state_dir), path, *text, options.overwrite});
  if (!installed.ok()) return Fail(io, kVerb, installed.status());
  io.out << (installed->written   ? "wrote "
             : installed->differs ? "left with another content: "
                                  : "unchanged: ")
         << path << "\n";
  for (const std::string& each : installed->removed)
    io.out << "removed " << each << ", which an earlier run wrote\n";
  for (const std::string& each : installed->left)
    io.err << "flannelctl cni install: " << each << "\n";
  if (!folders->unread.empty())
    io.err << "flannelctl cni install: not looked at: " << folders->unread << "\n";
  const auto obstacles = Obstacles(*folders, options.file_name, *text);
  if (!obstacles.ok()) return Fail(io, kVerb, obstacles.status());
  for (const std::string& each : *obstacles) io.err << "flannelctl cni install: " << each << "\n";
  return obstacles->empty() && !installed->differs ? code : ExitCode::kFinding;
}

// ---- validate, explain

struct Read {
  std::string path, name, text;
  std::string next;  // what containerd takes without it
  cni::ContainerdFolders folders;
};

// The file that was named, else the one that containerd takes.
absl::StatusOr<Read> ReadConfig(const CniOptions& options) {
  Read read;
  auto folders = Folders(options);
  if (!folders.ok()) return folders.status();
  read.folders = *std::move(folders);
  read.path = options.file;
  if (read.path.empty()) {
    const auto names = cni::ConfigsIn(read.folders.conf_dir);
    if (!names.ok()) return names.status();
    if (names->empty())
      return absl::NotFoundError(absl::StrCat(
          read.folders.conf_dir, " has no CNI configuration",
          read.folders.unread.empty()
              ? ": containerd starts no pods; write one with \"flannelctl cni install\", or give "
                "containerd's conf_dir with --conf-dir"
              : absl::StrCat(", but not looked at: ", read.folders.unread)));
    read.path = (control::PathOf(read.folders.conf_dir) / control::PathOf(names->front())).string();
    if (names->size() > 1) read.next = (*names)[1];
  }
  const auto path = control::PathOf(read.path);
  std::error_code error;
  if (std::filesystem::equivalent(path.parent_path(), control::PathOf(read.folders.conf_dir),
                                  error))
    read.name = path.filename().string();
  auto text = control::ReadFileText(read.path, cni::kMostConfigText);
  if (!text.ok()) return text.status();
  read.text = *std::move(text);
  return read;
}

ExitCode RunCheck(CniOptions options, bool explain, Io& io) {
  CompleteFromService(options);
  const std::string verb = explain ? "cni explain" : "cni validate";
  const auto read = ReadConfig(options);
  if (!read.ok()) return Fail(io, verb, read.status());
  const Known known =
      ReadKnown(options, control::LoadNetConf(options.net_conf, control::kHnsDefaults),
                /*needs_address=*/true, /*needs_dsr=*/true);
  const auto remarks =
      cni::ExplainConfig(read->text, known.facts, control::PathOf(read->path).filename().string());
  if (!remarks.ok())
    return Fail(
        io, verb,
        absl::InvalidArgumentError(absl::StrCat(read->path, ": ", remarks.status().message())));
  std::vector<std::string> findings, skipped;
  if (const std::string& unread = read->folders.unread; !unread.empty()) {
    skipped.push_back(unread);
    io.err << "flannelctl " << verb << ": not looked at: " << unread << "\n";
  }
  if (explain) io.out << read->path << "\n";
  if (!known.wrong_services.empty()) {
    findings.push_back(known.wrong_services);
    if (explain) io.out << "  wrong: " << known.wrong_services << "\n";
  }
  for (const cni::Remark& each : *remarks) {
    if (!each.finding.empty()) findings.push_back(absl::StrCat(each.member, ": ", each.finding));
    if (each.skipped) skipped.push_back(absl::StrCat(each.member, " ", each.value));
    if (!explain) continue;
    io.out << "  " << each.member << " = " << each.value << "\n";
    if (!each.meaning.empty()) io.out << "      " << each.meaning << "\n";
    if (!each.finding.empty()) io.out << "      wrong: " << each.finding << "\n";
  }
  auto obstacles = Obstacles(read->folders, read->name, read->text);
  if (!obstacles.ok()) return Fail(io, verb, obstacles.status());
  if (!read->next.empty() && !remarks->front().finding.empty())  // it is another network's
    obstacles->push_back(absl::StrCat("containerd takes it, the first by name, and not ",
                                      read->next, "; remove it, or give that one an earlier name"));
  if (!explain)
    for (const std::string& each : findings) io.out << read->path << ": " << each << "\n";
  for (const std::string& each : *obstacles) io.out << read->path << ": " << each << "\n";
  for (const std::string& each : known.unknown)
    io.err << "flannelctl " << verb << ": not compared: " << each << "\n";
  if (!known.uncompared_services.empty())
    io.err << "flannelctl " << verb << ": not compared: " << known.uncompared_services << "\n";
  const bool good = findings.empty() && obstacles->empty();
  if (good && !explain) {
    io.out << read->path
           << (skipped.empty() ? ": good"
                               : absl::StrCat(": no findings, but not looked at: ",
                                              absl::StrJoin(skipped, ", ")))
           << "\n";
  }
  return good ? ExitCode::kOk : ExitCode::kFinding;
}

// ---- the options

void AddChoiceOptions(CLI::App& parser, CniOptions& options) {
  AddOption(parser, "--plugin", options.plugin, "NAME",
            "win-overlay, sdnoverlay, win-bridge or flannel; else win-overlay, with host-gw "
            "win-bridge")
      ->check(CLI::IsMember({"win-overlay", "sdnoverlay", "win-bridge", "flannel"}));
  AddOption(parser, "--delegate", options.delegate, "NAME",
            "With --plugin=flannel: the plugin that it calls; else as without --plugin")
      ->check(CLI::IsMember({"win-overlay", "sdnoverlay", "win-bridge"}));
  parser.add_flag("--loopback-dsr", options.loopback_dsr,
                  "A pod reaches itself by its own service; HNS 9.3 to 9.x, or 10.2 and later");
  parser.add_flag("--encap-overhead", options.encap_overhead,
                  "Have HNS lower the MTU of pods by 50 (unproven on real Windows)");
}

void AddFolderOptions(CLI::App& parser, CniOptions& options) {
  AddOption(parser, "--containerd-config", options.containerd_config, "PATH",
            "containerd's config.toml, which names both folders");
  AddOption(parser, "--conf-dir", options.conf_dir, "PATH",
            "containerd's conf_dir, where the configuration lies");
  AddOption(parser, "--bin-dir", options.bin_dir, "PATH",
            "containerd's bin_dir, where the plugins lie");
}

Action AddRender(CLI::App& parser) {
  auto options = std::make_shared<CniOptions>();
  AddChoiceOptions(parser, *options);
  AddFactOptions(parser, *options);
  parser.footer(
      "Exit code: 0 printed, 1 printed, but the service CIDR is not the cluster's, 2\n"
      "something is not known, or wrong.\n\n"
      "Examples:\n"
      "  flannelctl cni render --service-cidr=10.96.0.0/12\n"
      "  flannelctl cni render --plugin=flannel --service-cidr=10.96.0.0/12");
  return [options](Io& io) { return RunRender(*options, io); };
}

Action AddInstall(CLI::App& parser) {
  auto options = std::make_shared<CniOptions>();
  AddChoiceOptions(parser, *options);
  AddFolderOptions(parser, *options);
  AddOption(parser, "--file-name", options->file_name, "NAME",
            "The file's name; containerd takes the first")
      ->check([](const std::string& name) {
        return name.find_first_of("/\\:") == std::string::npos ? "" : "it is a path, not a name";
      })
      ->capture_default_str();
  parser.add_flag("--overwrite", options->overwrite,
                  "Replace a file of that name that this did not write, or that was changed");
  AddOption(parser, "--timeout", options->timeout, "DURATION",
            "How long to wait for subnet.env, as 60s; with --plugin=flannel it does not")
      ->capture_default_str();
  AddOption(parser, "--state-dir", options->state_dir, "PATH",
            "The folder of flanneld's --state-dir, where it is recorded what was written");
  AddFactOptions(parser, *options);
  parser.footer(
      "Writes the file at once or not at all, and not if it is there already; other\n"
      "configurations stay. `flannelctl uninstall` removes it while it is unchanged.\n\n"
      "Exit code: 0 done, 1 done, but containerd takes another configuration, a\n"
      "plugin is missing or the service CIDR is not the cluster's, 2 not done.\n\n"
      "Examples:\n"
      "  flannelctl cni install --service-cidr=10.96.0.0/12\n"
      "  flannelctl cni install --bin-dir=C:\\opt\\cni\\bin --conf-dir=C:\\etc\\cni\\net.d");
  return [options](Io& io) { return RunInstall(*options, io); };
}

Action AddCheck(CLI::App& parser, bool explain, const char* footer) {
  auto options = std::make_shared<CniOptions>();
  parser.add_option("FILE", options->file, "The configuration; else the one that containerd takes");
  AddFolderOptions(parser, *options);
  AddFactOptions(parser, *options);
  parser.footer(footer);
  return [options, explain](Io& io) { return RunCheck(*options, explain, io); };
}

Action AddValidate(CLI::App& parser) {
  return AddCheck(parser, /*explain=*/false,
                  "What is not known about this node is not compared; stderr names it. Other\n"
                  "programs' members are not looked at; the verdict names them.\n\n"
                  "Exit code: 0 no findings, 1 it has findings, 2 it cannot be read.\n\n"
                  "Examples:\n"
                  "  flannelctl cni validate --service-cidr=10.96.0.0/12\n"
                  "  flannelctl cni validate 10-flannel.conf --bin-dir=C:\\opt\\cni\\bin");
}

Action AddExplainConfig(CLI::App& parser) {
  return AddCheck(parser, /*explain=*/true,
                  "Exit code: 0 good, 1 it has findings, 2 it cannot be read.\n\n"
                  "Examples:\n"
                  "  flannelctl cni explain --service-cidr=10.96.0.0/12");
}

constexpr Verb kCniVerbs[] = {
    {"render", "Print the configuration for this node", AddRender},
    {"install", "Write it where containerd reads it", AddInstall},
    {"validate", "Check the one that containerd takes", AddValidate},
    {"explain", "What each member of it makes the programs do", AddExplainConfig},
};

}  // namespace

Action AddCni(CLI::App& parser) {
  parser.footer(
      "Examples:\n"
      "  flannelctl cni render --service-cidr=10.96.0.0/12\n"
      "  flannelctl cni install --service-cidr=10.96.0.0/12");
  return AddVerbs(parser, kCniVerbs);
}

}  // namespace weft::cli
