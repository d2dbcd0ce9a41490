// SPDX-License-Identifier: Apache-2.0
// flannelctl cni: the CNI configuration of a Windows node.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "control/admin/admin_client.h"
#include "control/cli/hns_option.h"
#include "control/cli/own_service.h"
#include "control/cli/parser.h"
#include "control/cli/service_cidrs.h"
#include "control/cli/verbs.h"
#include "control/cni/containerd_folders.h"
#include "control/cni/installed_config.h"
#include "control/cni/plugin_config.h"
#include "control/cni/source_vip.h"
#include "control/command_line.h"
#include "control/config/flag_values.h"
#include "control/file_io.h"
#include "control/host/host.h"
#include "control/net_conf.h"
#include "control/node/subnet_env.h"
#include "control/own_files.h"
#include "hns/client.h"
#include "hns/version.h"

namespace weft::cli {
namespace {

using cni::NodeFacts;
using std::chrono::steady_clock;

constexpr auto kPeriod = std::chrono::milliseconds(200);
constexpr auto kCallLimit = std::chrono::seconds(20);
constexpr std::string_view kFlannel = "flannel";
constexpr std::size_t kMostSubnetEnv = 64 * 1024;  // bytes

struct CniOptions {
  // What the node has. Empty paths: those of flanneld's service, else its defaults.
  std::string subnet_file, net_conf, store;
  std::vector<std::string> services;
  std::string node_address, admin, hns;
  kube::ClusterFlags cluster;
  // What is chosen. Plugin and delegate: empty: as net-conf's Backend.Type.
  std::string plugin, delegate;
  bool loopback_dsr = false, encap_overhead = false;
  // Where it lies.
  std::string containerd_config = cni::DefaultsOfContainerd().config, conf_dir, bin_dir;
  std::string file_name = "10-flannel.conflist", state_dir;
  std::string timeout = "60s", file;
  bool overwrite = false;
};

// ---- what the node has

void CompletePaths(CniOptions& options) {
  config::FlagValues flags;
  if (auto service = OpenOwnService(/*to_change=*/false); service.ok()) {
    auto given = FlagsOfService(*service, "flanneld");
    if (given.ok() && *given) flags = **std::move(given);
  }
  const auto complete = [](std::string& path, const std::string& otherwise) {
    if (path.empty()) path = control::OnSystemDrive(otherwise);
  };
  complete(options.subnet_file, flags.subnet_file);
  complete(options.net_conf, flags.net_config_path);
  complete(options.store, flags.source_vip_store);
  complete(options.state_dir,
           flags.state_dir.empty() ? control::DefaultStateFolder() : flags.state_dir);
  kube::ClusterFlags& cluster = options.cluster;
  if (cluster.kubeconfig_file.empty() && cluster.api_urls.empty())
    cluster = {flags.kubeconfig_file, flags.kube_api_url, flags.kubelet_kubeconfig};
}

struct Known {
  NodeFacts facts;
  control::BackendType type = control::BackendType::kVxlan;
  std::vector<std::string> unknown;  // a sentence for each fact that is not known: cause, next step
};

// On a node whose HNS can be asked, and where it matters.
std::optional<bool> HasDsr(const CniOptions& options, bool wanted) {
  if (!wanted) return std::nullopt;
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return std::nullopt;
  const auto version = hns::Client(**api).ReadVersion();
  return version.ok() ? std::optional(hns::SupportsDsr(*version)) : std::nullopt;
}

absl::StatusOr<std::vector<IpPrefix>> Services(const CniOptions& options) {
  std::vector<IpPrefix> found;
  for (const std::string& text : options.services) {
    const auto prefix = IpPrefix::Parse(text);
    if (!prefix)
      return absl::InvalidArgumentError(
          absl::StrCat("--service-cidr=", text, " is no CIDR; write 10.96.0.0/12"));
    found.push_back(*prefix);
  }
  if (found.empty()) {
    auto servers = kube::ReadClusterServers(options.cluster, control::Variable);
    auto read = servers.ok() ? ReadServiceCidrs(*std::move(servers), kCallLimit)
                             : absl::StatusOr<std::vector<IpPrefix>>(servers.status());
    if (!read.ok())
      return absl::NotFoundError(
          absl::StrCat(read.status().message(),
                       "; give --service-cidr, as the API server's --service-cluster-ip-range"));
    found = *std::move(read);
  }
  std::erase_if(found, [](const IpPrefix& each) { return each.family() != IpFamily::kV4; });
  if (found.empty())
    return absl::NotFoundError("no service CIDR is IPv4, and HNS networks have only IPv4");
  return found;
}

// The length of the subnet in which this machine has `address`.
std::optional<IpPrefix> LinkOf(const IpAddress& address) {
  const auto host = host::OpenHost();
  if (!host.ok()) return std::nullopt;
  const auto adapters = (*host)->Adapters();
  if (!adapters.ok()) return std::nullopt;
  for (const host::Adapter& adapter : *adapters) {
    for (const host::AssignedAddress& each : adapter.addresses)
      if (each.address == address) return IpPrefix::From(address, each.prefix_length);
  }
  return std::nullopt;
}

absl::Status ReadAddress(const CniOptions& options, NodeFacts& facts) {
  if (!options.node_address.empty()) {
    const auto prefix = IpPrefix::Parse(options.node_address);
    facts.node = IpAddress::Parse(options.node_address.substr(0, options.node_address.find('/')));
    if (!facts.node || !facts.node->is_v4() ||
        (!prefix && options.node_address.find('/') != std::string::npos)) {
      facts.node.reset();
      return absl::InvalidArgumentError(absl::StrCat("--node-address=", options.node_address,
                                                     " is no IPv4 address; write 10.0.0.8/24"));
    }
    facts.link = prefix ? prefix : LinkOf(*facts.node);
    return absl::OkStatus();
  }
  if (options.admin == "none")
    return absl::NotFoundError("the node's address is not known; give --node-address");
  const auto status = admin::AdminClient(EndpointOf(options.admin)).ReadStatus();
  if (!status.ok() || !status->hns || !status->hns->management_ip)
    return absl::NotFoundError(absl::StrCat(
        "the node's address is not known: ",
        status.ok() ? "flanneld's network has none yet" : std::string(status.status().message()),
        "; start flanneld, or give --node-address=10.0.0.8/24"));
  facts.node = status->hns->management_ip;
  facts.link = LinkOf(*facts.node);
  return absl::OkStatus();
}

absl::Status ReadSubnet(const CniOptions& options, NodeFacts& facts) {
  const auto text = control::ReadFileText(options.subnet_file, kMostSubnetEnv);
  const std::vector<IpPrefix> subnets =
      text.ok() ? node::ReadPrefixes(*text, "FLANNEL_SUBNET") : std::vector<IpPrefix>();
  if (!subnets.empty()) {
    facts.subnet = subnets.front();
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat(options.subnet_file, " names no subnet of this node",
                   text.ok() ? "" : absl::StrCat(" (", text.status().message(), ")"),
                   "; start flanneld, or name its file with --subnet-file"));
}

Known ReadKnown(const CniOptions& options, bool needs_address, bool needs_dsr) {
  Known known;
  NodeFacts& facts = known.facts;
  const auto keep = [&known](const absl::Status& status) {
    if (!status.ok()) known.unknown.emplace_back(status.message());
  };
  facts.store = options.store;
  facts.subnet_file = options.subnet_file;
  facts.flannel_data = control::OnSystemDrive("/var/lib/cni/flannel");
  const auto conf = control::LoadNetConf(options.net_conf, control::kHnsDefaults);
  if (conf.ok()) {
    facts.network = conf->name;
    if (conf->network) facts.cluster = {*conf->network};
    known.type = conf->type;
  } else {
    keep(absl::Status(conf.status().code(),
                      absl::StrCat(conf.status().message(), "; --net-config-path names the file")));
  }
  keep(ReadSubnet(options, facts));
  auto services = Services(options);
  keep(services.status());
  if (services.ok()) facts.services = *std::move(services);
  if (needs_address) keep(ReadAddress(options, facts));
  facts.dsr = HasDsr(options, needs_dsr);
  return known;
}

// ---- render, install

absl::StatusOr<cni::ConfigChoice> ChoiceOf(const CniOptions& options, control::BackendType type) {
  cni::ConfigChoice choice;
  choice.loopback_dsr = options.loopback_dsr;
  choice.encap_overhead = options.encap_overhead;
  choice.through_flannel = options.plugin == kFlannel;
  if (!choice.through_flannel && !options.delegate.empty())
    return absl::InvalidArgumentError("--delegate is for --plugin=flannel");
  const bool bridge = type == control::BackendType::kHostGw;
  choice.plugin = bridge ? cni::Plugin::kWinBridge : cni::Plugin::kWinOverlay;
  const std::string& named = choice.through_flannel ? options.delegate : options.plugin;
  for (const auto each :
       {cni::Plugin::kWinOverlay, cni::Plugin::kSdnOverlay, cni::Plugin::kWinBridge}) {
    if (named == Name(each)) choice.plugin = each;
  }
  if (bridge != (choice.plugin == cni::Plugin::kWinBridge)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "net-conf's Backend.Type is ", Name(type), ", and ", Name(choice.plugin), " is for ",
        bridge ? "vxlan" : "host-gw", "; leave the plugin out, and the right one is taken"));
  }
  return choice;
}

