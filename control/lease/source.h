// SPDX-License-Identifier: Apache-2.0
// Where leases come from. A source tells its sink snapshots and changes; the caller owns both and
// runs them on one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"

namespace weft::lease {

// A Node that could not be read as a lease: named, counted and shown, never fatal.
struct RefusedNode {
  std::string name;    // "#17" (its position) when even the name could not be read
  std::string reason;  // e.g. "spec.podCIDR \"10.244.300.0/24\" is not an address block"
  friend bool operator==(const RefusedNode&, const RefusedNode&) = default;
};

// What a source reports. All calls come on the control thread.
class SourceListener {
 public:
  virtual ~SourceListener() = default;
  // The whole truth at one moment. The first one means "in sync": only from then on may anything be
  // deleted.
  virtual void OnSnapshot(std::vector<Lease> leases, std::vector<RefusedNode> refused) = 0;
  // One node appeared or changed, or is gone. Only after a snapshot.
  virtual void OnUpsert(Lease lease) = 0;
  virtual void OnDelete(const NodeKey& node) = 0;
  virtual void OnRefused(RefusedNode node) = 0;
  // The source cannot be read at the moment (the file vanished, does not parse; the API server is
  // away). What was known stays. OkStatus ends the trouble.
  virtual void OnTrouble(const absl::Status& status) = 0;
  // Our own Node changed, or is not there (empty). Before the snapshot or event it came with, so
  // that peers are judged by it.
  virtual void OnOwnNode(const std::optional<OwnNode>& /*node*/) {}
};

class Source {
 public:
  virtual ~Source() = default;
  // Begins to report to `listener`, which outlives the source. Called once.
  virtual void Start(SourceListener& listener) = 0;
  // For people: "file /etc/weft/nodes.json".
  virtual std::string Describe() const = 0;
};

}  // namespace weft::lease
