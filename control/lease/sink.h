// SPDX-License-Identifier: Apache-2.0
// Where usable leases go: the data plane, host routes, HNS. Sinks take the spec, not the event.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::lease {

// One usable family-half of a peer's lease.
struct Peer {
  std::string node;
  IpPrefix subnet;
  IpAddress public_ip;
  MacAddress vtep_mac;
  friend bool operator==(const Peer&, const Peer&) = default;
};

// What differs since the last call: keyed by subnet. A subnet stands in one of the two only.
struct PeerChanges {
  std::vector<Peer> upserts;
  std::vector<IpPrefix> removals;
  bool empty() const { return upserts.empty() && removals.empty(); }
};

// What is true now.
struct SinkReport {
  std::size_t desired = 0;
  std::size_t applied = 0;           // of those, verified in place
  std::vector<std::string> pending;  // each names the object and the cause; retried by Retry
  // False: what was asked last is still under way elsewhere, and the above is of before.
  bool settled = true;
  // Peers that this sink can have no way to, not counted in `desired`: what to change, for people.
  // They hold nobody up; the next Resync judges them again.
  std::vector<std::string> refused{};
  // Of `pending`, what was tried and refused by itself, each a condition of its one peer: entries
  // of `desired`, and old ones that cannot be removed. All else in `pending` is the sink's as a
  // whole, or not tried yet.
  std::size_t failed = 0;
  std::size_t stuck = 0;
  // Not settled because there is much to do: the rest is done by Retry, which is due at once.
  bool more = false;
  // What others do to it that fails nothing now, for people.
  std::vector<std::string> notes{};
};

// One thread (control). Idempotent: both calls compare with what is there and touch only what is
// wrong. A failed item stays pending and stops no other. A sink whose work takes long does it on a
// thread of its own: its answers say how it stands meanwhile, and Reconciler::OnSinkReport is told
// when that changes.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual std::string name() const = 0;
  // The first complete truth, and whenever trust is lost: reads what is there, removes what is ours
  // and unwanted.
  virtual SinkReport Resync(std::span<const Peer> all) = 0;
  virtual SinkReport Update(const PeerChanges& changes) = 0;
  // Tries pending items again. Called on a back-off schedule while there are any.
  virtual SinkReport Retry() = 0;
};

}  // namespace weft::lease
