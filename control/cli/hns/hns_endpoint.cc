// SPDX-License-Identifier: Apache-2.0
// flannelctl hns endpoint add, list, delete
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
#include "hns/overlay_endpoint.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::cli {
namespace {

struct EndpointOptions {
  std::string hns, network, output = "table";
  bool no_headers = false;
  // add
  std::string name, ip, mac, provider_address;
  bool remote = false;
  // delete
  std::string which;
  bool force = false;
};

ExitCode Found(Io& io, std::string_view verb, std::string_view finding) {
  io.err << "flannelctl " << verb << ": " << finding << "\n";
  return ExitCode::kFinding;
}

// HNS answered and refused, or did not answer.
ExitCode Refused(Io& io, std::string_view verb, const absl::Status& status) {
  const ExitCode code = Fail(io, verb, status);
  return absl::IsUnavailable(status) || absl::IsPermissionDenied(status) ? code
                                                                         : ExitCode::kFinding;
}

std::string NoNetwork(const std::string& name) {
  return absl::StrCat("HNS has no network ", Quoted(name),
                      "; \"flannelctl hns list\" lists those it has");
}

std::string AddressesOf(const hns::Endpoint& endpoint) {
  return absl::StrJoin(
      endpoint.ip_configurations, ",",
      [](std::string* out, const hns::IpConfiguration& ip) { out->append(ip.address.ToString()); });
}

ExitCode ListEndpoints(const EndpointOptions& options, Io& io) {
  constexpr char kVerb[] = "hns endpoint list";
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return Fail(io, kVerb, api.status());
  hns::Client client(**api);
  std::vector<hns::Unread> unread;
  const auto networks = FindNetworks(client, options.network, &unread, nullptr);
  if (!networks.ok()) return Fail(io, kVerb, networks.status());
  if (!options.network.empty() && networks->empty()) {
    ReportUnread(io, kVerb, unread);
    return Found(io, kVerb, NoNetwork(options.network));
  }
  std::map<hns::Guid, std::string> names;
  for (const hns::Network& network : *networks) names[network.id] = network.name;
  std::vector<std::string> documents;
  const auto endpoints = client.Endpoints(
      options.network.empty() ? hns::Guid() : networks->front().id, &unread, &documents);
  if (!endpoints.ok()) return Fail(io, kVerb, endpoints.status());
  ReportUnread(io, kVerb, unread);
  if (options.output == "json") {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const std::string& each : documents) list.push_back(nlohmann::ordered_json::parse(each));
    io.out << list.dump(2) << "\n";
    return ExitCode::kOk;
  }
  TextTable table(
      {"ENDPOINT", "NETWORK", "ADDRESS", "MAC", "KIND", "PROVIDER-ADDRESS", "NAMESPACE", "ID"});
  for (const hns::Endpoint& endpoint : *endpoints) {
    const auto provider = endpoint.provider_address();
    const hns::Guid& space = endpoint.compartment_namespace;
    table.Add({endpoint.name, names[endpoint.network], AddressesOf(endpoint), endpoint.mac,
               endpoint.is_remote() ? "remote" : "local", provider ? provider->ToString() : "",
               space.is_zero() ? "" : space.ToString(), endpoint.id.ToString()});
  }
  io.out << table.TakeText(!options.no_headers);
  return ExitCode::kOk;
}

absl::StatusOr<hns::OverlayEndpointSpec> SpecOf(const EndpointOptions& options) {
  const auto wrong = [](std::string_view flag, const std::string& text, std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", Quoted(text), " is no ", what));
  };
  hns::OverlayEndpointSpec spec;
  spec.name = options.name;
  spec.remote = options.remote;
  const auto ip = IpAddress::Parse(options.ip);
  if (!ip) return wrong("--ip", options.ip, "address");
  spec.address = *ip;
  if (!options.mac.empty()) {
    spec.mac = MacAddress::Parse(options.mac);
    if (!spec.mac || spec.mac->IsGroup() || spec.mac->IsZero())
      return wrong("--mac", options.mac, "MAC address of one endpoint");
  }
  if (!options.provider_address.empty()) {
    spec.provider_address = IpAddress::Parse(options.provider_address);
    if (!spec.provider_address || !spec.provider_address->is_v4())
      return wrong("--provider-address", options.provider_address, "IPv4 address");
  }
  return spec;
}

