// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/life.h"

#include <vector>

#include "control/emulator/hns/model/endpoints.h"
#include "control/emulator/hns/model/network_settings.h"
#include "control/emulator/hns/model/networks.h"

namespace weft::hns::emulator {
namespace {

void LoseNetworks(Core& core, bool persistent_too) {
  std::vector<Guid> ids;
  for (const auto& [id, network] : core.state.networks) {
    if (persistent_too || (network.flags & kNonPersistent) != 0) ids.push_back(id);
  }
  for (const Guid& id : ids) DropNetwork(core, id);
}

void LoseAttachments(Core& core, bool stale) {
  for (auto& [id, endpoint] : core.state.endpoints) {
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
    for (const auto& [id, network] : core.state.networks) DropEndpointsOf(core, id);
  }
  if (!restart.load_balancers_kept || all) core.state.load_balancers.clear();
  if (!restart.attachments_kept || restart.attachments_stale) {
    LoseAttachments(core, restart.attachments_stale);
  }
  if (!restart.routes_kept) {
    for (auto& [id, network] : core.state.networks) {
      network.policies.RemoveType("RemoteSubnetRoute");
      network.policies.RemoveType("HostRoute");
    }
  }
  if (restart.networks != Restart::Networks::kKept) LoseNetworks(core, all);
  for (auto& [id, network] : core.state.networks) {
    network.unbound = network.unbound || (restart.adapter_ids_new && !network.adapter.empty());
  }
  if (restart.unsettled > Milliseconds(0)) core.state.settled = core.now + restart.unsettled;
}

void LoseByReboot(Core& core, const Restart& restart) {
  LoseByRestart(core, restart);
  core.state.namespaces.clear();
  for (auto& [id, endpoint] : core.state.endpoints) endpoint.compartment_namespace = Guid();
}

void ComeBack(Core& core, const Restart& restart) {
  core.state.running = restart.away == Milliseconds(0);
  core.state.back_at = core.state.running ? Milliseconds(0) : core.now + restart.away;
}

}  // namespace weft::hns::emulator
