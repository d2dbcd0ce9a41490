// SPDX-License-Identifier: Apache-2.0
// The context of one call. The lock is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "control/emulator/hns/model/hns_state.h"
#include "control/emulator/hns/model/refusal.h"
#include "control/emulator/hns/model/settings.h"
#include "control/emulator/host/host_side.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

struct Event {
  Notification type;
  std::string data;
};

struct Core {
  HnsState& state;
  const Settings& settings;
  HostSide& host;
  Milliseconds now;
  std::vector<Event>& events;  // notified once the lock is released
  std::size_t policies = 0;    // number of policies that the call named
};

// The next number of the sequence that `seed` defines.
std::uint64_t Draw(Core& core);
Guid NewGuid(Core& core);
// Always the same for the same text: for example, the id of an adapter's switch.
Guid GuidOf(const Settings& settings, std::string_view text);

// Adds an event with the data {"ID":"...","Flags":0}.
void Notify(Core& core, Notification type, const Guid& id, std::uint32_t flags = 0);

// The id of a new object: `id`, else the document's "ID", else a new one. Zero: the document's "ID"
// is not a GUID.
Guid IdFor(Core& core, const Guid& id, const Json& document);

}  // namespace weft::hns::emulator
