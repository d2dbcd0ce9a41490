// SPDX-License-Identifier: Apache-2.0
// A network that weft made for an earlier spec under another name: net-conf had another VNI or
// Name. The rule: it goes once the wanted one holds, so that the vSwitch lives on and the node is
// not cut off; one in which local endpoints live is left and told of, because its end kills their
// pods. Remote endpoints go along: they stand for pods elsewhere, and who needs them has a local
// one too (kube-proxy's source VIP).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/object_ledger.h"
#include "hns/sequence.h"

namespace weft::hns {

struct FormerNetwork {
  Guid id;
  std::string name;
  friend bool operator==(const FormerNetwork&, const FormerNetwork&) = default;
};

struct FormerInspection {
  bool there = false;                    // under that id and that name
  std::vector<std::string> inhabitants;  // its local endpoints, by name
  std::vector<KnownObject> own;          // ... but for those of `made`, which go along
};

// Makes no modifying call. `made`: endpoints, as the ledger has them (the bridge's .2).
Sequence<absl::StatusOr<FormerInspection>> InspectFormer(FormerNetwork former,
                                                         std::vector<KnownObject> made = {});

// Why it is left, and what a person does next.
std::string LeftText(const FormerNetwork& former, const std::vector<std::string>& inhabitants);

struct FormerRemoval {
  bool there = true;    // it was
  std::string note;     // why it is left; empty: it is gone
  absl::Status status;  // of the call that failed
};
// Deletes it with our own endpoints, and its entries, unless others' endpoints live in it. One that
// is not there keeps its entry.
Sequence<FormerRemoval> RemoveFormer(ObjectLedger& ledger, FormerNetwork former,
                                     std::vector<KnownObject> made);

}  // namespace weft::hns