absl::StatusOr<std::string> Render(const CniOptions& options) {
  // The plugin is known only when net-conf is read.
  const bool overlay = options.plugin == "win-overlay" ||
                       (options.plugin == kFlannel && options.delegate == "win-overlay");
  const bool bridge_by_default = options.plugin.empty() || options.plugin == kFlannel;
  bool needs_address = !overlay;
  if (bridge_by_default && options.delegate.empty()) {
    const auto conf = control::LoadNetConf(options.net_conf, control::kHnsDefaults);
    needs_address = conf.ok() && conf->type == control::BackendType::kHostGw;
  }
  const Known known = ReadKnown(options, needs_address, options.loopback_dsr);
  const auto choice = ChoiceOf(options, known.type);
  if (!choice.ok()) return choice.status();
  if (choice->plugin == cni::Plugin::kSdnOverlay &&
      known.facts.store != control::OnSystemDrive(std::string(cni::kDefaultStore)))
    return absl::InvalidArgumentError(absl::StrCat(
        "sdnoverlay makes host-local use ", control::OnSystemDrive(std::string(cni::kDefaultStore)),
        ", and the source VIP is reserved in ", known.facts.store,
        "; run flanneld and this without --source-vip-store, or take win-overlay"));
  auto text = cni::ConfigText(*choice, known.facts);
  if (text.ok() || known.unknown.empty()) return text;
  return absl::Status(text.status().code(), absl::StrCat(text.status().message(), ": ",
                                                         absl::StrJoin(known.unknown, ". ")));
}

