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

void LoseAttachments(Core& core, bool stale) {
  for (auto& [id, endpoint] : core.world.endpoints) {
    if (!endpoint.attached) continue;
    if (endpoint.compartment != 0) core.host.DetachEndpoint(id);
    endpoint.stale = stale;
    endpoint.attached = stale;
    if (!stale) endpoint.compartment = 0;
  }
}

}  // namespace

void LoseByRestart(Core& core, const Restart& restart) {
  const bool all = restart.networks == Restart::Networks::kLost;
  if (!restart.endpoints_kept) {
    for (const auto& [id, network] : core.world.networks) DropEndpointsOf(core, id);
  }
  if (!restart.load_balancers_kept || all) core.world.load_balancers.clear();
  if (!restart.attachments_kept || restart.attachments_stale) {
    LoseAttachments(core, restart.attachments_stale);
  }
  if (!restart.routes_kept) {
    for (auto& [id, network] : core.world.networks) {
      network.policies.RemoveType("RemoteSubnetRoute");
      network.policies.RemoveType("HostRoute");
    }
  }
  if (restart.networks != Restart::Networks::kKept) LoseNetworks(core, all);
  for (auto& [id, network] : core.world.networks) {
    network.unbound = network.unbound || (restart.adapter_ids_new && !network.adapter.empty());
  }
  if (restart.unsettled > Milliseconds(0)) core.world.settled = core.now + restart.unsettled;
}

void LoseByReboot(Core& core, const Restart& restart) {
  LoseByRestart(core, restart);
  core.world.namespaces.clear();
  for (auto& [id, endpoint] : core.world.endpoints) endpoint.compartment_namespace = Guid();
}

void ComeBack(Core& core, const Restart& restart) {
  core.world.running = restart.away == Milliseconds(0);
  core.world.back_at = core.world.running ? Milliseconds(0) : core.now + restart.away;
}

}  // namespace weft::hns::emulator
