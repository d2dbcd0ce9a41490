// SPDX-License-Identifier: Apache-2.0
// Open handles. Numbers are never reused, so that a use after close is always detected.
#pragma once

#include <cstdint>
#include <map>

#include "hns/api/api.h"

namespace weft::hns::emulator {

class Handles {
 public:
  enum class State : std::uint8_t {
    kOpen,
    kDead,    // the service has restarted since
    kMisuse,  // closed already, unknown, or of another kind; counted
  };

  Handle Open(Kind kind, const Guid& id);
  State Find(Kind kind, Handle handle, Guid& id);
  State Close(Kind kind, Handle handle);
  // The handles remain and must still be closed.
  void KillAll();

  std::size_t open() const { return entries_.size(); }
  std::uint64_t misuses() const { return misuses_; }

 private:
  struct Entry {
    Kind kind;
    Guid id;
    bool dead = false;
  };
  std::map<Handle, Entry> entries_;
  std::uint64_t given_ = 0;
  std::uint64_t misuses_ = 0;
};

}  // namespace weft::hns::emulator
