// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/world.h"

#include <utility>

#include "control/emulator/adapter_text.h"
#include "nlohmann/json.hpp"

namespace weft::emulator {
namespace {

using OrderedJson = nlohmann::ordered_json;

}  // namespace

World::World(hns::emulator::Clock& clock, hns::emulator::Settings settings)
    : host_({}, [&clock] { return clock.Now(); }), side_(host_), hns_(clock, side_, settings) {}

std::string World::Text() const {
  OrderedJson out;
  out["host"] = OrderedJson::parse(host::HostStateText(host_.state()));
  out["hns"] = OrderedJson::parse(hns_.SaveWorld());
  return out.dump(1) + "\n";
}

absl::Status World::Read(std::string_view text) {
  OrderedJson document = OrderedJson::object();
  if (!text.empty()) {
    constexpr int kDeepest = 64;
    bool too_deep = false;
    document = OrderedJson::parse(
        text,
        [&](int depth, OrderedJson::parse_event_t, OrderedJson&) {
          too_deep = too_deep || depth > kDeepest;
          return !too_deep;
        },
        false);
    if (!document.is_object())  // too deep: discarded
      return absl::InvalidArgumentError(
          "world: it is no JSON object, or nests too deep; correct it");
  }
  const auto part = [&](const char* key) {
    const auto found = document.find(key);
    return found == document.end() ? std::string("{}") : found->dump();
  };
  absl::StatusOr<host::HostState> host = host::ParseHostState(part("host"));
  if (!host.ok()) return host.status();
  if (absl::Status status = hns_.LoadWorld(part("hns")); !status.ok()) return status;
  host_.Replace(*std::move(host));
  return absl::OkStatus();
}

void World::Reboot(const hns::emulator::Restart& restart) {
  host_.Reboot();
  hns_.Reboot(restart);
}

void AddEthernet(host::EmulatedHost& host, const host::AssignedAddress& address,
                 const IpAddress& gateway) {
  host::Adapter ethernet;
  ethernet.name = "Ethernet";
  ethernet.addresses = {address};
  host::Route route;
  route.gateway = gateway;
  route.adapter_index = AddNic(host, std::move(ethernet));
  host.PutRoutes({route});
}

}  // namespace weft::emulator
