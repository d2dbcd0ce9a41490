// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/commands.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/emulator/hns/model/settings_json.h"
#include "control/emulator/host/adapter_text.h"

namespace weft::emulator {
namespace {

using hns::emulator::Fault;
using hns::emulator::kReboot;
using hns::emulator::Milliseconds;
using hns::emulator::Restart;
using hns::emulator::Settings;
using Json = nlohmann::json;
using Answer = absl::StatusOr<Json>;

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(what); }

// Reads the fields of one command. Keeps the first error; a field that was never read is an error
// too.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) { unread_ = json; }

  std::string Text(const char* key, std::string fallback = "") {
    const Json* const value = Take(key);
    if (value == nullptr) return fallback;
    if (!value->is_string()) Refuse(key, "a text");
    return value->is_string() ? value->get<std::string>() : fallback;
  }
  bool Flag(const char* key, bool fallback) {
    const Json* const value = Take(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Refuse(key, "true or false");
    return value->is_boolean() ? value->get<bool>() : fallback;
  }
  // A number, a text of hexadecimal digits, or "always".
  std::uint64_t Number(const char* key, std::uint64_t fallback) {
    const Json* const value = Take(key);
    if (value == nullptr) return fallback;
    std::uint64_t number = fallback;
    if (value->is_number_unsigned()) return value->get<std::uint64_t>();
    if (*value == "always") return Fault::kAlways;
    if (!value->is_string() || !absl::SimpleHexAtoi(value->get<std::string>(), &number))
      Refuse(key, "a number");
    return number;
  }
  Json Object(const char* key) {
    const Json* const value = Take(key);
    return value == nullptr ? Json::object() : *value;
  }

  // A text that must be present.
  std::string Named(const char* key) {
    std::string text = Text(key);
    if (text.empty()) Refuse(key, "given");
    return text;
  }
  // Records an error: the value of `key` is invalid.
  void Refuse(const char* key, std::string_view desired) {
    if (status_.ok())
      status_ = absl::InvalidArgumentError(absl::StrCat("\"", key, "\" must be ", desired));
  }

  absl::Status status() const {
    if (!status_.ok() || unread_.empty()) return status_;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no field \"", unread_.begin().key(), "\" in it"));
  }

 private:
  const Json* Take(const char* key) {
    unread_.erase(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  const Json& json_;
  Json unread_;
  absl::Status status_;
};

Milliseconds ReadTime(Fields& fields, const char* key) {
  return Milliseconds(static_cast<Milliseconds::rep>(fields.Number(key, 0)));
}

Fault FaultIn(Fields& fields) {
  Fault fault;
  fault.function = fields.Text("function");
  fault.first = fields.Number("first", fault.first);
  fault.count = fields.Number("count", fault.count);
  fault.delay = ReadTime(fields, "delay_ms");
  fault.code = static_cast<hns::Hresult>(fields.Number("code", fault.code));
  fault.error_record = fields.Text("error_record");
  fault.done = fields.Flag("done", fault.done);
  fault.hangs = fields.Flag("hangs", fault.hangs);
  return fault;
}

// Refuses a fault for a function that does not exist, which would never be called.
absl::Status CheckFunction(const Fault& fault) {
  if (fault.function.empty()) return Wrong("\"function\" is missing");
  if (fault.function == "*" || hns::IsFunctionName(fault.function)) return absl::OkStatus();
  return Wrong(absl::StrCat("\"function\" is \"", fault.function,
                            "\", which HNS does not have; write one such as HcnModifyNetwork, ",
                            "HNSCall, or * for all"));
}

absl::StatusOr<Restart> ReadRestart(Fields& fields, Restart restart = {}) {
  constexpr std::string_view kNetworks[] = {"kept", "persistent-kept", "lost"};
  const std::string networks =
      fields.Text("networks", std::string(kNetworks[static_cast<int>(restart.networks)]));
  const auto* const known = std::find(std::begin(kNetworks), std::end(kNetworks), networks);
  if (known == std::end(kNetworks))
    return Wrong("\"networks\" must be kept, persistent-kept or lost");
  restart.networks = static_cast<Restart::Networks>(known - std::begin(kNetworks));
  restart.routes_kept = fields.Flag("routes_kept", restart.routes_kept);
  restart.endpoints_kept = fields.Flag("endpoints_kept", restart.endpoints_kept);
  restart.load_balancers_kept = fields.Flag("load_balancers_kept", restart.load_balancers_kept);
  restart.attachments_kept = fields.Flag("attachments_kept", restart.attachments_kept);
  restart.attachments_stale = fields.Flag("attachments_stale", restart.attachments_stale);
  restart.adapter_ids_new = fields.Flag("adapter_ids_new", restart.adapter_ids_new);
  restart.unsettled = ReadTime(fields, "unsettled_ms");
  restart.away = ReadTime(fields, "away_ms");
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  return restart;
}

// Runs `act` if all fields are valid.
Answer Then(const Fields& fields, auto act) {
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  act();
  return Json::object();
}

// Changes only the settings that the command names.
Answer Set(EmulatedNode& node, Fields& fields) {
  Json settings = SettingsJson(node.hns().settings());
  settings.update(fields.Object("settings"));
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  const absl::StatusOr<Settings> read = hns::emulator::ReadSettings(settings);
  if (!read.ok()) return read.status();
  node.hns().Set(*read);
  return Answer(Json::object());
}

Answer Load(EmulatedNode& node, Fields& fields) {
  const Json state = fields.Object("state");
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  const absl::Status loaded = node.hns().LoadState(state.dump());
  return loaded.ok() ? Answer(Json::object()) : loaded;
}

// The name of a known adapter, plugged in or not.
std::string AdapterIn(EmulatedNode& node, Fields& fields) {
  const std::string name = fields.Named("adapter");
  const host::HostState state = node.host().state();
  const bool known =
      std::any_of(state.adapters.begin(), state.adapters.end(),
                  [&](const host::EmulatedAdapter& each) { return each.adapter.name == name; });
  if (!known) fields.Refuse("adapter", "one that the host has; \"host\" shows them");
  return name;
}

std::uint32_t IndexOf(EmulatedNode& node, const std::string& adapter) {
  for (const host::EmulatedAdapter& each : node.host().state().adapters)
    if (each.adapter.name == adapter) return each.adapter.index;
  return 0;
}

std::vector<host::AssignedAddress> AddressesIn(Fields& fields) {
  const auto addresses = ParseAddresses(fields.Text("addresses"));
  if (!addresses) fields.Refuse("addresses", "such as 192.168.1.10/24,fd00::10/64");
  return addresses.value_or(std::vector<host::AssignedAddress>());
}

std::vector<IpAddress> ServersIn(Fields& fields) {
  std::vector<IpAddress> servers;
  const std::string text = fields.Text("name_servers");
  for (const std::string_view each : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const auto server = IpAddress::Parse(each);
    if (!server) fields.Refuse("name_servers", "such as 192.168.1.53,192.168.1.54");
    servers.push_back(server.value_or(IpAddress()));
  }
  return servers;
}

Answer SetStaticIp(EmulatedNode& node, Fields& fields) {
  const std::string adapter = AdapterIn(node, fields);
  host::StaticIp settings{AddressesIn(fields), ServersIn(fields), std::nullopt};
  constexpr std::uint64_t kAutomatic = ~std::uint64_t{0};
  if (const std::uint64_t metric = fields.Number("metric", kAutomatic); metric != kAutomatic) {
    settings.metric = static_cast<std::uint32_t>(metric);
    if (*settings.metric != metric) fields.Refuse("metric", "a number of 32 bits");
  }
  return Then(fields, [&] { node.host().SetStaticIp(adapter, std::move(settings)); });
}

Answer AddAdapter(EmulatedNode& node, Fields& fields) {
  host::Adapter adapter;
  adapter.name = fields.Named("adapter");
  adapter.addresses = AddressesIn(fields);
  if (IndexOf(node, adapter.name) != 0) fields.Refuse("adapter", "a name that is not taken");
  if (const std::string text = fields.Text("mac"); !text.empty()) {
    const auto mac = MacAddress::Parse(text);
    if (!mac) fields.Refuse("mac", "such as 00-15-5D-00-00-0A");
    adapter.mac = mac.value_or(MacAddress());
  }
  const bool usable = fields.Flag("usable", true);
  return Then(fields, [&] { AddNic(node.host(), std::move(adapter), usable); });
}

std::optional<host::Route> RouteIn(EmulatedNode& node, Fields& fields) {
  host::Route route;
  const auto destination = IpPrefix::Parse(fields.Named("destination"));
  if (!destination) fields.Refuse("destination", "such as 10.8.0.0/16");
  if (const std::string text = fields.Text("gateway"); !text.empty()) {
    route.gateway = IpAddress::Parse(text);
    if (!route.gateway) fields.Refuse("gateway", "an address");
  }
  route.adapter_index = IndexOf(node, AdapterIn(node, fields));
  if (!fields.status().ok()) return std::nullopt;
  route.destination = *destination;
  return route;
}

Answer ChangeRoute(EmulatedNode& node, Fields& fields, bool put) {
  const std::optional<host::Route> route = RouteIn(node, fields);
  if (!route) return fields.status();
  const absl::Status status = put ? node.host().ReplaceRoutes({*route}).front()
                                  : node.host().RemoveRoutes({*route}).front();
  return status.ok() ? Answer(Json::object()) : status;
}

Answer LoadHost(EmulatedNode& node, Fields& fields) {
  const Json document = fields.Object("host");
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  absl::StatusOr<host::HostState> state = host::ParseHostState(document.dump());
  if (!state.ok()) return state.status();
  node.host().Replace(*std::move(state));
  return Json::object();
}

using Carry = std::function<Answer(EmulatedNode&, Fields&)>;

// Has no fields.
Carry Act(void (*act)(EmulatedNode&)) {
  return [act](EmulatedNode& node, Fields& fields) { return Then(fields, [&] { act(node); }); };
}
// The same, with an answer.
Carry Show(Json (*show)(EmulatedNode&)) {
  return [show](EmulatedNode& node, Fields& fields) {
    const absl::Status status = fields.status();
    return status.ok() ? Answer(show(node)) : status;
  };
}
// Names an adapter.
Carry OnAdapter(void (*act)(host::EmulatedHost&, const std::string& adapter)) {
  return [act](EmulatedNode& node, Fields& fields) {
    const std::string adapter = AdapterIn(node, fields);
    return Then(fields, [&] { act(node.host(), adapter); });
  };
}
// Says what is lost, other than by `usual`.
Carry OnRestart(void (*act)(EmulatedNode&, const Restart&), const Restart& usual) {
  return [act, usual](EmulatedNode& node, Fields& fields) {
    const absl::StatusOr<Restart> restart = ReadRestart(fields, usual);
    if (!restart.ok()) return Answer(restart.status());
    act(node, *restart);
    return Answer(Json::object());
  };
}

const std::map<std::string_view, Carry>& Commands() {
  static const std::map<std::string_view, Carry> kCommands = {
      // of HNS
      {"fault",
       [](EmulatedNode& node, Fields& fields) {
         const Fault fault = FaultIn(fields);
         if (auto named = CheckFunction(fault); !named.ok()) return Answer(named);
         return Then(fields, [&] { node.hns().Add(fault); });
       }},
      {"clear-faults", Act([](EmulatedNode& node) { node.hns().ClearFaults(); })},
      {"stop", Act([](EmulatedNode& node) { node.hns().Stop(); })},
      {"start", OnRestart([](auto& node, const Restart& lost) { node.hns().Start(lost); }, {})},
      {"restart",
       OnRestart([](auto& node, const Restart& lost) { node.hns().RestartService(lost); }, {})},
      {"take-name",
       [](EmulatedNode& node, Fields& fields) {
         const std::string name = fields.Text("name");
         return Then(fields, [&] { node.hns().TakeName(name); });
       }},
      {"release-name",
       [](EmulatedNode& node, Fields& fields) {
         const std::string name = fields.Text("name");
         return Then(fields, [&] { node.hns().ReleaseName(name); });
       }},
      {"set", Set},
      {"calls", Show([](EmulatedNode& node) {
         return Json{{"total", node.hns().total_calls()}, {"functions", node.hns().calls()}};
       })},
      {"handles", Show([](EmulatedNode& node) {
         return Json{{"open", node.hns().open_handles()}, {"misuses", node.hns().handle_misuses()}};
       })},
      {"hanging", Show([](EmulatedNode& node) {
         return Json{{"calls", node.hns().hanging_calls()}};
       })},
      {"dump", Show([](EmulatedNode& node) { return Json::parse(node.hns().StateText()); })},
      {"load", Load},
      // of the machine
      {"reboot", OnRestart([](auto& node, const Restart& lost) { node.Reboot(lost); }, kReboot)},
      {"host", Show([](EmulatedNode& node) {
         return Json::parse(host::HostStateText(node.host().state()));
       })},
      {"load-host", LoadHost},
      {"add-adapter", AddAdapter},
      {"stop-firewall",
       [](EmulatedNode& node, Fields& fields) {
         const host::Milliseconds how_long = ReadTime(fields, "for_ms");
         return Then(fields, [&] { node.host().StopFirewall(how_long); });
       }},
      {"remove-adapter",
       OnAdapter([](auto& host, const std::string& adapter) { host.RemoveAdapter(adapter); })},
      {"rename",
       [](EmulatedNode& node, Fields& fields) {
         const std::string adapter = AdapterIn(node, fields), to = fields.Named("to");
         return Then(fields, [&] { node.host().Rename(adapter, to); });
       }},
      {"unplug", OnAdapter([](auto& host, const std::string& adapter) { host.Unplug(adapter); })},
      {"plug", OnAdapter([](auto& host, const std::string& adapter) { host.Plug(adapter); })},
      {"link",
       [](EmulatedNode& node, Fields& fields) {
         const std::string adapter = AdapterIn(node, fields);
         const bool up = fields.Flag("up", true);
         return Then(fields, [&] { node.host().SetUp(adapter, up); });
       }},
      {"set-addresses",
       [](EmulatedNode& node, Fields& fields) {
         const std::string adapter = AdapterIn(node, fields);
         const std::vector<host::AssignedAddress> addresses = AddressesIn(fields);
         return Then(fields, [&] { node.host().SetAddresses(adapter, addresses); });
       }},
      {"set-static-ip", SetStaticIp},
      {"put-route",
       [](EmulatedNode& node, Fields& fields) { return ChangeRoute(node, fields, true); }},
      {"remove-route",
       [](EmulatedNode& node, Fields& fields) { return ChangeRoute(node, fields, false); }},
  };
  return kCommands;
}

}  // namespace

absl::StatusOr<Fault> ReadFault(const Json& json) {
  if (!json.is_object()) return Wrong("a fault must be an object");
  Fields fields(json);
  Fault fault = FaultIn(fields);
  if (auto named = CheckFunction(fault); !named.ok()) return named;
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  return fault;
}

absl::StatusOr<Json> CarryOut(EmulatedNode& node, const Json& command) {
  const auto name = command.is_object() ? command.find("command") : command.end();
  if (name == command.end() || !name->is_string())
    return Wrong(R"(a command is an object, such as {"command":"dump"})");
  const auto known = Commands().find(name->get<std::string>());
  if (known == Commands().end())
    return Wrong(absl::StrCat(
        "there is no command \"", name->get<std::string>(),
        "\"; there are: ", absl::StrJoin(Commands(), " ", [](std::string* out, const auto& each) {
          absl::StrAppend(out, each.first);
        })));
  Json rest = command;
  rest.erase("command");
  Fields fields(rest);
  return known->second(node, fields);
}

hns::Reply Command(EmulatedNode& node, const std::string& text) {
  const Answer answer = CarryOut(node, Json::parse(text, nullptr, false));
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
