// SPDX-License-Identifier: Apache-2.0
// A packet filter in memory; a test removes rules from it and makes it fail.
#pragma once

#include <map>
#include <vector>

#include "control/host/packet_filter.h"

namespace weft::testing {

class FakePacketFilter final : public host::PacketFilter {
 public:
  absl::StatusOr<bool> Has(host::FilterPart part,
                           const std::vector<host::FilterRule>& rules) override {
    ++reads[part];
    if (!readable.ok()) return readable;
    if (!legacy_readable.ok() && part == host::FilterPart::kForwardLegacy) return legacy_readable;
    if (!chain_exists && part != host::FilterPart::kMasquerade) return true;
    return held[part] == rules;
  }
  absl::Status Put(host::FilterPart part, const std::vector<host::FilterRule>& rules) override {
    ++puts[part];
    if (!writable.ok()) return writable;
    held[part] = rules;
    return absl::OkStatus();
  }

  std::map<host::FilterPart, std::vector<host::FilterRule>> held;
  std::map<host::FilterPart, int> reads, puts;
  absl::Status readable, writable, legacy_readable;
  bool chain_exists = true;  // FORWARD
};

}  // namespace weft::testing
