// SPDX-License-Identifier: Apache-2.0
#include "control/cli/cni/node_facts.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/admin/admin_client.h"
#include "control/cli/cni/service_cidrs.h"
#include "control/cli/hns/hns_option.h"
#include "control/cli/own_service.h"
#include "control/cli/parser.h"
#include "control/command_line.h"
#include "control/config/flag_values.h"
#include "control/host/host.h"
#include "control/node/subnet_env.h"
#include "control/own_files.h"
#include "control/underlay/interface_choice.h"
#include "hns/client.h"
#include "hns/version.h"

namespace weft::cli {
namespace {

using cni::NodeFacts;

constexpr auto kCallLimit = std::chrono::seconds(20);
constexpr auto kCompareLimit = std::chrono::seconds(5);  // where no answer is needed

// On a node whose HNS can be asked, and where it matters.
std::optional<bool> HasDsr(const FactOptions& options, bool wanted) {
  if (!wanted) return std::nullopt;
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return std::nullopt;
  const auto version = hns::Client(**api).ReadVersion();
  return version.ok() ? std::optional(hns::SupportsDsr(*version)) : std::nullopt;
}

absl::StatusOr<std::vector<IpPrefix>> Services(const FactOptions& options) {
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

void CompareServices(const FactOptions& options, Known& known) {
  auto servers = kube::ReadClusterServers(options.cluster, control::Variable);
  const auto api = servers.ok() ? ReadApiService(*std::move(servers), kCompareLimit)
                                : absl::StatusOr<IpAddress>(servers.status());
  const auto contains = [&](const IpPrefix& prefix) { return prefix.Contains(*api); };
  if (!api.ok()) {
    known.uncompared_services =
        absl::StrCat("--service-cidr with the cluster's: ", api.status().message());
  } else if (std::ranges::none_of(known.facts.services, contains)) {
    known.wrong_services = absl::StrCat(
        "--service-cidr lacks ", api->ToString(),
        ", the address of the cluster's Service kubernetes: pods do not reach Services; give the "
        "API server's --service-cluster-ip-range");
  }
}

// `address` if this host has it, or the first IPv4 address of the adapter that has this IPv6 one,
// as the status.hostIP of a pod may be.
std::optional<IpAddress> HereInIpv4(const IpAddress& address) {
  const auto host = host::OpenHost();
  if (!host.ok()) return std::nullopt;
  const auto adapters = (*host)->Adapters();
  const host::Adapter* const owner =
      adapters.ok() ? underlay::OwnerOf(address, *adapters) : nullptr;
  if (owner == nullptr || address.is_v4()) return owner ? std::optional(address) : std::nullopt;
  for (const host::AssignedAddress& each : owner->addresses)
    if (each.address.is_v4()) return each.address;
  return std::nullopt;
}

absl::Status ReadAddress(const FactOptions& options, NodeFacts& facts) {
  if (!options.node_address.empty()) {
    const std::string& text = options.node_address;
    const std::size_t slash = text.find('/');  // the length is not needed
    facts.node = IpAddress::Parse(text.substr(0, slash));
    if (facts.node && !facts.node->is_v4()) facts.node = HereInIpv4(*facts.node);
    if (facts.node && (slash == text.npos || IpPrefix::Parse(text))) return absl::OkStatus();
    facts.node.reset();
    return absl::InvalidArgumentError(
        absl::StrCat("--node-address=", text, " is no IPv4 address; write 10.0.0.8"));
  }
  if (options.admin == "none")
    return absl::NotFoundError("the node's address is not known; give --node-address");
  const auto status = admin::AdminClient(EndpointOf(options.admin)).ReadStatus();
  if (!status.ok() || !status->hns || !status->hns->management_ip)
    return absl::NotFoundError(absl::StrCat(
        "the node's address is not known: ",
        status.ok() ? "flanneld's network has none yet" : std::string(status.status().message()),
        "; start flanneld, or give --node-address=10.0.0.8"));
  // HNS reports the first address of its adapter, be it a load balancer's that all nodes have.
  const bool is_own = status->v4 && status->v4->public_ip && HereInIpv4(*status->v4->public_ip);
  facts.node = is_own ? status->v4->public_ip : status->hns->management_ip;
  return absl::OkStatus();
}

}  // namespace

void AddFactOptions(CLI::App& parser, FactOptions& options) {
  AddOption(parser, "--service-cidr", options.services, "CIDR",
            "The cluster's service CIDR; else the API server is asked; may be repeated")
      ->allow_extra_args(false);
  AddOption(parser, "--kubeconfig-file", options.cluster.kubeconfig_file, "PATH",
            "Credentials for that, as flanneld's");
  AddOption(parser, "--kube-api-url", options.cluster.api_urls, "URL",
            "The API server for that, as flanneld's")
      ->allow_extra_args(false);
  AddOption(parser, "--node-address", options.node_address, "IP",
            "The node's address, 10.0.0.8; else flanneld is asked (sdnoverlay, win-bridge); the "
            "last counts")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  AddOption(parser, "--net-config-path", options.net_conf, "PATH",
            "The file of flanneld's --net-config-path; else that of its service");
  AddOption(parser, "--subnet-file", options.subnet_file, "PATH",
            "The file of flanneld's --subnet-file; else that of its service");
  AddOption(parser, "--source-vip-store", options.store, "PATH",
            "The folder of flanneld's --source-vip-store; else that of its service");
  AddAdminOption(parser, options.admin);
  AddHnsOption(parser, options.hns);
}

void CompleteFromService(FactOptions& options) {
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

Known ReadKnown(const FactOptions& options, const absl::StatusOr<control::NetConf>& conf,
                bool needs_address, bool needs_dsr) {
  Known known;
  NodeFacts& facts = known.facts;
  const auto keep = [&known](const absl::Status& status) {
    if (!status.ok()) known.unknown.emplace_back(status.message());
  };
  facts.store = options.store;
  facts.subnet_file = options.subnet_file;
  facts.flannel_data = control::OnSystemDrive("/var/lib/cni/flannel");
  if (conf.ok()) {
    facts.network = conf->name;
    if (conf->type != control::BackendType::kAlloc)
      facts.bridge = conf->type == control::BackendType::kHostGw;
    if (conf->network) facts.cluster = {*conf->network};
  } else {
    keep(absl::Status(conf.status().code(),
                      absl::StrCat(conf.status().message(), "; --net-config-path names the file")));
  }
  const absl::StatusOr<IpPrefix> subnet = node::ReadOwnSubnet(options.subnet_file);
  keep(subnet.status());
  if (subnet.ok()) facts.subnet = *subnet;
  auto services = Services(options);
  keep(services.status());
  if (services.ok()) facts.services = *std::move(services);
  if (services.ok() && !options.services.empty()) CompareServices(options, known);
  if (needs_address) keep(ReadAddress(options, facts));
  facts.dsr = HasDsr(options, needs_dsr);
  return known;
}

}  // namespace weft::cli
