// SPDX-License-Identifier: Apache-2.0
// Consumers of usable leases: the data plane, host routes, HNS. Sinks receive the desired state,
// not events.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  bool behind_nat = false;  // FamilyLease::behind_nat
  friend bool operator==(const Peer&, const Peer&) = default;
};

// The changes since the last call, keyed by subnet. A subnet is in one of the two lists only.
struct PeerChanges {
  std::vector<Peer> upserts;
  std::vector<IpPrefix> removals;
  bool empty() const { return upserts.empty() && removals.empty(); }
};

// The current state of a sink.
struct SinkReport {
  std::size_t desired = 0;
  std::size_t applied = 0;           // of those, verified to be in sync
  std::vector<std::string> pending;  // each names the object and the cause; retried by Retry
  // False: the last request is still in progress on another thread, and the above is older.
  bool settled = true;
  // Peers that this sink cannot reach, one sentence each: cause and next step. They are not counted
  // in `desired` and delay no other peer; the next Resync judges them again.
  std::vector<std::string> refused{};
  // The part of `pending` that was tried and failed individually, each a condition of one peer:
  // `failed` counts entries of `desired`, `stuck` old entries that cannot be removed. Everything
  // else in `pending` concerns the sink as a whole, or was not tried yet.
  std::size_t failed = 0;
  std::size_t stuck = 0;
  // Not settled because the work is done in slices: Retry, due at once, does the rest.
  bool more = false;
  // Foreign changes that cause no failure now, for people.
  std::vector<std::string> notes{};
  // Since the report before: how many entries were in place, were lost and were put back, and one.
  std::size_t restored = 0;
  std::string restored_one{};
};

// One thread (control). Idempotent: each call compares with the actual state and changes only what
// differs. A failed item stays pending and stops no other. A sink whose work takes long does it on
// a thread of its own: its calls return the state at that time, and Reconciler::OnSinkReport
// receives later changes.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual std::string name() const = 0;
  // One of a few fixed words, for metrics.
  virtual std::string_view kind() const { return "other"; }
  // Called with the first complete snapshot, and whenever the actual state is in doubt: reads the
  // actual state, and removes what is ours and not desired.
  virtual SinkReport Resync(std::span<const Peer> all) = 0;
  virtual SinkReport Update(const PeerChanges& changes) = 0;
  // Tries pending items again. Called on a back-off schedule while there are any.
  virtual SinkReport Retry() = 0;
};

}  // namespace weft::lease
