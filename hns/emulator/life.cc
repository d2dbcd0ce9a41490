// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/life.h"

#include <vector>

#include "hns/emulator/endpoints.h"
#include "hns/emulator/network_settings.h"
#include "hns/emulator/networks.h"

namespace weft::hns::emulator {
namespace {

void LoseNetworks(Core& core, bool persistent_too) {
  std::vector<Guid> ids;
  for (const auto& [id, network] : core.world.networks) {
    if (persistent_too || (network.flags & kNonPersistent) != 0) ids.push_back(id);
  }
  for (const Guid& id : ids) DropNetwork(core, id);
}

void LoseEndpoints(Core& core) {
  for (const auto& [id, network] : core.world.networks) DropEndpointsOf(core, id);
  core.world.load_balancers.clear();
}

}  // namespace

void LoseByRestart(Core& core, const Restart& restart) {
  if (!restart.endpoints_kept) LoseEndpoints(core);
  if (!restart.routes_kept) {
    for (auto& [id, network] : core.world.networks) {
      network.policies.RemoveType("RemoteSubnetRoute");
      network.policies.RemoveType("HostRoute");
    }
  }
  if (restart.networks != Restart::Networks::kKept) {
    LoseNetworks(core, restart.networks == Restart::Networks::kLost);
  }
}

void LoseByReboot(Core& core) {
  LoseEndpoints(core);
  core.world.namespaces.clear();
  LoseNetworks(core, false);
}

}  // namespace weft::hns::emulator
