// SPDX-License-Identifier: Apache-2.0
// A network that weft made for an earlier wish under another name: net-conf had another VNI or
// Name. The rule: it goes once the wanted one holds, so that the vSwitch lives on and the node is
// not cut off; one in which local endpoints live is left and told of, because its end kills their
// pods. Remote endpoints go along: they stand for pods elsewhere, and who needs them has a local
// one too (kube-proxy's source VIP).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/client.h"
#include "hns/journal.h"

namespace weft::hns {

struct FormerNetwork {
  Guid id;
  std::string name;
  friend bool operator==(const FormerNetwork&, const FormerNetwork&) = default;
};

struct FormerLook {
  bool there = false;                    // under that id and that name
  std::vector<std::string> inhabitants;  // its local endpoints, by name
  std::vector<JournalEntry> own;         // ... but for those of `made`, which go along
};

// Makes no modifying call. `made`: endpoints, as the journal has them (the bridge's .2).
absl::StatusOr<FormerLook> LookAtFormer(Client& client, const FormerNetwork& former,
                                        std::span<const JournalEntry> made = {});

// Why it is left, and what a person does next.
std::string LeftText(const FormerNetwork& former, const std::vector<std::string>& inhabitants);

}  // namespace weft::hns
