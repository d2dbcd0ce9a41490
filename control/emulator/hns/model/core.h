// SPDX-License-Identifier: Apache-2.0
// What one call works on. The lock is held.
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
  std::vector<Event>& events;  // told once the lock is free
  std::size_t policies = 0;    // that the call named
};

// The next number of the row that `seed` begins.
std::uint64_t Draw(Core& core);
Guid NewGuid(Core& core);
// The same for the same text, every time: the switch of an adapter.
Guid GuidOf(const Settings& settings, std::string_view text);

// {"ID":"...","Flags":0}
void Tell(Core& core, Notification type, const Guid& id, std::uint32_t flags = 0);

// The id of a new object: `id`, else the document's "ID", else a new one. Zero: the document's is
// no GUID.
Guid IdFor(Core& core, const Guid& id, const Json& document);

}  // namespace weft::hns::emulator
