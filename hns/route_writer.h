// SPDX-License-Identifier: Apache-2.0
// Applies a RoutePlan in few calls. Batches grow while HNS applies them whole and quickly, and
// shrink while it refuses them, applies a part or is slow, down to the single change that fails.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hns/retry_delay.h"
#include "hns/route_plan.h"
#include "hns/sequence.h"

namespace weft::hns {

// Destinations in one request. HNS documents no limit; no product is known to send more than about
// thirty policies at once (Azure's, for endpoints).
inline constexpr std::size_t kSeenRouteBatch = 30;
inline constexpr std::size_t kMostRouteBatch = 480;
// The size after `size`, while batches succeed. The first is 1: it shows what a call costs.
constexpr std::size_t GrownBatch(std::size_t size) {
  return size == 1 ? kSeenRouteBatch : std::min(2 * size, kMostRouteBatch);
}
// The duration that a batch aims at, and the one from which the size no longer grows even if a
// call's cost does not depend on its size.
inline constexpr Duration kBatchTime = std::chrono::seconds(1);
inline constexpr Duration kLongBatch = std::chrono::seconds(30);
// After so many single refusals in a row the fault is HNS's, not the changes'.
inline constexpr std::size_t kRefusedInARow = 16;

// A change that HNS refused alone stays pending with its reason and is retried later, after all
// others, so that it does not delay them. One thread.
class RouteWriter {
 public:
  // `plan` comes from a read that is newer than every write.
  void SetPlan(RoutePlan plan, TimePoint now);

  bool has_work() const { return held_back_.empty() && (!fresh_.empty() || !again_.empty()); }
  // The network is to be read before the next batch: only after a batch that shows whole may a
  // larger one follow.
  bool needs_read() const { return grows_to_ > limit_ && has_work(); }
  // Writes one batch to the open network: the removals in one call, then the additions in one, so
  // that a changed peer lacks a route only briefly. Not ok: HNS refused, and may have applied a
  // part of the batch; read before the next one. The status is HNS's, from which the caller sees
  // whether the service stopped. `clock` is read before and after the calls.
  using Clock = std::function<TimePoint()>;
  Sequence<absl::Status> WriteBatch(TimePoint now, const Clock& clock);

  // When refused changes are retried; empty: there are none.
  std::optional<TimePoint> next() const { return next_; }
  // Every refused or held back change, with the reason.
  std::vector<std::string> Pending() const;
  // Additions and removals that HNS refused alone.
  std::size_t refused_additions() const;
  std::size_t refused_removals() const { return refused_.size() - refused_additions(); }

 private:
  struct Refusal {
    std::string reason;
    std::optional<Policy> addition;  // the refused one; another addition is tried at once
    bool again = false;              // due for a retry
  };
  struct Attempt {
    RouteChange change;
    bool alone = false;
    std::string otherwise;  // if alone: the reason to report should the next read not show it
  };
  struct Timed {
    std::size_t size = 0;
    Duration took{};
  };

  void StartOver();
  void Learn(std::size_t not_shown);
  void Took(const Timed& batch);
  void Begin();
  void End(const absl::Status& status, Duration took, TimePoint now);
  void Narrow(const absl::Status& status, TimePoint now);
  void WaitFrom(TimePoint now);

  std::deque<RouteChange> fresh_;           // of the plan, in order: not refused before
  std::deque<RouteChange> again_;           // refused before, due for a retry
  std::vector<RouteChange> batch_;          // being written
  std::map<std::string, Refusal> refused_;  // by destination
  std::map<std::string, Attempt> written_;  // since the last SetPlan, by destination
  std::string held_back_;                   // why fresh_ waits for next_; empty: it does not
  std::size_t limit_ = 1;                   // size of the next batch
  // Most that limit_ grows to: HNS failed larger batches although no single change fails.
  std::size_t ceiling_ = kMostRouteBatch;
  std::size_t grows_to_ = 0;  // limit_ once a read shows the last batch whole
  Timed latest_, other_;      // successful batches; `other_` has another size
  std::size_t in_a_row_ = 0;
  std::optional<TimePoint> next_;
  RetryDelay delay_{std::chrono::seconds(1), std::chrono::minutes(1)};
};

}  // namespace weft::hns