ExitCode RunRender(CniOptions options, Io& io) {
  CompletePaths(options);
  const auto text = Render(options);
  if (!text.ok()) return Fail(io, "cni render", text.status());
  io.out << *text;
  return ExitCode::kOk;
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
    std::error_code error;
    if (!std::filesystem::exists(control::PathOf(path), error))
      found.push_back(absl::StrCat("the plugin ", path,
                                   " is missing: no pod can start; copy it there, or give "
                                   "containerd's bin_dir with --bin-dir"));
  }
  return found;
}

ExitCode RunInstall(CniOptions options, Io& io) {
  CompletePaths(options);
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
  for (NodeFacts facts;
       needs_subnet && !ReadSubnet(options, facts).ok() && steady_clock::now() < deadline;)
    std::this_thread::sleep_for(kPeriod);
  const auto text = Render(options);
  if (!text.ok()) return Fail(io, kVerb, text.status());
  const std::string path =
      (control::PathOf(folders->conf_dir) / control::PathOf(options.file_name)).string();
  const auto installed = cni::InstallConfig(
      {control::WithoutEndSlash(options.state_dir), path, *text, options.overwrite});
  if (!installed.ok()) return Fail(io, kVerb, installed.status());
  io.out << (installed->written ? "wrote " : "unchanged: ") << path << "\n";
  for (const std::string& each : installed->removed)
    io.out << "removed " << each << ", which an earlier run wrote\n";
  for (const std::string& each : installed->left)
    io.err << "flannelctl cni install: " << each << "\n";
  const auto obstacles = Obstacles(*folders, options.file_name, *text);
  if (!obstacles.ok()) return Fail(io, kVerb, obstacles.status());
  for (const std::string& each : *obstacles) io.err << "flannelctl cni install: " << each << "\n";
  return obstacles->empty() ? ExitCode::kOk : ExitCode::kFinding;
}

