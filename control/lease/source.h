// SPDX-License-Identifier: Apache-2.0
// Where leases come from. A source tells its listener snapshots and changes; the caller owns both
// and runs them on one thread.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"

namespace weft::lease {

// A Node that could not be read as a lease: named, counted and shown, never fatal.
struct RefusedNode {
  std::string name;    // "#17" (its position) when even the name could not be read
  std::string reason;  // e.g. "spec.podCIDR \"10.244.300.0/24\" is not an address block"
  std::string uid{};   // empty: not readable either, or the source has none
  friend bool operator==(const RefusedNode&, const RefusedNode&) = default;
};

// A Node that no flannel has joined: nothing is wrong with it.
struct NotJoinedNode {
  NodeKey node;
  std::string reason;  // the annotation that is missing
  friend bool operator==(const NotJoinedNode&, const NotJoinedNode&) = default;
};

// What a source reports. All calls come on the control thread.
class SourceListener {
 public:
  virtual ~SourceListener() = default;
  // A snapshot begins: the nodes told until its end are all there are. Begun again before the end,
  // the earlier one was cut short: what it told is true, what it left out is not known.
  virtual void OnSnapshotBegin() = 0;
  // What was known and has not been told since the begin is gone. The first one means "in sync":
  // only from then on may anything be deleted.
  virtual void OnSnapshotEnd() = 0;
  // One node appeared or changed, or is gone (or no flannel node any more). Within a snapshot or
  // after one.
  virtual void OnUpsert(const Lease& lease) = 0;
  virtual void OnDelete(const NodeKey& node) = 0;
  virtual void OnRefused(const RefusedNode& node) = 0;
  // After its OnDelete where it may have had a lease; within a snapshot without.
  virtual void OnNotJoined(const NotJoinedNode& /*node*/) {}
  // The source cannot be read at the moment (the file vanished, does not parse; the API server is
  // away). What was known stays. OkStatus ends the trouble.
  virtual void OnCondition(const absl::Status& status) = 0;
  // Our own Node changed, or is not there (empty). Before the event it came with, so that peers are
  // judged by it; its absence is told before OnSnapshotEnd.
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
