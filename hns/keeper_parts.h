// SPDX-License-Identifier: Apache-2.0
// What the machines of overlay and bridge share.
#pragma once

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

// Why a round ends: what is waited for, and when to go on. `State` is the outcome's.
template <typename State>
struct Wait {
  State state = State::kInSync;
  std::string sentence{};
  std::optional<Duration> again{};
  bool failure = false;
};

// After failures: the first time at once, because reading again mends a dead handle.
class FailureDelay {
 public:
  Duration Next() { return std::exchange(failed_, true) ? delay_.Next() : Duration::zero(); }
  void Reset() { *this = FailureDelay(); }

 private:
  bool failed_ = false;
  RetryDelay delay_{std::chrono::milliseconds(500), std::chrono::seconds(10)};
};

// "HNS has not given the network flannel.4096 its management IP for 2 min: ..." In whole minutes: a
// sentence that changes with every round fills the log.
inline std::string AwaitsText(std::string_view network, std::string_view what, Duration waited) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(waited).count();
  return absl::StrCat("HNS has not given the network ", network, " its ", what,
                      minutes > 0 ? absl::StrCat(" for ", minutes, " min") : " yet",
                      ": it binds the adapter to its switch, which takes up to a minute");
}

// Enters `object` in the ledger and creates it by `call`. After an answer that is no clear refusal
// it stays entered: perhaps it was created.
template <typename C>
Sequence<typename C::Answer> CreateIntended(ObjectLedger& ledger, LedgerObject object,
                                            Ask<C> call) {
  ledger.Intend(object);
  typename C::Answer answer = co_await std::move(call);
  if (const auto code = HresultOf(StatusIn(answer)); code && ProvesRefusal(*code))
    ledger.Forget(object);
  co_return answer;
}

// The name by which HNS is given the adapter. HNS is left to choose, and may take any NIC, only
// once E_INVALIDARG to a name has lasted: it may be a virtual adapter's name, or something else is
// in the way, such as another network that is about to go.
class AdapterChoice {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(30);

  // Of AdapterWays: the one tried last.
  std::size_t way() const { return way_; }
  void StartOver() { way_ = 0; }
  // Something else was in the way.
  void Forget() { *this = AdapterChoice(); }

  // Creates by the present way, and where HNS refuses the adapter by the others in turn. `ways`:
  // AdapterWays(...), not empty. `create(way)`: the Sequence that creates by one.
  template <typename Ways, typename Create>
  std::invoke_result_t<const Create&, std::size_t> Try(const Ways& ways, const Create& create,
                                                       const std::function<TimePoint()>& clock) {
    auto answer = co_await create(way_);
    See(StatusIn(answer), clock());
    for (std::size_t tried = 1; tried < ways.size() && IsAboutAdapter(StatusIn(answer)); ++tried) {
      way_ = (way_ + 1) % ways.size();
      if (ways[way_].empty() && since_ && clock() - *since_ < kPatience) continue;
      answer = co_await create(way_);
      See(StatusIn(answer), clock());
    }
    co_return answer;
  }

 private:
  void See(const absl::Status& answer, TimePoint now) {
    if (!IsAboutAdapter(answer))
      since_.reset();
    else if (!since_ && HresultOf(answer) == hresult::kInvalidArgument)
      since_ = now;
  }

  std::size_t way_ = 0;
  std::optional<TimePoint> since_;  // of E_INVALIDARG
};

}  // namespace weft::hns
