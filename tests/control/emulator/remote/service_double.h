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
  Reply Enumerate(Kind kind, const std::string& query) override {
    if (before_enumerate) before_enumerate(query);
    return Note(absl::StrCat("enumerate ", Word(kind), " ", query));
  }
  Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) override {
    if (parent != Handle::kNone && !IsOpen(parent)) return Refused();
    Reply reply = Note(absl::StrCat("create ", Word(kind), " in ", Number(parent), " ",
                                    id.ToString(), " ", settings));
    reply.handle = NewHandle();
    return reply;
  }
  Reply Open(Kind kind, const Guid& id) override {
    Reply reply = Note(absl::StrCat("open ", Word(kind), " ", id.ToString()));
    if (!reply.ok()) return reply;
    reply.handle = NewHandle();
    return reply;
  }
  Reply Modify(Kind kind, Handle handle, const std::string& settings) override {
    if (!IsOpen(handle)) return Refused();
    return Note(absl::StrCat("modify ", Word(kind), " ", Number(handle), " ", settings));
  }
  Reply Query(Kind kind, Handle handle, const std::string& query) override {
    if (!IsOpen(handle)) return Refused();
    return Note(absl::StrCat("query ", Word(kind), " ", Number(handle), " ", query));
  }
  Reply Delete(Kind kind, const Guid& id) override {
    return Note(absl::StrCat("delete ", Word(kind), " ", id.ToString()));
  }
  Hresult Close(Kind kind, Handle handle) override {
    const std::scoped_lock lock(mutex_);
    if (open_.erase(handle) == 0) return hresult::kInvalidHandle;
    last_ = absl::StrCat("close ", Word(kind), " ", Number(handle));
    return hresult::kOk;
  }
  Reply Call(const std::string& method, const std::string& path,
             const std::string& request) override {
    return Note(absl::StrCat("call ", method, " ", path, " ", request));
  }
  Reply Subscribe(OnNotification notify) override {
    Reply reply;
    reply.handle = NewHandle();
    const std::scoped_lock lock(mutex_);
    listeners_[reply.handle] = std::move(notify);
    return reply;
  }
  Hresult Unsubscribe(Handle handle) override {
    const std::scoped_lock lock(mutex_);
    open_.erase(handle);
    return listeners_.erase(handle) > 0 ? hresult::kOk : hresult::kInvalidHandle;
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
  static std::uint64_t Number(Handle handle) { return static_cast<std::uint64_t>(handle); }
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
