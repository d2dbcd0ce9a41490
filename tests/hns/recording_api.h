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
#include "hns/api/function_name.h"

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

  Reply Enumerate(Kind kind, const std::string& query) override {
    return Next(Operation::kEnumerate, kind, query);
  }
  Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) override {
    const std::string in = parent == Handle::kNone ? "" : Number(parent) + " ";
    return Opening(Next(Operation::kCreate, kind, in + id.ToString() + " " + settings));
  }
  Reply Open(Kind kind, const Guid& id) override {
    return Opening(Next(Operation::kOpen, kind, id.ToString()));
  }
  Reply Modify(Kind kind, Handle handle, const std::string& settings) override {
    return Next(Operation::kModify, kind, Number(handle) + " " + settings);
  }
  Reply Query(Kind kind, Handle handle, const std::string& query) override {
    return Next(Operation::kQuery, kind, Number(handle) + " " + query);
  }
  Reply Delete(Kind kind, const Guid& id) override {
    return Next(Operation::kDelete, kind, id.ToString());
  }
  Hresult Close(Kind kind, Handle handle) override {
    open.erase(handle);
    return Next(Operation::kClose, kind, Number(handle)).code;
  }
  Reply Call(const std::string& method, const std::string& path,
             const std::string& request) override {
    return Next("HNSCall", method + " " + path + " [" + request + "]");
  }
  Reply Subscribe(OnNotification) override {
    return Opening(Next("HcnRegisterServiceCallback", ""));
  }
  Hresult Unsubscribe(Handle handle) override {
    open.erase(handle);
    return Next("HcnUnregisterServiceCallback", Number(handle)).code;
  }

 private:
  static std::string Number(Handle handle) {
    return std::to_string(static_cast<std::uint64_t>(handle));
  }
  Reply Next(Operation operation, Kind kind, const std::string& rest) {
    return Next(FunctionName(operation, kind), rest);
  }
  Reply Next(std::string_view function, const std::string& rest) {
    calls.push_back(std::string(function) + " " + rest);
    auto& ready = answers_[std::string(function)];
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
