// SPDX-License-Identifier: Apache-2.0
#include "hns/route_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"

namespace weft::hns {

void RouteWriter::SetPlan(RoutePlan plan, TimePoint now) {
  if (next_ && now >= *next_) StartOver();
  fresh_.clear();
  again_.clear();
  std::map<std::string, Refusal> refused;
  bool pending = false;
  std::size_t not_shown = 0;
  for (RouteChange& change : plan.changes) {
    const auto written = written_.find(change.destination);
    // Only the same change counts as not applied: the spec may have changed meanwhile.
    if (written != written_.end() && written->second.change == change) {
      ++not_shown;
      if (!written->second.alone) {
        fresh_.push_back(std::move(change));
        continue;
      }
      refused.insert_or_assign(change.destination, Refusal{std::move(written->second.otherwise),
                                                           std::move(change.addition), false});
      pending = true;
      continue;
    }
    const auto known = refused_.find(change.destination);
    if (known == refused_.end() || known->second.addition != change.addition) {
      fresh_.push_back(std::move(change));
      continue;
    }
    refused.insert(*known);
    if (known->second.again) again_.push_back(std::move(change));
  }
  refused_ = std::move(refused);
  Learn(not_shown);
  written_.clear();
  if (pending) WaitFrom(now);
  if (plan.empty()) *this = RouteWriter();
}

// Adapts limit_ to how many of the written changes a read does not show.
void RouteWriter::Learn(std::size_t not_shown) {
  const std::size_t size = std::exchange(grows_to_, 0);
  if (not_shown == 0) {
    limit_ = std::max(limit_, size);
  } else if (limit_ > 1) {
    const std::size_t shown = written_.size() - not_shown;
    limit_ = ceiling_ =
        std::max<std::size_t>(1, std::min(limit_ / 2, limit_ * shown / written_.size()));
  } else {
    ceiling_ = kMostRouteBatch;  // these changes fail by themselves, so larger batches may succeed
  }
}

// Adapts limit_ to how long a batch took, compared with one of another size.
void RouteWriter::Took(const Timed& batch) {
  if (batch.size != latest_.size) other_ = latest_;
  latest_ = batch;
  const auto fits = batch.took * kMostRouteBatch <= kBatchTime
                        ? kMostRouteBatch
                        : static_cast<std::size_t>(batch.size * kBatchTime / batch.took);
  std::size_t target = std::min(GrownBatch(batch.size), fits);
  if (batch.took > kBatchTime) {
    const auto [small, large] =
        std::minmax(batch, other_, [](const Timed& a, const Timed& b) { return a.size < b.size; });
    const bool by_the_call =
        other_.size == 0 || 4 * small.size * large.took < 3 * large.size * small.took;
    if (!by_the_call)
      target = std::max<std::size_t>(1, fits);
    else
      target = batch.took < kLongBatch ? GrownBatch(batch.size) : batch.size;
  }
  if (target < batch.size) limit_ = target;
  if (batch.size == limit_ && target > limit_) grows_to_ = std::min(target, ceiling_);
}

// Every refused change may be retried.
void RouteWriter::StartOver() {
  next_.reset();
  held_back_.clear();
  in_a_row_ = 0;
  limit_ = 1;
  ceiling_ = kMostRouteBatch;
  latest_ = other_ = Timed();
  for (auto& [destination, refusal] : refused_) refusal.again = true;
}

Sequence<absl::Status> RouteWriter::WriteBatch(TimePoint now, const Clock& clock) {
  Begin();
  std::vector<Policy> removals, additions;
  for (const RouteChange& change : batch_) {
    removals.insert(removals.end(), change.removals.begin(), change.removals.end());
    if (change.addition) additions.push_back(*change.addition);
  }
  const TimePoint begin = clock();
  const bool one = removals.size() == 1;
  absl::Status status;
  if (!removals.empty()) status = co_await call::Remove(std::move(removals));
  // A single policy that was not found needs no removal; the next read verifies it.
  if (one && HresultOf(status) == hresult::kPolicyNotFound) status = absl::OkStatus();
  if (status.ok() && !additions.empty()) status = co_await call::Add(std::move(additions));
  End(status, clock() - begin, now);
  co_return status;
}

void RouteWriter::Begin() {
  std::deque<RouteChange>& from = fresh_.empty() ? again_ : fresh_;
  batch_.clear();
  while (!from.empty() && batch_.size() < limit_) {
    batch_.push_back(std::move(from.front()));
    from.pop_front();
  }
}

void RouteWriter::End(const absl::Status& status, Duration took, TimePoint now) {
  grows_to_ = 0;
  if (!status.ok()) return Narrow(status, now);
  in_a_row_ = 0;
  const std::size_t size = batch_.size();
  Took({size, took});
  for (RouteChange& change : batch_) {
    std::string destination = change.destination;
    written_.insert_or_assign(
        std::move(destination),
        Attempt{std::move(change), size == 1, "HNS accepted the change but does not show it"});
  }
}

void RouteWriter::Narrow(const absl::Status& status, TimePoint now) {
  if (batch_.size() > 1) {
    limit_ = ceiling_ = batch_.size() / 2;
    return;
  }
  // This change fails by itself, so larger batches without it may succeed.
  ceiling_ = kMostRouteBatch;
  RouteChange& change = batch_.front();
  std::string destination = change.destination;
  const auto code = HresultOf(status);
  if (code == hresult::kPolicyAlreadyExists || code == hresult::kPolicyNotFound) {
    // It may be in sync: the next read decides.
    written_.insert_or_assign(std::move(destination),
                              Attempt{std::move(change), true, std::string(status.message())});
  } else {
    refused_.insert_or_assign(std::move(destination), Refusal{std::string(status.message()),
                                                              std::move(change.addition), false});
    WaitFrom(now);
  }
  if (++in_a_row_ < kRefusedInARow) return;
  held_back_ = absl::StrCat("not tried: HNS refused the last ", kRefusedInARow, " one by one");
  WaitFrom(now);
}

void RouteWriter::WaitFrom(TimePoint now) {
  if (!next_) next_ = now + delay_.Next();
}

std::size_t RouteWriter::refused_additions() const {
  return static_cast<std::size_t>(
      std::count_if(refused_.begin(), refused_.end(),
                    [](const auto& entry) { return entry.second.addition.has_value(); }));
}

std::vector<std::string> RouteWriter::Pending() const {
  std::vector<std::string> pending;
  const auto append = [&](std::string_view destination, std::string_view reason) {
    pending.push_back(absl::StrCat("remote subnet ", destination, ": ", reason));
  };
  for (const auto& [destination, refusal] : refused_) append(destination, refusal.reason);
  if (!held_back_.empty())
    for (const RouteChange& change : fresh_) append(change.destination, held_back_);
  return pending;
}

}  // namespace weft::hns
