// SPDX-License-Identifier: Apache-2.0
// Shared by OverlayMachine and BridgeMachine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"
#include "hns/object_ledger.h"
#include "hns/retry_delay.h"
#include "hns/sequence.h"

namespace weft::hns {

// Why a round ends: what it waits for, and when to continue. `State` is the outcome's.
template <typename State>
struct Wait {
  State state = State::kInSync;
  std::string sentence{};
  std::optional<Duration> again{};
  bool failure = false;
};

// Delay after failures. The first retry is immediate, because reading again replaces a dead handle.
class FailureDelay {
 public:
  Duration Next() { return std::exchange(failed_, true) ? delay_.Next() : Duration::zero(); }
  void Reset() { *this = FailureDelay(); }

 private:
  bool failed_ = false;
  RetryDelay delay_{std::chrono::milliseconds(500), std::chrono::seconds(10)};
};

// Whether an object was lost: it was as desired, and a read shows it missing or changed although we
// did not delete it. Only what was lost is a repair, once HNS has it again.
class Loss {
 public:
  bool lost() const { return lost_; }
  // `right`: it exists as desired. Returns whether it was lost and no longer is.
  bool Found(bool right) {
    const bool was_lost = std::exchange(lost_, !right && (lost_ || had_));
    had_ = right;
    return right && was_lost;
  }

 private:
  bool had_ = false, lost_ = false;
};

// Whether the network was lost, and when it is created again: the first three times at once, then
// 5 s after its last creation, doubled each time up to a minute. Ten minutes without a loss start
// over.
class Recreation {
 public:
  static constexpr int kAtOnce = 3;
  static constexpr Duration kQuiet = std::chrono::minutes(10);

  // The network was looked for. `right`: as in Loss.
  void Found(bool exists, bool right, TimePoint now) {
    loss_.Found(right);
    lost_now_ = loss_.lost() && !exists && !missing_;
    missing_ = !exists;
    if (!lost_now_) return;
    if (losses_ > 0 && now - due_ >= kQuiet) RetryNow();
    due_ = ++losses_ > kAtOnce ? std::max(now, created_at_ + delay_.Next()) : now;
  }
  // The round in which its loss is seen ends before it is created again, so that others see it.
  bool IsAwaited(TimePoint now) const { return lost_now_ || (missing_ && now < due_); }
  void Deleted() { missing_ = true; }  // by us
  // Returns whether it was lost.
  bool Created(TimePoint now) {
    missing_ = false;
    created_at_ = now;
    return loss_.Found(true);
  }
  void RetryNow() {
    delay_.Reset();
    due_ = TimePoint();
    losses_ = 0;
  }
  // While IsAwaited.
  template <typename State>
  Wait<State> Awaits(std::string_view network, TimePoint now) const {
    const bool often = losses_ > kAtOnce;
    return {State::kNetwork,
            absl::StrCat("the HNS network ", network, " is gone: another program or HNS deleted it",
                         often ? absl::StrCat(", ", losses_, " times in a short time") : "",
                         "; it is created again ",
                         often ? "after a pause of up to a minute; find the program that deletes it"
                               : "at once"),
            std::max(due_ - now, Duration::zero())};
  }

 private:
  RetryDelay delay_{std::chrono::seconds(5), std::chrono::seconds(60)};
  Loss loss_;
  bool missing_ = false, lost_now_ = false;
  TimePoint created_at_{}, due_{};
  int losses_ = 0;  // none of them ten minutes after the one before
};

// "HNS has not given the network flannel.4096 its management IP for 2 min: ..." In whole minutes,
// because a sentence that changes in every round fills the log.
inline std::string AwaitsText(std::string_view network, std::string_view what, Duration waited) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(waited).count();
  return absl::StrCat("HNS has not given the network ", network, " its ", what,
                      minutes > 0 ? absl::StrCat(" for ", minutes, " min") : " yet",
                      ": it binds the adapter to its switch, which takes up to a minute");
}

// Enters `object` in the ledger and creates it by `call`. The entry is removed only if the answer
// proves that HNS created nothing.
template <typename C>
Sequence<typename C::Answer> CreateIntended(ObjectLedger& ledger, LedgerObject object,
                                            Awaiter<C> call) {
  ledger.Intend(object);
  typename C::Answer answer = co_await std::move(call);
  if (const auto code = HresultOf(StatusIn(answer)); code && ProvesRefusal(*code))
    ledger.Forget(object);
  co_return answer;
}

// Which adapter candidate a create passes to HNS. The empty candidate, with which HNS chooses any
// NIC, is used only after a named one has failed with E_INVALIDARG for kPatience: the name may be a
// virtual adapter's, or a network that is being deleted still conflicts.
class AdapterChoice {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(30);

  // The candidate tried last: index into AdapterCandidates.
  std::size_t candidate() const { return candidate_; }
  void StartOver() { candidate_ = 0; }
  // The failures had another cause.
  void Forget() { *this = AdapterChoice(); }

  // Creates with the present candidate; if HNS refuses the adapter, with the others in turn.
  // `candidates`: AdapterCandidates(...), not empty. `create(candidate)`: the Sequence that
  // creates.
  template <typename Candidates, typename Create>
  std::invoke_result_t<const Create&, std::size_t> Try(const Candidates& candidates,
                                                       const Create& create,
                                                       const std::function<TimePoint()>& clock) {
    auto answer = co_await create(candidate_);
    Record(StatusIn(answer), clock());
    for (std::size_t tried = 1; tried < candidates.size() && IsAboutAdapter(StatusIn(answer));
         ++tried) {
      candidate_ = (candidate_ + 1) % candidates.size();
      if (candidates[candidate_].empty() && since_ && clock() - *since_ < kPatience) continue;
      answer = co_await create(candidate_);
      Record(StatusIn(answer), clock());
    }
    co_return answer;
  }

 private:
  void Record(const absl::Status& answer, TimePoint now) {
    if (!IsAboutAdapter(answer))
      since_.reset();
    else if (!since_ && HresultOf(answer) == hresult::kInvalidArgument)
      since_ = now;
  }

  std::size_t candidate_ = 0;
  std::optional<TimePoint> since_;  // first E_INVALIDARG in a row
};

}  // namespace weft::hns
