// SPDX-License-Identifier: Apache-2.0
// Injected faults: which calls fail, and how.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/emulator/hns/model/clock.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

struct Fault {
  static constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();

  // "HcnModifyNetwork"; "HNSCall", "HNSCall POST /networks/": as a prefix; "*": every call.
  std::string function;
  std::uint64_t first = 1;      // the nth matching call from now on
  std::uint64_t count = 1;      // how many in a row
  Milliseconds delay{0};        // the call takes this much longer
  Hresult code = hresult::kOk;  // kOk: only slow
  std::string error_record{};   // empty: the usual one for the code
  bool done = false;            // the call is executed, and only its reply is the fault's
  // The call does not return until the faults are cleared or the machine reboots
  // (azure-container-networking#1359 "hns got stuck in delete endpoint", WSL#12793: a list, until a
  // reboot). Then as above.
  bool hangs = false;
};

// Not thread-safe: the emulator's lock guards it.
class Faults {
 public:
  void Add(Fault fault) { rules_.push_back({std::move(fault), 0}); }
  void Clear() { rules_.clear(); }
  // Counts the call and returns the first fault that matches it.
  std::optional<Fault> Next(const ApiCall& call);
  // By function; HNSCall by method and path: "HNSCall POST /endpoints/".
  const std::map<std::string, std::uint64_t>& calls() const { return calls_; }
  std::uint64_t total() const { return total_; }

 private:
  struct Rule {
    Fault fault;
    std::uint64_t seen;
  };
  std::vector<Rule> rules_;
  std::map<std::string, std::uint64_t> calls_;
  std::uint64_t total_ = 0;
};

}  // namespace weft::hns::emulator
