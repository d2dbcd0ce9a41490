// SPDX-License-Identifier: Apache-2.0
// An Api that records its calls and returns the answers that the test prepared.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hns/api/api.h"

namespace weft::hns {

class RecordingApi final : public Api {
 public:
  // The next answer of `function`; without one a call succeeds with nothing.
  void Answer(std::string_view function, Reply reply) {
    answers_[std::string(function)].push_back(std::move(reply));
  }
  void AnswerText(std::string_view function, std::string text) {
    Reply reply;
    reply.text = std::move(text);
    Answer(function, std::move(reply));
  }
  void AnswerCode(std::string_view function, Hresult code) {
    Reply reply;
    reply.code = code;
    Answer(function, std::move(reply));
  }

  // "HcnModifyNetwork 1 {...}": function, handle or id, document.
  std::vector<std::string> calls;
  std::set<Handle> open;  // not closed yet

  Reply Make(const ApiCall& call) override {
    const std::string number = std::to_string(static_cast<std::uint64_t>(call.handle));
    if (call.is_releasing()) open.erase(call.handle);
    switch (call.operation) {
      case Operation::kEnumerate:
        return Next(call, call.text);
      case Operation::kCreate:
        return Opening(Next(call, (call.handle == Handle::kNone ? "" : number + " ") +
                                      call.id.ToString() + " " + call.text));
      case Operation::kOpen:
        return Opening(Next(call, call.id.ToString()));
      case Operation::kModify:
      case Operation::kQuery:
        return Next(call, number + " " + call.text);
      case Operation::kDelete:
        return Next(call, call.id.ToString());
      case Operation::kClose:
      case Operation::kUnsubscribe:
        return Next(call, number);
      case Operation::kCall:
        return Next(call, call.object() + " [" + call.text + "]");
      case Operation::kSubscribe:
        return Opening(Next(call, ""));
    }
    return {};
  }

 private:
  Reply Next(const ApiCall& call, const std::string& rest) {
    const std::string function(call.function());
    calls.push_back(function + " " + rest);
    auto& ready = answers_[function];
    if (ready.empty()) return {};
    Reply reply = std::move(ready.front());
    ready.pop_front();
    return reply;
  }
  Reply Opening(Reply reply) {
    if (!reply.ok()) return reply;
    reply.handle = Handle{++last_handle_};
    open.insert(reply.handle);
    return reply;
  }

  std::map<std::string, std::deque<Reply>> answers_;
  std::uint64_t last_handle_ = 0;
};

}  // namespace weft::hns