// ---- validate, explain

struct Read {
  std::string path, name, text;
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
      return absl::NotFoundError(absl::StrCat(read.folders.conf_dir,
                                              " has no CNI configuration: containerd starts no "
                                              "pods; write one with \"flannelctl cni install\", or "
                                              "give containerd's conf_dir with --conf-dir"));
    read.path = (control::PathOf(read.folders.conf_dir) / control::PathOf(names->front())).string();
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
  CompletePaths(options);
  const std::string verb = explain ? "cni explain" : "cni validate";
  const auto read = ReadConfig(options);
  if (!read.ok()) return Fail(io, verb, read.status());
  const Known known = ReadKnown(options, /*needs_address=*/true, /*needs_dsr=*/true);
  const auto remarks = cni::ExplainConfig(read->text, known.facts);
  if (!remarks.ok())
    return Fail(
        io, verb,
        absl::InvalidArgumentError(absl::StrCat(read->path, ": ", remarks.status().message())));
  std::vector<std::string> findings;
  if (explain) io.out << read->path << "\n";
  for (const cni::Remark& each : *remarks) {
    if (!each.finding.empty()) findings.push_back(absl::StrCat(each.member, ": ", each.finding));
    if (!explain) continue;
    io.out << "  " << each.member << " = " << each.value << "\n";
    if (!each.meaning.empty()) io.out << "      " << each.meaning << "\n";
    if (!each.finding.empty()) io.out << "      wrong: " << each.finding << "\n";
  }
  const auto obstacles = Obstacles(read->folders, read->name, read->text);
  if (!obstacles.ok()) return Fail(io, verb, obstacles.status());
  if (!explain) {
    for (const std::string& each : findings) io.out << read->path << ": " << each << "\n";
  }
  for (const std::string& each : *obstacles) io.out << read->path << ": " << each << "\n";
  for (const std::string& each : known.unknown)
    io.err << "flannelctl " << verb << ": not compared: " << each << "\n";
  const bool good = findings.empty() && obstacles->empty();
  if (good && !explain) io.out << read->path << ": good\n";
  return good ? ExitCode::kOk : ExitCode::kFinding;
}

// ---- the options

void AddFactOptions(CLI::App& parser, CniOptions& options) {
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return parser.add_option(name, value, help)->type_name(type);
  };
  add("--service-cidr", options.services,
      "The cluster's service CIDR; else the API server is asked; may be repeated", "CIDR")
      ->allow_extra_args(false);
  add("--kubeconfig-file", options.cluster.kubeconfig_file, "Credentials for that, as flanneld's",
      "PATH");
  add("--kube-api-url", options.cluster.api_urls, "The API server for that, as flanneld's", "URL")
      ->allow_extra_args(false);
  add("--node-address", options.node_address,
      "The node's address, 10.0.0.8/24; else flanneld is asked (sdnoverlay, win-bridge)",
      "IP[/LENGTH]");
  add("--net-config-path", options.net_conf,
      "The file of flanneld's --net-config-path; else that of its service", "PATH");
  add("--subnet-file", options.subnet_file,
      "The file of flanneld's --subnet-file; else that of its service", "PATH");
  add("--source-vip-store", options.store,
      "The folder of flanneld's --source-vip-store; else that of its service", "PATH");
  AddAdminOption(parser, options.admin);
  AddHnsOption(parser, options.hns);
}

