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

  Reply Enumerate(Kind kind, const std::string& query) override {
    return Carry("HcnEnumerate", kind, query, false, [&] { return api_->Enumerate(kind, query); });
  }
  Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) override {
    return Carry("HcnCreate", kind, settings, true,
                 [&] { return api_->Create(kind, parent, id, settings); });
  }
  Reply Open(Kind kind, const Guid& id) override {
    return Carry("HcnOpen", kind, id.ToString(), false, [&] { return api_->Open(kind, id); });
  }
  Reply Modify(Kind kind, Handle handle, const std::string& settings) override {
    return Carry("HcnModify", kind, settings, true,
                 [&] { return api_->Modify(kind, handle, settings); });
  }
  Reply Query(Kind kind, Handle handle, const std::string& query) override {
    return Carry("HcnQuery", kind, query, false, [&] { return api_->Query(kind, handle, query); });
  }
  Reply Delete(Kind kind, const Guid& id) override {
    return Carry("HcnDelete", kind, id.ToString(), true, [&] { return api_->Delete(kind, id); });
  }
  Hresult Close(Kind kind, Handle handle) override {
    const auto close = [&] { return Refusal(api_->Close(kind, handle)); };
    return Carry("HcnClose", kind, "", false, close).code;
  }
  Reply Call(const std::string& method, const std::string& path,
             const std::string& request) override {
    return Make("HNSCall", method + " " + path + " " + request, method != "GET",
                [&] { return api_->Call(method, path, request); });
  }
  Reply Subscribe(OnNotification notify) override { return api_->Subscribe(std::move(notify)); }
  Hresult Unsubscribe(Handle handle) override { return api_->Unsubscribe(handle); }

 private:
  Reply Carry(const char* verb, Kind kind, const std::string& document, bool modifying,
              const std::function<Reply()>& make) {
    return Make(std::string(verb) + (kind == Kind::kNetwork ? "Network" : "Endpoint"), document,
                modifying, make);
  }
  Reply Make(std::string function, const std::string& document, bool modifying,
             const std::function<Reply()>& make) {
    const Step step{++calls, std::move(function), document};
    if (modifying) changes.push_back(document);
    if (const auto code = before ? before(step) : std::nullopt) return Refusal(*code);
    const auto begin = now ? now() : std::chrono::milliseconds(0);
    Reply reply = make();
    if (now) longest = std::max(longest, now() - begin);
    if (const auto code = after ? after(step) : std::nullopt) {
      if (reply.handle != Handle::kNone) api_->Close(Kind::kNetwork, reply.handle);
      return Refusal(*code);
    }
    if (answer) answer(step, reply);
    return reply;
  }
  static Reply Refusal(Hresult code) {
    Reply reply;
    reply.code = code;
    return reply;
  }

  Api* api_;
};

}  // namespace weft::hns
