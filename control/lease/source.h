// SPDX-License-Identifier: Apache-2.0
// Where leases come from. A source reports snapshots and changes to its listener; the caller owns
// both and runs them on one thread.
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
  std::string uid{};   // empty: unreadable, or the source has none
  std::optional<IpFamily> half{};  // only this one (Lease::unread); the lease was reported before
  friend bool operator==(const RefusedNode&, const RefusedNode&) = default;
};

// A Node that no flanneld has joined. This is not an error.
struct NotJoinedNode {
  NodeKey node;
  std::string reason;  // the annotation that is missing
  friend bool operator==(const NotJoinedNode&, const NotJoinedNode&) = default;
};

// What a source reports. All calls come on the control thread.
class SourceListener {
 public:
  virtual ~SourceListener() = default;
  // A snapshot begins: the nodes reported until its end are all there are. A second begin before
  // the end means that the earlier snapshot was cut short: what it reported is valid, the rest is
  // unknown.
  virtual void OnSnapshotBegin() = 0;
  // Nodes that were not reported since the begin no longer exist. The first one means "in sync":
  // nothing may be deleted before it.
  virtual void OnSnapshotEnd() = 0;
  // One node appeared or changed; or was deleted, or is no longer managed by flannel. Within a
  // snapshot or after one.
  virtual void OnUpsert(const Lease& lease) = 0;
  virtual void OnDelete(const NodeKey& node) = 0;
  virtual void OnRefused(const RefusedNode& node) = 0;
  // Follows the node's OnDelete if it may have had a lease; within a snapshot there is no OnDelete.
  virtual void OnNotJoined(const NotJoinedNode& /*node*/) {}
  // The source cannot be read at the moment (the file is missing or does not parse; the API server
  // is unreachable). The known leases stay. OkStatus ends the condition.
  virtual void OnCondition(const absl::Status& status) = 0;
  // Our own Node changed, or does not exist (empty). Called before the event that reports the same
  // Node, so that peers are judged by it; absence is reported before OnSnapshotEnd.
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
