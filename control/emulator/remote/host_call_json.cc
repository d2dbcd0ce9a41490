// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "control/emulator/host/values_json.h"
#include "control/emulator/remote/host_call.h"

namespace weft::emulator {
namespace {

using host::Json;
using host::MembersReader;

constexpr std::string_view kOperations[] = {"adapters",
                                            "routes",
                                            "route-to",
                                            "name-servers",
                                            "set-link-up",
                                            "add-address",
                                            "put-routes",
                                            "remove-routes",
                                            "set-forwarding",
                                            "forwarding",
                                            "allow-udp-in",
                                            "find-firewall-rule",
                                            "remove-firewall-rule",
                                            "replace-routes",
                                            "read-static-ip",
                                            "put-static-ip"};
constexpr std::string_view kOwners[] = {"", "ours", "other"};
constexpr int kHighestCode = static_cast<int>(absl::StatusCode::kUnauthenticated);

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json JsonOf(const absl::Status& status) {
  if (status.ok()) return Json::object();
  return {{"code", status.raw_code()}, {"message", status.message()}};
}

absl::Status ReadStatus(const Json& json, const std::string& place, absl::Status& wrong) {
  MembersReader in(json, place, wrong);
  const auto code = static_cast<int>(in.Number("code", kHighestCode));
  return absl::Status(static_cast<absl::StatusCode>(code), in.Text("message"));
}

Json JsonOf(const std::vector<host::Route>& routes) {
  Json out = Json::array();
  for (const host::Route& route : routes) out.push_back(host::JsonOf(route));
  return out;
}

std::vector<host::Route> ReadRoutes(MembersReader& in, absl::Status& wrong) {
  std::vector<host::Route> routes;
  in.List("routes", [&](const Json& each, const std::string& at) {
    routes.push_back(host::ReadRoute(each, at, wrong));
  });
  return routes;
}

host::StaticIp ReadStatic(MembersReader& in, absl::Status& wrong) {
  const Json* const fixed = in.Find("static");
  if (fixed == nullptr) return {};
  MembersReader members(*fixed, "static.", wrong);
  return host::ReadStaticIp(members, wrong);
}

}  // namespace

std::string Encode(const HostCall& call) {
  Json out = {{"call", kOperations[static_cast<std::size_t>(call.operation)]}};
  if (call.family == IpFamily::kV6) out["ipv6"] = true;
  if (call.adapter != 0) out["adapter"] = call.adapter;
  if (call.mtu != 0) out["mtu"] = call.mtu;
  if (call.address != host::AssignedAddress()) out["address"] = host::AssignedText(call.address);
  if (!call.routes.empty()) out["routes"] = JsonOf(call.routes);
  if (call.on) out["on"] = true;
  if (call.static_ip != host::StaticIp()) out["static"] = host::JsonOf(call.static_ip);
  if (!call.rule.name.empty()) out["rule"] = host::JsonOf(call.rule);
  return Text(out);
}

absl::StatusOr<HostCall> ParseHostCall(std::string_view text) {
  const absl::StatusOr<Json> document = host::ParseHostDocument(text);
  if (!document.ok()) return document.status();
  absl::Status wrong;
  MembersReader in(*document, "", wrong);
  HostCall call;
  const std::string name = in.Text("call");
  std::size_t at = 0;
  while (at < std::size(kOperations) && kOperations[at] != name) ++at;
  if (at == std::size(kOperations)) {
    in.Refuse("call", "is none that this version knows");
    return wrong;
  }
  call.operation = static_cast<HostOperation>(at);
  if (in.Bool("ipv6", false)) call.family = IpFamily::kV6;
  call.adapter = in.U32("adapter");
  call.mtu = in.U32("mtu");
  call.address = in.Parsed("address", host::ParseAssigned).value_or(host::AssignedAddress());
  call.routes = ReadRoutes(in, wrong);
  call.on = in.Bool("on", false);
  call.static_ip = ReadStatic(in, wrong);
  if (const Json* const rule = in.Find("rule")) {
    MembersReader members(*rule, "rule.", wrong);
    call.rule = host::ReadFirewallRule(members, wrong);
  }
  if (!wrong.ok()) return wrong;
  return call;
}

std::string Encode(const HostAnswer& answer) {
  Json out = JsonOf(answer.status);
  for (const host::Adapter& adapter : answer.adapters) {
    host::EmulatedAdapter each;
    each.adapter = adapter;
    out["adapters"].push_back(host::JsonOf(each));
  }
  if (!answer.routes.empty()) out["routes"] = JsonOf(answer.routes);
  if (!answer.name_servers.empty()) out["nameServers"] = host::JsonOf(answer.name_servers);
  if (answer.static_ip != host::StaticIp()) out["static"] = host::JsonOf(answer.static_ip);
  for (const absl::Status& status : answer.results) out["results"].push_back(JsonOf(status));
  if (answer.on) out["on"] = true;
  if (!answer.corrected.empty()) out["corrected"] = answer.corrected;
  if (answer.owner != host::RuleOwner::kNone)
    out["owner"] = kOwners[static_cast<std::size_t>(answer.owner)];
  return Text(out);
}

absl::StatusOr<HostAnswer> ParseHostAnswer(std::string_view text) {
  const absl::StatusOr<Json> document = host::ParseHostDocument(text);
  if (!document.ok()) return document.status();
  absl::Status wrong;
  MembersReader in(*document, "", wrong);
  HostAnswer answer;
  answer.status = ReadStatus(*document, "", wrong);
  in.List("adapters", [&](const Json& each, const std::string& at) {
    answer.adapters.push_back(host::ReadAdapter(each, at, wrong).adapter);
  });
  answer.routes = ReadRoutes(in, wrong);
  answer.name_servers = host::ReadAddresses(in, "nameServers", wrong);
  answer.static_ip = ReadStatic(in, wrong);
  in.List("results", [&](const Json& each, const std::string& at) {
    answer.results.push_back(ReadStatus(each, at + ".", wrong));
  });
  answer.on = in.Bool("on", false);
  answer.corrected = in.Text("corrected");
  if (const auto* const owner = std::ranges::find(kOwners, in.Text("owner"));
      owner != std::end(kOwners))
    answer.owner = static_cast<host::RuleOwner>(owner - std::begin(kOwners));
  else
    in.Refuse("owner", "is none that this version knows");
  if (!wrong.ok()) return wrong;
  return answer;
}

}  // namespace weft::emulator
