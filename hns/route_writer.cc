// SPDX-License-Identifier: Apache-2.0
#include "hns/route_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/hresult.h"

namespace weft::hns {

void RouteWriter::Take(RoutePlan plan, TimePoint now) {
  if (next_ && now >= *next_) StartOver();
  fresh_.clear();
  again_.clear();
  std::map<std::string, Refusal> refused;
  bool not_shown = false;
  for (RouteChange& change : plan.changes) {
    const auto written = written_.find(change.destination);
    // A wish that changed meanwhile makes another change, and is nobody's fault.
    if (written != written_.end() && written->second.change == change) {
      refused.insert_or_assign(change.destination, Refusal{std::move(written->second.otherwise),
                                                           std::move(change.addition), false});
      not_shown = true;
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
  written_.clear();
  if (not_shown) WaitFrom(now);
  if (plan.empty()) *this = RouteWriter();
}

// Everything that was refused may be tried once more.
void RouteWriter::StartOver() {
  next_.reset();
  held_back_.clear();
  in_a_row_ = 0;
  limit_ = ceiling_ = kRouteBatch;
  for (auto& [destination, refusal] : refused_) refusal.again = true;
}

absl::Status RouteWriter::WriteBatch(OpenedNetwork& network, TimePoint now) {
  std::deque<RouteChange>& from = fresh_.empty() ? again_ : fresh_;
  std::vector<RouteChange> batch;
  while (!from.empty() && batch.size() < limit_) {
    batch.push_back(std::move(from.front()));
    from.pop_front();
  }
  const absl::Status status = Write(network, batch);
  if (!status.ok()) {
    Narrow(std::move(batch), status, now);
    return status;
  }
  in_a_row_ = 0;
  limit_ = std::min(limit_ * 2, ceiling_);
  for (RouteChange& change : batch) {
    std::string destination = change.destination;
    written_.insert_or_assign(
        std::move(destination),
        Attempt{std::move(change), "HNS accepted the change but does not show it"});
  }
  return absl::OkStatus();
}

absl::Status RouteWriter::Write(OpenedNetwork& network, const std::vector<RouteChange>& batch) {
  std::vector<Policy> removals, additions;
  for (const RouteChange& change : batch) {
    removals.insert(removals.end(), change.removals.begin(), change.removals.end());
    if (change.addition) additions.push_back(*change.addition);
  }
  if (!removals.empty()) {
    const absl::Status status = network.Remove(removals);
    // Of one alone, "not there" is what was wanted; reading back will tell.
    const bool gone = removals.size() == 1 && HresultOf(status) == hresult::kPolicyNotFound;
    if (!status.ok() && !gone) return status;
  }
  return additions.empty() ? absl::OkStatus() : network.Add(additions);
}

void RouteWriter::Narrow(std::vector<RouteChange> batch, const absl::Status& status,
                         TimePoint now) {
  if (batch.size() > 1) {
    limit_ = ceiling_ = batch.size() / 2;
    return;
  }
  // It alone is to blame, also for the larger batches that it was in.
  ceiling_ = kRouteBatch;
  RouteChange& change = batch.front();
  std::string destination = change.destination;
  const auto code = HresultOf(status);
  if (code == hresult::kPolicyAlreadyExists || code == hresult::kPolicyNotFound) {
    // Perhaps all is well: reading back decides.
    written_.insert_or_assign(std::move(destination),
                              Attempt{std::move(change), std::string(status.message())});
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

std::vector<std::string> RouteWriter::Pending() const {
  std::vector<std::string> pending;
  const auto tell = [&](std::string_view destination, std::string_view reason) {
    pending.push_back(absl::StrCat("remote subnet ", destination, ": ", reason));
  };
  for (const auto& [destination, refusal] : refused_) tell(destination, refusal.reason);
  if (!held_back_.empty())
    for (const RouteChange& change : fresh_) tell(change.destination, held_back_);
  return pending;
}

}  // namespace weft::hns