void AddChoiceOptions(CLI::App& parser, CniOptions& options) {
  parser
      .add_option("--plugin", options.plugin,
                  "win-overlay, sdnoverlay, win-bridge or flannel; else win-overlay, with host-gw "
                  "win-bridge")
      ->type_name("NAME")
      ->check(CLI::IsMember({"win-overlay", "sdnoverlay", "win-bridge", "flannel"}));
  parser
      .add_option("--delegate", options.delegate,
                  "With --plugin=flannel: the plugin that it calls; else as without --plugin")
      ->type_name("NAME")
      ->check(CLI::IsMember({"win-overlay", "sdnoverlay", "win-bridge"}));
  parser.add_flag("--loopback-dsr", options.loopback_dsr,
                  "A pod reaches itself by its own service; HNS 9.3 to 9.x, or 10.2 and later");
  parser.add_flag("--encap-overhead", options.encap_overhead,
                  "Have HNS lower the MTU of pods by 50 (unproven on real Windows)");
}

void AddFolderOptions(CLI::App& parser, CniOptions& options) {
  const auto add = [&](const char* name, std::string& value, const char* help) {
    parser.add_option(name, value, help)->type_name("PATH");
  };
  add("--containerd-config", options.containerd_config,
      "containerd's config.toml, which names both folders");
  add("--conf-dir", options.conf_dir, "containerd's conf_dir, where the configuration lies");
  add("--bin-dir", options.bin_dir, "containerd's bin_dir, where the plugins lie");
}

Action AddRender(CLI::App& parser) {
  auto options = std::make_shared<CniOptions>();
  AddChoiceOptions(parser, *options);
  AddFactOptions(parser, *options);
  parser.footer(
      "Exit code: 0 printed, 2 something is not known, or wrong.\n\n"
      "Examples:\n"
      "  flannelctl cni render --service-cidr=10.96.0.0/12\n"
      "  flannelctl cni render --plugin=flannel --service-cidr=10.96.0.0/12");
  return [options](Io& io) { return RunRender(*options, io); };
}

Action AddInstall(CLI::App& parser) {
  auto options = std::make_shared<CniOptions>();
  AddChoiceOptions(parser, *options);
  AddFolderOptions(parser, *options);
  parser
      .add_option("--file-name", options->file_name, "The file's name; containerd takes the first")
      ->type_name("NAME")
      ->check([](const std::string& name) {
        return name.find_first_of("/\\:") == std::string::npos ? "" : "it is a path, not a name";
      })
      ->capture_default_str();
  parser.add_flag("--overwrite", options->overwrite,
                  "Replace a file of that name that this did not write, or that was changed");
  parser
      .add_option("--timeout", options->timeout,
                  "How long to wait for subnet.env, as 60s; with --plugin=flannel it does not")
      ->type_name("DURATION")
      ->capture_default_str();
  parser
      .add_option("--state-dir", options->state_dir,
                  "The folder of flanneld's --state-dir, where it is recorded what was written")
      ->type_name("PATH");
  AddFactOptions(parser, *options);
  parser.footer(
      "Writes the file at once or not at all, and not if it is there already; other\n"
      "configurations stay. `flannelctl uninstall` removes it while it is unchanged.\n\n"
      "Exit code: 0 done, 1 done, but containerd takes another configuration or a\n"
      "plugin is missing, 2 not done.\n\n"
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
                  "What is not known about this node is not compared; stderr names it.\n\n"
                  "Exit code: 0 good, 1 it has findings, 2 it cannot be read.\n\n"
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
