// SPDX-License-Identifier: Apache-2.0
// flannelctl hns list, flannelctl hns show
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/hns/hns_option.h"
#include "control/cli/parser.h"
#include "control/cli/text_table.h"
#include "control/cli/verbs.h"
#include "hns/client.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::cli {
namespace {

struct NetworksOptions {
  std::string hns, name, output = "table";
  bool no_headers = false;
};

std::string AddressText(const std::optional<IpAddress>& address) {
  return address ? address->ToString() : "";
}

std::string SubnetsOf(const hns::Network& network) {
  return absl::StrJoin(network.subnets, ",", [](std::string* out, const hns::Subnet& subnet) {
    out->append(subnet.prefix.ToString());
  });
}

std::vector<hns::RemoteSubnetRoute> RoutesOf(const hns::Network& network) {
  std::vector<hns::RemoteSubnetRoute> routes;
  for (const hns::Policy& policy : network.policies)
    if (const auto route = hns::ReadRemoteSubnetRoute(policy)) routes.push_back(*route);
  return routes;
}

ExitCode ListNetworks(const NetworksOptions& options, Io& io) {
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return Fail(io, "hns list", api.status());
  hns::Client client(**api);
  std::vector<hns::Unread> unread;
  const auto networks = client.Networks("", &unread);
  if (!networks.ok()) return Fail(io, "hns list", networks.status());
  const auto endpoints = client.Endpoints(hns::Guid(), &unread);
  if (!endpoints.ok()) return Fail(io, "hns list", endpoints.status());
  ReportUnread(io, "hns list", unread);
  std::map<hns::Guid, std::size_t> pods;
  for (const hns::Endpoint& endpoint : *endpoints) pods[endpoint.network] += 1;
  TextTable table({"NETWORK", "TYPE", "SUBNETS", "MANAGEMENT-IP", "ROUTES", "ENDPOINTS", "ID"});
  for (const hns::Network& network : *networks) {
    table.Add({network.name, network.type, SubnetsOf(network),
               AddressText(network.provider_address()), absl::StrCat(RoutesOf(network).size()),
               absl::StrCat(pods[network.id]), network.id.ToString()});
  }
  io.out << table.TakeText(!options.no_headers);
  return ExitCode::kOk;
}

ExitCode ShowNetwork(const NetworksOptions& options, Io& io) {
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return Fail(io, "hns show", api.status());
  hns::Client client(**api);
  std::vector<std::string> documents;
  const auto networks = FindNetworks(client, options.name, nullptr, &documents);
  if (!networks.ok()) return Fail(io, "hns show", networks.status());
  if (networks->empty()) {
    io.err << "flannelctl hns show: HNS has no network " << Quoted(options.name)
           << "; \"flannelctl hns list\" lists those it has\n";
    return ExitCode::kFinding;
  }
  if (options.output == "json") {
    for (const std::string& document : documents)
      io.out << nlohmann::ordered_json::parse(document).dump(2) << "\n";
    return ExitCode::kOk;
  }
  for (const hns::Network& network : *networks) {
    const auto mac = network.dr_mac();
    io.out << network.type << " network " << network.name << ", " << network.id.ToString() << "\n"
           << "  subnets        " << SubnetsOf(network) << "\n"
           << "  adapter        " << network.adapter_name() << "\n"
           << "  management IP  " << AddressText(network.provider_address()) << "\n"
           << "  router MAC     " << (mac ? mac->ToString() : "") << "\n"
           << "  HostRoute      " << (network.Has(hns::policy_type::kHostRoute) ? "yes" : "no")
           << "\n";
    TextTable table({"DESTINATION", "PROVIDER-ADDRESS", "ROUTER-MAC", "VSID"});
    for (const hns::RemoteSubnetRoute& route : RoutesOf(network)) {
      table.Add({route.destination.ToString(), route.provider_address.ToString(),
                 route.router_mac.ToString(), absl::StrCat(route.isolation_id.value())});
    }
    io.out << "\n" << table.TakeText(/*with_headers=*/true);
  }
  return ExitCode::kOk;
}

}  // namespace

Action AddHnsList(CLI::App& parser) {
  auto options = std::make_shared<NetworksOptions>();
  AddHnsOption(parser, options->hns);
  parser.add_flag("--no-headers", options->no_headers, "Omit the line of column names");
  parser.footer(
      "Exit code: 0 listed, 2 HNS does not answer.\n\n"
      "Examples:\n"
      "  flannelctl hns list\n"
      "  flannelctl hns list --hns=emulator:hns.sock");
  return [options](Io& io) { return ListNetworks(*options, io); };
}

Action AddHnsShow(CLI::App& parser) {
  auto options = std::make_shared<NetworksOptions>();
  AddOption(parser, "NETWORK", options->name, "NETWORK",
            "The network's name, as \"hns list\" shows it, or its id")
      ->required();
  AddHnsOption(parser, options->hns);
  AddOutputOption(parser, options->output, {"table", "json"},
                  "Form of the output; json is the document as HNS returns it");
  parser.footer(
      "Exit code: 0 shown, 1 there is no such network, 2 HNS does not answer.\n\n"
      "Examples:\n"
      "  flannelctl hns show flannel.4096\n"
      "  flannelctl hns show flannel.4096 -o json --hns=emulator:hns.sock");
  return [options](Io& io) { return ShowNetwork(*options, io); };
}

}  // namespace weft::cli
