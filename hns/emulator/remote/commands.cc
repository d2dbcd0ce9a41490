// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/remote/commands.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hns/emulator/remote/command_fields.h"
#include "hns/emulator/settings_json.h"

namespace weft::hns::emulator {
namespace {

using Json = nlohmann::json;
using Answer = absl::StatusOr<Json>;
using Fields = CommandFields;

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(what); }

Fault ReadFault(Fields& fields) {
  Fault fault;
  fault.function = fields.Text("function");
  fault.first = fields.Number("first", fault.first);
  fault.count = fields.Number("count", fault.count);
  fault.delay = Milliseconds(static_cast<Milliseconds::rep>(fields.Number("delay_ms", 0)));
  fault.code = static_cast<Hresult>(fields.Number("code", fault.code));
  fault.error_record = fields.Text("error_record");
  fault.done = fields.Flag("done", fault.done);
  fault.hangs = fields.Flag("hangs", fault.hangs);
  return fault;
}

// A fault of a function that is never called would never come.
absl::Status CheckFunction(const Fault& fault) {
  if (fault.function.empty()) return Wrong("\"function\" is missing");
  if (fault.function == "*" || IsFunctionName(fault.function)) return absl::OkStatus();
  return Wrong(absl::StrCat("\"function\" is \"", fault.function,
                            "\", which HNS does not have; write one such as HcnModifyNetwork, ",
                            "HNSCall, or * for all"));
}

Milliseconds ReadTime(Fields& fields, const char* key) {
  return Milliseconds(static_cast<Milliseconds::rep>(fields.Number(key, 0)));
}

Answer Done() { return Json::object(); }

// Of the settings only those that are named change.
Answer Set(Emulator& emulator, Fields& fields) {
  Json settings = Json::parse(SettingsJson(emulator.settings()).dump());
  settings.update(fields.Object("settings"));
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  const absl::StatusOr<Settings> read = ReadSettings(settings);
  if (!read.ok()) return read.status();
  emulator.Set(*read);
  return Done();
}

Answer Load(Emulator& emulator, Fields& fields) {
  const Json world = fields.Object("world");
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  const absl::Status loaded = emulator.LoadWorld(world.dump());
  return loaded.ok() ? Done() : loaded;
}

using Carry = Answer (*)(Emulator&, Fields&);

// Runs `act` once all fields were understood.
template <class Act>
Answer Then(const absl::Status& status, Act act) {
  if (!status.ok()) return status;
  act();
  return Done();
}

const std::map<std::string_view, Carry>& Commands() {
  static const std::map<std::string_view, Carry> kCommands = {
      {"fault",
       [](Emulator& emulator, Fields& fields) {
         const Fault fault = ReadFault(fields);
         if (auto named = CheckFunction(fault); !named.ok()) return Answer(named);
         return Then(fields.status(), [&] { emulator.Add(fault); });
       }},
      {"clear-faults",
       [](Emulator& emulator, Fields& fields) {
         return Then(fields.status(), [&] { emulator.ClearFaults(); });
       }},
      {"stop",
       [](Emulator& emulator, Fields& fields) {
         return Then(fields.status(), [&] { emulator.StopService(); });
       }},
      {"start",
       [](Emulator& emulator, Fields& fields) {
         const absl::StatusOr<Restart> restart = ReadRestart(fields);
         return Then(restart.status(), [&] { emulator.StartService(*restart); });
       }},
      {"restart",
       [](Emulator& emulator, Fields& fields) {
         const absl::StatusOr<Restart> restart = ReadRestart(fields);
         return Then(restart.status(), [&] { emulator.RestartService(*restart); });
       }},
      {"reboot",
       [](Emulator& emulator, Fields& fields) {
         const absl::StatusOr<Restart> restart = ReadRestart(fields, kReboot);
         return Then(restart.status(), [&] { emulator.Reboot(*restart); });
       }},
      {"take-name",
       [](Emulator& emulator, Fields& fields) {
         const std::string name = fields.Text("name");
         return Then(fields.status(), [&] { emulator.TakeName(name); });
       }},
      {"release-name",
       [](Emulator& emulator, Fields& fields) {
         const std::string name = fields.Text("name");
         return Then(fields.status(), [&] { emulator.ReleaseName(name); });
       }},
      {"set", Set},
      {"calls",
       [](Emulator& emulator, Fields& fields) {
         if (const absl::Status status = fields.status(); !status.ok()) return Answer(status);
         return Answer(Json{{"total", emulator.total_calls()}, {"functions", emulator.calls()}});
       }},
      {"handles",
       [](Emulator& emulator, Fields& fields) {
         if (const absl::Status status = fields.status(); !status.ok()) return Answer(status);
         return Answer(
             Json{{"open", emulator.open_handles()}, {"misuses", emulator.handle_misuses()}});
       }},
      {"hanging",
       [](Emulator& emulator, Fields& fields) {
         if (const absl::Status status = fields.status(); !status.ok()) return Answer(status);
         return Answer(Json{{"calls", emulator.hanging_calls()}});
       }},
      {"dump",
       [](Emulator& emulator, Fields& fields) {
         if (const absl::Status status = fields.status(); !status.ok()) return Answer(status);
         return Answer(Json::parse(emulator.SaveWorld()));
       }},
      {"load", Load},
  };
  return kCommands;
}

}  // namespace

absl::StatusOr<Fault> ReadFault(const nlohmann::json& json) {
  if (!json.is_object()) return Wrong("a fault must be an object");
  Fields fields(json);
  Fault fault = ReadFault(fields);
  if (auto named = CheckFunction(fault); !named.ok()) return named;
  if (const absl::Status status = fields.status(); !status.ok()) return status;
  return fault;
}

absl::StatusOr<Restart> ReadRestart(CommandFields& fields, Restart restart) {
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

std::vector<std::string_view> CommandNames() {
  std::vector<std::string_view> names;
  for (const auto& [each, carry] : Commands()) names.push_back(each);
  return names;
}

absl::StatusOr<nlohmann::json> CarryOut(Emulator& emulator, const nlohmann::json& command) {
  const auto name = command.is_object() ? command.find("command") : command.end();
  if (name == command.end() || !name->is_string()) {
    return Wrong(R"(a command is an object, such as {"command":"dump"})");
  }
  const auto known = Commands().find(name->get<std::string>());
  if (known == Commands().end())
    return Wrong(absl::StrCat("there is no command \"", name->get<std::string>(),
                              "\"; there are: ", absl::StrJoin(CommandNames(), " ")));
  Json rest = command;
  rest.erase("command");
  Fields fields(rest);
  return known->second(emulator, fields);
}

}  // namespace weft::hns::emulator
