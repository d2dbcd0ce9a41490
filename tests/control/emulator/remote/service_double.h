// SPDX-License-Identifier: Apache-2.0
// A service that only records its calls and its subscribers.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

class ServiceDouble final : public Api {
 public:
  Reply Make(const ApiCall& call) override {
    const std::string word = Word(call.kind);
    const std::uint64_t number = static_cast<std::uint64_t>(call.handle);
    switch (call.operation) {
      case Operation::kEnumerate:
        if (before_enumerate) before_enumerate(call.text);
        return Note(absl::StrCat("enumerate ", word, " ", call.text));
      case Operation::kCreate: {
        if (call.handle != Handle::kNone && !IsOpen(call.handle)) return Refused();
        Reply reply = Note(
            absl::StrCat("create ", word, " in ", number, " ", call.id.ToString(), " ", call.text));
        reply.handle = NewHandle();
        return reply;
      }
      case Operation::kOpen: {
        Reply reply = Note(absl::StrCat("open ", word, " ", call.id.ToString()));
        if (reply.ok()) reply.handle = NewHandle();
        return reply;
      }
      case Operation::kModify:
        if (!IsOpen(call.handle)) return Refused();
        return Note(absl::StrCat("modify ", word, " ", number, " ", call.text));
      case Operation::kQuery:
        if (!IsOpen(call.handle)) return Refused();
        return Note(absl::StrCat("query ", word, " ", number, " ", call.text));
      case Operation::kDelete:
        return Note(absl::StrCat("delete ", word, " ", call.id.ToString()));
      case Operation::kClose: {
        const std::scoped_lock lock(mutex_);
        if (open_.erase(call.handle) == 0) return Refused();
        last_ = absl::StrCat("close ", word, " ", number);
        return {};
      }
      case Operation::kCall:
        return Note(absl::StrCat("call ", call.object(), " ", call.text));
      case Operation::kSubscribe: {
        Reply reply;
        reply.handle = NewHandle();
        const std::scoped_lock lock(mutex_);
        listeners_[reply.handle] = call.notify;
        return reply;
      }
      case Operation::kUnsubscribe: {
        const std::scoped_lock lock(mutex_);
        open_.erase(call.handle);
        return listeners_.erase(call.handle) > 0 ? Reply() : Refused();
      }
    }
    return Refused();
  }

  void Notify(Notification type, const std::string& data) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [handle, notify] : listeners_) notify(type, data);
  }
  // Handles and subscriptions.
  std::size_t open() {
    const std::scoped_lock lock(mutex_);
    return open_.size();
  }
  std::string last() {
    const std::scoped_lock lock(mutex_);
    return last_;
  }

  // Set before the first call.
  std::function<void(const std::string& query)> before_enumerate;
  Reply answer;  // to all but Close, Subscribe and Unsubscribe; its handle is chosen here

 private:
  static std::string Word(Kind kind) {
    constexpr const char* kWords[] = {"network", "endpoint", "namespace", "load-balancer"};
    return kWords[static_cast<std::size_t>(kind)];
  }
  Reply Note(std::string what) {
    const std::scoped_lock lock(mutex_);
    last_ = std::move(what);
    return answer;
  }
  bool IsOpen(Handle handle) {
    const std::scoped_lock lock(mutex_);
    return open_.contains(handle);
  }
  static Reply Refused() {
    Reply reply;
    reply.code = hresult::kInvalidHandle;
    return reply;
  }
  Handle NewHandle() {
    const std::scoped_lock lock(mutex_);
    const Handle handle = static_cast<Handle>(++made_);
    open_.insert(handle);
    return handle;
  }

  std::mutex mutex_;
  std::uint64_t made_ = 0;
  std::set<Handle> open_;
  std::map<Handle, OnNotification> listeners_;
  std::string last_;
};

}  // namespace weft::hns::emulator