ExitCode AddEndpoint(const EndpointOptions& options, Io& io) {
  constexpr char kVerb[] = "hns endpoint add";
  const auto spec = SpecOf(options);
  if (!spec.ok()) return Fail(io, kVerb, spec.status());
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return Fail(io, kVerb, api.status());
  hns::Client client(**api);
  const auto networks = FindNetworks(client, options.network, nullptr, nullptr);
  if (!networks.ok()) return Fail(io, kVerb, networks.status());
  if (networks->empty()) return Found(io, kVerb, NoNetwork(options.network));
  const auto endpoint = hns::OverlayEndpoint(networks->front(), *spec);
  if (!endpoint.ok()) return Refused(io, kVerb, endpoint.status());
  const auto made = client.CreateEndpoint(*endpoint);
  if (!made.ok()) return Refused(io, kVerb, made.status());
  if (options.output == "json") {
    std::vector<std::string> documents;
    std::vector<hns::Unread> others;
    const auto all = client.Endpoints(made->network, &others, &documents);
    if (!all.ok()) return Refused(io, kVerb, all.status());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if ((*all)[i].id != made->id) continue;
      io.out << nlohmann::ordered_json::parse(documents[i]).dump(2) << "\n";
      return ExitCode::kOk;
    }
    ReportUnread(io, kVerb, others);
    return Found(
        io, kVerb,
        absl::StrCat("the endpoint ", made->id.ToString(), " was made, and HNS does not show it"));
  }
  io.out << made->id.ToString() << "\n";
  return ExitCode::kOk;
}

// Its owner and its users are unknown.
ExitCode DeleteUnread(const EndpointOptions& options, hns::Client& client,
                      const hns::Unread& unread, Io& io) {
  constexpr char kVerb[] = "hns endpoint delete";
  if (!options.force)
    return Found(io, kVerb, absl::StrCat(unread.why, "; --force deletes it anyway"));
  const absl::Status status = client.DeleteEndpoint(unread.id, "");
  return status.ok() ? ExitCode::kOk : Refused(io, kVerb, status);
}

ExitCode DeleteEndpoint(const EndpointOptions& options, Io& io) {
  constexpr char kVerb[] = "hns endpoint delete";
  const auto api = OpenHns(options.hns);
  if (!api.ok()) return Fail(io, kVerb, api.status());
  hns::Client client(**api);
  std::vector<hns::Unread> unread;
  const auto endpoints = client.Endpoints(hns::Guid(), &unread);
  if (!endpoints.ok()) return Fail(io, kVerb, endpoints.status());
  const auto id = hns::Guid::Parse(options.which);
  std::vector<hns::Endpoint> found;
  for (const bool as_shown : {false, true}) {
    if (!found.empty()) break;
    for (const hns::Endpoint& endpoint : *endpoints) {
      const std::string name = as_shown ? CellOf(endpoint.name) : endpoint.name;
      if (id ? endpoint.id == *id : name == options.which) found.push_back(endpoint);
    }
  }
  if (found.empty()) {
    for (const hns::Unread& each : unread)
      if (id == each.id) return DeleteUnread(options, client, each, io);
    ReportUnread(io, kVerb, unread);
    return Found(io, kVerb,
                 absl::StrCat("HNS has no endpoint ", Quoted(options.which),
                              "; \"flannelctl hns endpoint list\" lists those it has"));
  }
  if (found.size() > 1) {
    return Found(io, kVerb,
                 absl::StrCat(found.size(), " endpoints are named ", Quoted(options.which),
                              "; give an id that \"flannelctl hns endpoint list\" shows"));
  }
  const std::string what = absl::StrCat("the endpoint ", Quoted(options.which));
  const std::string why = hns::WhyKept(found.front());
  if (!why.empty() && !options.force) {
    return Found(io, kVerb, absl::StrCat(what, " ", why, "; --force deletes it anyway"));
  }
  const absl::Status status = client.DeleteEndpoint(found.front().id, found.front().name);
  if (!status.ok()) return Refused(io, kVerb, status);
  if (!why.empty()) io.err << what << ", deleted by --force, " << why << "\n";
  return ExitCode::kOk;
}

