// SPDX-License-Identifier: Apache-2.0
// Carries out a RoutePlan in few calls: batches that grow while HNS takes them whole and quickly,
// and shrink when it refuses them, applies a part or is slow, down to the one that is to blame.
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

// Destinations in one request. HNS documents no limit; no product is known to send more than
// some thirty policies at once (Azure's, for endpoints).
inline constexpr std::size_t kSeenRouteBatch = 30;
inline constexpr std::size_t kMostRouteBatch = 480;
// The size after `size`, while all goes well. The first is one: it shows what a call costs.
constexpr std::size_t GrownBatch(std::size_t size) {
  return size == 1 ? kSeenRouteBatch : std::min(2 * size, kMostRouteBatch);
}
// What a batch aims at, and from where on a larger one is not tried even where a call costs the
// same whatever it carries.
inline constexpr Duration kBatchTime = std::chrono::seconds(1);
inline constexpr Duration kLongBatch = std::chrono::seconds(30);
// So many refused one by one without a success between: it is HNS, not they.
inline constexpr std::size_t kRefusedInARow = 16;

// What was refused alone stays pending with its reason and is tried again after a while, behind all
// others, so that it keeps none of them from being written. One thread.
class RouteWriter {
 public:
  // `plan` is of a reading that is newer than all that was written.
  void Take(RoutePlan plan, TimePoint now);

  bool has_work() const { return held_back_.empty() && (!fresh_.empty() || !again_.empty()); }
  // Read before the next batch: only one that shows whole is followed by a larger one.
  bool wants_reading() const { return grows_to_ > limit_ && has_work(); }
  // One batch to the open network: the removals in one call, then the additions in one, so that a
  // changed peer is without a route for a short time only. Not ok: HNS refused, and part of the
  // batch may be applied; read before the next one. The status is HNS's: the caller sees whether
  // HNS went. `clock` is read before and after the calls.
  using Clock = std::function<TimePoint()>;
  Sequence<absl::Status> WriteBatch(TimePoint now, const Clock& clock);

  // When refused ones are tried again; empty: there are none.
  std::optional<TimePoint> next() const { return next_; }
  // What HNS refused, each with the reason.
  std::vector<std::string> Pending() const;
  // Of them, additions and removals that were refused alone.
  std::size_t refused_additions() const;
  std::size_t refused_removals() const { return refused_.size() - refused_additions(); }

 private:
  struct Refusal {
    std::string reason;
    std::optional<Policy> addition;  // that was refused; another one is tried at once
    bool again = false;              // its time has come
  };
  struct Attempt {
    RouteChange change;
    bool alone = false;
    std::string otherwise;  // of one alone: the reason, should it still be needed when read back
  };
  struct Timed {
    std::size_t size = 0;
    Duration took{};
  };

  void Reset();
  void StartOver();
  void Learn(std::size_t not_shown);
  void Took(const Timed& batch);
  void Begin();
  void End(const absl::Status& status, Duration took, TimePoint now);
  void Narrow(const absl::Status& status, TimePoint now);
  void WaitFrom(TimePoint now);

  std::deque<RouteChange> fresh_;           // of the plan, in order: not refused
  std::deque<RouteChange> again_;           // refused before, and due
  std::vector<RouteChange> batch_;          // that is being written
  std::map<std::string, Refusal> refused_;  // by destination
  std::map<std::string, Attempt> written_;  // since the last Take, by destination
  std::string held_back_;  // why fresh ones are not tried before next_; empty: they are
  std::size_t limit_ = 1;  // of the next batch
  // Of its growth: more was refused with no single route to blame.
  std::size_t ceiling_ = kMostRouteBatch;
  std::size_t grows_to_ = 0;  // limit_, once the last batch shows whole
  Timed latest_, other_;      // batches that were taken; `other_` is of another size
  std::size_t in_a_row_ = 0;
  std::optional<TimePoint> next_;
  RetryDelay delay_{std::chrono::seconds(1), std::chrono::minutes(1)};
};

}  // namespace weft::hns
