// SPDX-License-Identifier: Apache-2.0
// What the bridge's keeper would do now, without doing it; for `flannelctl plan` and `hns drift`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/bridge.h"
#include "hns/overlay_drift.h"
#include "hns/sequence.h"

namespace weft::hns {

// Makes no modifying call.
Sequence<absl::StatusOr<BridgePlan>> InspectBridge(const BridgeSpec& spec);

// In the keeper's order. An endpoint on a network that does not exist yet has a zero network id.
std::vector<PlannedCall> PlannedCalls(const BridgePlan& plan, const BridgeSpec& spec);
Drift DriftOf(const BridgePlan& plan, const BridgeSpec& spec);

std::string BridgeNetworkPath(const Guid& id);
std::string BridgeEndpointPath(const Guid& id);

}  // namespace weft::hns
