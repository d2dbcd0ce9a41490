// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/handles.h"

namespace weft::hns::emulator {

Handle Handles::Open(Kind kind, const Guid& id) {
  const auto handle = static_cast<Handle>(++given_);
  entries_.emplace(handle, Entry{kind, id});
  return handle;
}

Handles::State Handles::Find(Kind kind, Handle handle, Guid& id) {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second.kind != kind) {
    ++misuses_;
    return State::kMisuse;
  }
  id = found->second.id;
  return found->second.dead ? State::kDead : State::kOpen;
}

Handles::State Handles::Close(Kind kind, Handle handle) {
  Guid id;
  const State state = Find(kind, handle, id);
  if (state != State::kMisuse) entries_.erase(handle);
  return state;
}

void Handles::KillAll() {
  for (auto& [handle, entry] : entries_) entry.dead = true;
}

}  // namespace weft::hns::emulator