Action AddList(CLI::App& parser) {
  auto options = std::make_shared<EndpointOptions>();
  AddOption(parser, "--network", options->network, "NAME", "Only those of this network");
  AddOutputOption(parser, options->output, {"table", "json"},
                  "Form of the output; json is the documents as HNS returns them");
  parser.add_flag("--no-headers", options->no_headers, "Omit the line of column names");
  AddHnsOption(parser, options->hns);
  parser.footer(
      "Exit code: 0 listed, 1 there is no such network, 2 HNS does not answer.\n\n"
      "Examples:\n"
      "  flannelctl hns endpoint list --network flannel.4096\n"
      "  flannelctl hns endpoint list -o json --hns=emulator:hns.sock");
  return [options](Io& io) { return ListEndpoints(*options, io); };
}

Action AddAdd(CLI::App& parser) {
  auto options = std::make_shared<EndpointOptions>();
  options->output = "id";
  AddOption(parser, "--network", options->network, "NAME", "The overlay network")->required();
  AddOption(parser, "--ip", options->ip, "IP", "Its address")->required();
  AddOption(parser, "--mac", options->mac, "MAC",
            "Its MAC address; else derived from the address, as by CNI plugins and kube-proxy");
  CLI::Option* const remote =
      parser.add_flag("--remote", options->remote, "It represents a pod of another node");
  AddOption(parser, "--provider-address", options->provider_address, "IP",
            "With --remote: that node's address; else from the network's routes")
      ->needs(remote);
  AddOption(parser, "--name", options->name, "NAME",
            "Its name; else \"weft-IP\". Without the prefix \"weft-\" only --force deletes it");
  AddOutputOption(parser, options->output, {"id", "json"},
                  "Form of the output; id is its id in HNS");
  AddHnsOption(parser, options->hns);
  parser.footer(
      "It is attached to no container. Exit code: 0 created, 1 refused, 2 HNS does\n"
      "not answer, or wrong usage.\n\n"
      "Examples:\n"
      "  flannelctl hns endpoint add --network flannel.4096 --ip 10.244.3.77\n"
      "  flannelctl hns endpoint add --network flannel.4096 --ip 10.244.1.5 --remote");
  return [options](Io& io) { return AddEndpoint(*options, io); };
}

Action AddDelete(CLI::App& parser) {
  auto options = std::make_shared<EndpointOptions>();
  AddOption(parser, "ENDPOINT", options->which, "ENDPOINT",
            "Its id, or its name where only one has it")
      ->required();
  parser.add_flag(
      "--force", options->force,
      "Also an endpoint that is not weft's, or that a container uses; a message says so");
  AddHnsOption(parser, options->hns);
  parser.footer(
      "The names of weft's endpoints begin with \"weft-\". Exit code: 0 deleted, 1 not\n"
      "found or refused, 2 HNS does not answer.\n\n"
      "Examples:\n"
      "  flannelctl hns endpoint delete weft-10.244.1.5\n"
      "  flannelctl hns endpoint delete --force 55fedb88-4b11-4da4-8cd1-59970718a804");
  return [options](Io& io) { return DeleteEndpoint(*options, io); };
}

constexpr Verb kEndpointVerbs[] = {
    {"add", "Create an endpoint on an overlay network", AddAdd},
    {"list", "The endpoints that HNS has", AddList},
    {"delete", "Delete an endpoint", AddDelete},
};

}  // namespace

Action AddHnsEndpoint(CLI::App& parser) {
  parser.footer(
      "Examples:\n"
      "  flannelctl hns endpoint list\n"
      "  flannelctl hns endpoint add --help");
  return AddVerbs(parser, kEndpointVerbs);
}

}  // namespace weft::cli
