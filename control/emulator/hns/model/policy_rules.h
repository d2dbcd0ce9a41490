// SPDX-License-Identifier: Apache-2.0
// Which policies are accepted, by object, network type and version; and how a request changes a
// list.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/emulator/hns/model/document.h"
#include "control/emulator/hns/model/policy_list.h"
#include "control/emulator/hns/model/settings.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

struct PolicySpec {
  std::string type;
  Json settings;  // an object, verbatim
};
// Reads an array in either view's form: {"Type","Settings":{}}, or flat. Null has no policies.
// Empty: it is not an array, or a policy has no type.
std::optional<std::vector<PolicySpec>> ReadPolicies(const Json& array);

// kOk, or the code of the refusal.
Hresult CheckNetworkPolicy(const Settings& settings, std::string_view network_type,
                           const PolicySpec& policy);
Hresult CheckEndpointPolicy(const Settings& settings, const PolicySpec& policy);

// The values of RequestType, in the order of their numbers. Refresh and Reset are not supported.
enum class Change : std::uint8_t { kAdd, kRemove, kUpdate };
std::optional<Change> ReadChange(const Json& request_type);

// Executes a request as `settings` specifies for batches and duplicates. Calls `check` for each
// policy that is added; views show the added ones from `shown_from` on.
Reply ChangePolicies(const Settings& settings, Change change, const std::vector<PolicySpec>& specs,
                     const std::function<Hresult(const PolicySpec&)>& check, PolicyList& list,
                     Milliseconds shown_from = Milliseconds(0));

}  // namespace weft::hns::emulator
