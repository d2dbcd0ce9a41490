// SPDX-License-Identifier: Apache-2.0
// A network that weft created for an earlier spec under another name: net-conf had another VNI or
// Name. It is deleted once the desired network is in sync, so that the vSwitch stays and the node
// is not cut off. A network with local endpoints is kept and reported, because deleting it kills
// their pods. Remote endpoints, which represent pods of other nodes, are deleted with it, and so is
// the local one of kube-proxy's source VIP.
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
  bool exists = false;                       // under that id and that name
  std::vector<std::string> local_endpoints;  // names or ids, without those in `own`
  std::vector<KnownObject> own;              // local endpoints of `made`, deleted with the network
};

// Enters in the ledger the ids of networks that were intended and exist: the process was killed, or
// lost the answer, while it created one. The ledger decides by shape and boot whether such a
// network is ours. Not that of the name `desired`, which the keeper confirms itself.
Sequence<Nothing> ConfirmIntended(ObjectLedger& ledger, std::string desired);

// Makes no modifying call. `made`: our own endpoints, from the ledger (the bridge's .2).
Sequence<absl::StatusOr<FormerInspection>> InspectFormer(FormerNetwork former,
                                                         std::vector<KnownObject> made = {});

// Why the network is kept, and the next step for an operator.
std::string LeftText(const FormerNetwork& former, const std::vector<std::string>& local_endpoints);

struct FormerRemoval {
  bool existed = true;
  std::string note;     // why it still exists; empty: it does not
  absl::Status status;  // of the call that failed
};
// Deletes the network, our own endpoints in it, and their ledger entries, unless it has foreign
// local endpoints. A network that does not exist keeps its entry.
Sequence<FormerRemoval> RemoveFormer(ObjectLedger& ledger, FormerNetwork former,
                                     std::vector<KnownObject> made);

}  // namespace weft::hns
