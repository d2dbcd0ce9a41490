// SPDX-License-Identifier: Apache-2.0
// flannelctl iface explain
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/parser.h"
#include "control/cli/text_table.h"
#include "control/cli/verbs.h"
#include "control/config/options.h"
#include "control/host/host.h"
#include "control/underlay/interface_choice.h"

namespace weft::cli {
namespace {

constexpr char kIfaceVerb[] = "iface explain";

struct IfaceOptions {
  underlay::InterfaceRequest request;
  std::vector<std::string> node_ips;
};

std::string Addresses(const host::Adapter& adapter) {
  return absl::StrJoin(adapter.addresses, ",",
                       [](std::string* out, const host::AssignedAddress& each) {
                         absl::StrAppend(out, each.ToString());
                       });
}

std::string DefaultRoute(const host::Adapter& adapter, const underlay::HostFacts& facts) {
  std::vector<std::string> metrics;
  for (const auto* routes : {&facts.routes_v4, &facts.routes_v6}) {
    for (const host::Route& route : *routes) {
      if (route.destination.length() == 0 && route.adapter_index == adapter.index &&
          route.kind == host::RouteKind::kPlain)
        metrics.push_back(absl::StrCat(routes == &facts.routes_v4 ? "IPv4:" : "IPv6:",
                                       host::PrecedenceOf(route)));
    }
  }
  return absl::StrJoin(metrics, ",");
}

ExitCode RunIfaceExplain(IfaceOptions options, Io& io) {
  for (const std::string& text : options.node_ips) {
    const auto address = IpAddress::Parse(text);
    if (!address) {
      return Fail(
          io, kIfaceVerb,
          absl::InvalidArgumentError(absl::StrCat("--node-ip=", text, " is not an IP address")));
    }
    options.request.node_ips.push_back(*address);
  }
  options.request.windows = config::DefaultDataPlane() == config::DataPlane::kHns;
  options.request.require_v6 = !options.request.public_ipv6.empty();
  const auto host = host::OpenHost();
  if (!host.ok()) return Fail(io, kIfaceVerb, host.status());
  const auto facts = underlay::ReadHostFacts(**host);
  if (!facts.ok()) return Fail(io, kIfaceVerb, facts.status());
  underlay::ChoiceReasons reasons;
  const auto choice = underlay::ChooseInterface(options.request, *facts, &reasons);
  if (choice.status().code() == absl::StatusCode::kInvalidArgument)
    return Fail(io, kIfaceVerb, choice.status());

  TextTable table({"INTERFACE", "STATE", "MTU", "DEFAULT-ROUTE", "ADDRESSES", "NOTE"});
  for (const host::Adapter& adapter : facts->adapters) {
    std::string note;
    if (choice.ok() && choice->index == adapter.index)
      note = "taken";
    else if (const auto reason = underlay::WhyNoUnderlay(adapter, options.request, *facts);
             !reason.empty())
      note = absl::StrCat("must be named: ", reason);
    table.Add({adapter.name, adapter.up ? "up" : "down", absl::StrCat(adapter.mtu),
               DefaultRoute(adapter, *facts), Addresses(adapter), std::move(note)});
  }
  io.out
      << table.TakeText(/*with_headers=*/true) << "\n"
      << "by these flags alone; not read: the Node, which may name an address in annotations and "
         "InternalIP, and the flags of flanneld's service\n";
  for (const std::string& each : reasons.rejected) io.out << "rejected: " << each << "\n";
  if (!choice.ok()) {
    io.out << "no interface is taken; flanneld would wait. Name one with --iface\n";
    return ExitCode::kFinding;
  }
  io.out << "taken: " << choice->name << ", by " << reasons.taken_by;
  for (const auto& family : {choice->v4, choice->v6}) {
    if (!family) continue;
    io.out << "; packets to peers come from " << family->address.ToString();
    if (family->public_ip != family->address)
      io.out << ", published as " << family->public_ip.ToString();
  }
  io.out << "\n";
  return ExitCode::kOk;
}

Action AddIfaceExplain(CLI::App& parser) {
  auto options = std::make_shared<IfaceOptions>();
  underlay::InterfaceRequest& request = options->request;
  AddOption(parser, "--iface", request.iface, "NAME|IP", "As flanneld's; may be repeated")
      ->allow_extra_args(false);
  AddOption(parser, "--iface-regex", request.iface_regex, "EXPRESSION",
            "As flanneld's; may be repeated")
      ->allow_extra_args(false);
  AddOption(parser, "--iface-can-reach", request.iface_can_reach, "IP", "As flanneld's");
  AddOption(parser, "--public-ip", request.public_ip, "IP", "As flanneld's");
  AddOption(parser, "--public-ipv6", request.public_ipv6, "IP",
            "As flanneld's; the interface then needs an IPv6 address, too");
  AddOption(parser, "--node-ip", options->node_ips, "IP",
            "InternalIP of the Node, which flanneld reads from the API; may be repeated")
      ->allow_extra_args(false);
  parser.footer(
      "Chooses by these flags, and changes nothing. It reads neither the Node nor the\n"
      "flags of flanneld's service: \"flannelctl plan --offline -- FLAG...\" reads the\n"
      "Node, and \"flannelctl status\" shows the choice of a running flanneld.\n\n"
      "Exit code: 0 an interface is taken, 1 none is, 2 a flag is wrong.\n\n"
      "Examples:\n"
      "  flannelctl iface explain\n"
      "  flannelctl iface explain --iface=\"Ethernet 2\" --node-ip=10.0.0.7");
  return [options](Io& io) { return RunIfaceExplain(*options, io); };
}

constexpr Verb kIfaceVerbs[] = {
    {"explain", "The interfaces, and which one flanneld takes and why", AddIfaceExplain},
};

}  // namespace

Action AddIface(CLI::App& parser) {
  parser.footer(
      "Examples:\n"
      "  flannelctl iface explain");
  return AddVerbs(parser, kIfaceVerbs);
}

}  // namespace weft::cli
