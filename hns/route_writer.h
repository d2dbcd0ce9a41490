// SPDX-License-Identifier: Apache-2.0
// Carries out a RoutePlan in few calls: batches, halved on refusal until the one that is to blame
// stands alone.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hns/client.h"
#include "hns/retry_delay.h"
#include "hns/route_plan.h"

namespace weft::hns {

// Destinations in one request. HNS's limit is not documented; a refused batch finds it.
inline constexpr std::size_t kRouteBatch = 200;
// So many refused one by one without a success between: it is HNS, not they.
inline constexpr std::size_t kRefusedInARow = 16;

// What was refused alone stays pending with its reason and is tried again after a while, behind all
// others, so that it keeps none of them from being written. One thread.
class RouteWriter {
 public:
  // `plan` is of a reading that is newer than all that was written.
  void Take(RoutePlan plan, TimePoint now);

  bool has_work() const { return held_back_.empty() && (!fresh_.empty() || !again_.empty()); }
  // One batch: the removals in one call, then the additions in one, so that a changed peer is
  // without a route for a short time only. Not ok: HNS refused, and part of the batch may be
  // applied; read before the next one. The status is HNS's: the caller sees whether HNS went.
  absl::Status WriteBatch(OpenedNetwork& network, TimePoint now);

  // When refused ones are tried again; empty: there are none.
  std::optional<TimePoint> next() const { return next_; }
  // What HNS refused, each with the reason.
  std::vector<std::string> Pending() const;

 private:
  struct Refusal {
    std::string reason;
    std::optional<Policy> addition;  // that was refused; another one is tried at once
    bool again = false;              // its time has come
  };
  struct Attempt {
    RouteChange change;
    std::string otherwise;  // the reason, should it still be needed when read back
  };

  void StartOver();
  absl::Status Write(OpenedNetwork& network, const std::vector<RouteChange>& batch);
  void Narrow(std::vector<RouteChange> batch, const absl::Status& status, TimePoint now);
  void WaitFrom(TimePoint now);

  std::deque<RouteChange> fresh_;           // of the plan, in order: not refused
  std::deque<RouteChange> again_;           // refused before, and due
  std::map<std::string, Refusal> refused_;  // by destination
  std::map<std::string, Attempt> written_;  // since the last Take, by destination
  std::string held_back_;              // why fresh ones are not tried before next_; empty: they are
  std::size_t limit_ = kRouteBatch;    // of the next batch
  std::size_t ceiling_ = kRouteBatch;  // of its growth: more was refused with nobody to blame
  std::size_t in_a_row_ = 0;
  std::optional<TimePoint> next_;
  RetryDelay delay_{std::chrono::seconds(1), std::chrono::minutes(1)};
};

}  // namespace weft::hns
