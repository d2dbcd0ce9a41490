// SPDX-License-Identifier: Apache-2.0
// An Api that passes every call on, records those that change HNS, and calls the test before and
// after each call.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hns/api/api.h"

namespace weft::hns {

class WatchedApi final : public Api {
 public:
  struct Step {
    std::size_t number;    // from 1
    std::string function;  // "HcnModifyNetwork", "HNSCall"
    std::string document;  // settings, query, request, or the id
  };
  explicit WatchedApi(Api& api) : api_(&api) {}
  // From now on; who opened handles before has closed them.
  void Use(Api& api) { api_ = &api; }

  // A code refuses: before, the call is not made; after, it was and only its answer is lost. They
  // may throw, as if the process were killed there.
  std::function<std::optional<Hresult>(const Step&)> before, after;
  // May alter what HNS answered.
  std::function<void(const Step&, Reply&)> answer;
  // Documents of creates and modifies, ids of deletes, in order; also of those refused.
  std::vector<std::string> changes;
  std::size_t calls = 0;
  // With it, how long the longest call took.
  std::function<std::chrono::milliseconds()> now;
  std::chrono::milliseconds longest{0};

  Reply Make(const ApiCall& call) override {
    if (call.operation == Operation::kSubscribe || call.operation == Operation::kUnsubscribe)
      return api_->Make(call);
    const std::string document = DocumentOf(call);
    const Step step{++calls, std::string(call.function()), document};
    if (call.is_modifying()) changes.push_back(document);
    if (const auto code = before ? before(step) : std::nullopt) return Refusal(*code);
    const auto begin = now ? now() : std::chrono::milliseconds(0);
    Reply reply = api_->Make(call);
    if (now) longest = std::max(longest, now() - begin);
    if (const auto code = after ? after(step) : std::nullopt) {
      if (reply.handle != Handle::kNone) api_->Close(Kind::kNetwork, reply.handle);
      return Refusal(*code);
    }
    if (answer) answer(step, reply);
    return reply;
  }

 private:
  static std::string DocumentOf(const ApiCall& call) {
    if (call.operation == Operation::kCall) return call.object() + " " + call.text;
    return call.text.empty() && !call.id.is_zero() ? call.id.ToString() : call.text;
  }
  static Reply Refusal(Hresult code) {
    Reply reply;
    reply.code = code;
    return reply;
  }

  Api* api_;
};

}  // namespace weft::hns
