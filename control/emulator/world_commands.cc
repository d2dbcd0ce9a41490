// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/world_commands.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/emulator/adapter_text.h"
#include "hns/emulator/remote/command_fields.h"
#include "hns/emulator/remote/commands.h"
#include "nlohmann/json.hpp"

namespace weft::emulator {
namespace {

using Answer = absl::StatusOr<nlohmann::json>;
using Fields = hns::emulator::CommandFields;
using Carry = Answer (*)(World&, Fields&);

// Runs `act` once all fields were understood.
template <class Act>
Answer Then(const Fields& fields, Act act) {
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  act();
  return nlohmann::json::object();
}

// An adapter that is there, gone or not.
std::string AdapterIn(World& world, Fields& fields) {
  const std::string name = fields.Named("adapter");
  const host::HostState state = world.host().state();
  const bool known =
      std::any_of(state.adapters.begin(), state.adapters.end(),
                  [&](const host::EmulatedAdapter& each) { return each.adapter.name == name; });
  if (!known) fields.Refuse("adapter", "one that the host has; \"host\" shows them");
  return name;
}

std::uint32_t IndexOf(World& world, const std::string& adapter) {
  for (const host::EmulatedAdapter& each : world.host().state().adapters) {
    if (each.adapter.name == adapter) return each.adapter.index;
  }
  return 0;
}

std::vector<host::AssignedAddress> AddressesIn(Fields& fields) {
  const auto addresses = ParseAddresses(fields.Text("addresses"));
  if (!addresses) fields.Refuse("addresses", "such as 192.168.1.10/24,fd00::10/64");
  return addresses.value_or(std::vector<host::AssignedAddress>());
}

Answer AddAdapter(World& world, Fields& fields) {
  host::Adapter adapter;
  adapter.name = fields.Named("adapter");
  adapter.addresses = AddressesIn(fields);
  if (IndexOf(world, adapter.name) != 0) fields.Refuse("adapter", "a name that is not taken");
  if (const std::string text = fields.Text("mac"); !text.empty()) {
    const auto mac = MacAddress::Parse(text);
    if (!mac) fields.Refuse("mac", "such as 00-15-5D-00-00-0A");
    adapter.mac = mac.value_or(MacAddress());
  }
  const bool usable = fields.Flag("usable", true);
  return Then(fields, [&] { AddNic(world.host(), std::move(adapter), usable); });
}

std::optional<host::Route> RouteIn(World& world, Fields& fields) {
  host::Route route;
  const auto destination = IpPrefix::Parse(fields.Named("destination"));
  if (!destination) fields.Refuse("destination", "such as 10.8.0.0/16");
  if (const std::string text = fields.Text("gateway"); !text.empty()) {
    route.gateway = IpAddress::Parse(text);
    if (!route.gateway) fields.Refuse("gateway", "an address");
  }
  route.adapter_index = IndexOf(world, AdapterIn(world, fields));
  if (!fields.status().ok()) return std::nullopt;
  route.destination = *destination;
  return route;
}

Answer ChangeRoute(World& world, Fields& fields, bool put) {
  const std::optional<host::Route> route = RouteIn(world, fields);
  if (!route) return fields.status();
  const absl::Status status = put ? world.host().ReplaceRoutes({*route}).front()
                                  : world.host().RemoveRoutes({*route}).front();
  return status.ok() ? Answer(nlohmann::json::object()) : status;
}

Answer LoadHost(World& world, Fields& fields) {
  const nlohmann::json document = fields.Object("host");
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  absl::StatusOr<host::HostState> state = host::ParseHostState(document.dump());
  if (!state.ok()) return state.status();
  world.host().Replace(*std::move(state));
  return nlohmann::json::object();
}

const std::map<std::string_view, Carry>& Commands() {
  static const std::map<std::string_view, Carry> kCommands = {
      {"reboot",
       [](World& world, Fields& fields) {
         const auto restart = hns::emulator::ReadRestart(fields, hns::emulator::kReboot);
         if (!restart.ok()) return Answer(restart.status());
         return Then(fields, [&] { world.Reboot(*restart); });
       }},
      {"host",
       [](World& world, Fields& fields) {
         if (const absl::Status status = fields.status(); !status.ok()) return Answer(status);
         return Answer(nlohmann::json::parse(host::HostStateText(world.host().state())));
       }},
      {"load-host", LoadHost},
      {"add-adapter", AddAdapter},
      {"stop-firewall",
       [](World& world, Fields& fields) {
         const auto how_long = static_cast<host::Milliseconds::rep>(fields.Number("for_ms", 0));
         return Then(fields, [&] { world.host().StopFirewall(host::Milliseconds(how_long)); });
       }},
      {"remove-adapter",
       [](World& world, Fields& fields) {
         const std::string adapter = AdapterIn(world, fields);
         return Then(fields, [&] { world.host().RemoveAdapter(adapter); });
       }},
      {"rename",
       [](World& world, Fields& fields) {
         const std::string adapter = AdapterIn(world, fields), to = fields.Named("to");
         return Then(fields, [&] { world.host().Rename(adapter, to); });
       }},
      {"unplug",
       [](World& world, Fields& fields) {
         const std::string adapter = AdapterIn(world, fields);
         return Then(fields, [&] { world.host().Unplug(adapter); });
       }},
      {"plug",
       [](World& world, Fields& fields) {
         const std::string adapter = AdapterIn(world, fields);
         return Then(fields, [&] { world.host().Plug(adapter); });
       }},
      {"link",
       [](World& world, Fields& fields) {
         const std::string adapter = AdapterIn(world, fields);
         const bool up = fields.Flag("up", true);
         return Then(fields, [&] { world.host().SetUp(adapter, up); });
       }},
      {"set-addresses",
       [](World& world, Fields& fields) {
         const std::string adapter = AdapterIn(world, fields);
         const std::vector<host::AssignedAddress> addresses = AddressesIn(fields);
         return Then(fields, [&] { world.host().SetAddresses(adapter, addresses); });
       }},
      {"put-route", [](World& world, Fields& fields) { return ChangeRoute(world, fields, true); }},
      {"remove-route",
       [](World& world, Fields& fields) { return ChangeRoute(world, fields, false); }},
  };
  return kCommands;
}

Answer CarryOut(World& world, const nlohmann::json& command) {
  const auto name = command.is_object() ? command.find("command") : command.end();
  if (name == command.end() || !name->is_string())
    return hns::emulator::CarryOut(world.hns(), command);
  const std::string text = name->get<std::string>();
  if (const auto known = Commands().find(text); known != Commands().end()) {
    nlohmann::json rest = command;
    rest.erase("command");
    Fields fields(rest);
    return known->second(world, fields);
  }
  std::vector<std::string_view> names = hns::emulator::CommandNames();
  if (std::find(names.begin(), names.end(), text) != names.end())
    return hns::emulator::CarryOut(world.hns(), command);
  for (const auto& [each, carry] : Commands()) {
    if (each != "reboot") names.push_back(each);  // HNS has it too
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no command \"", text, "\"; there are: ", absl::StrJoin(names, " ")));
}

}  // namespace

hns::Reply Command(World& world, const std::string& text) {
  const Answer answer = CarryOut(world, nlohmann::json::parse(text, nullptr, false));
  hns::Reply reply;
  if (answer.ok()) {
    reply.text = answer->dump();
  } else {
    reply.code = hns::hresult::kInvalidArgument;
    reply.error_record = answer.status().message();
  }
  return reply;
}

}  // namespace weft::emulator
