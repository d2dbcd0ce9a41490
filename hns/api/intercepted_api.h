// SPDX-License-Identifier: Apache-2.0
// A decorator of Api that passes every call through one method.
#pragma once

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "hns/api/api.h"

namespace weft::hns {

// A call in progress.
struct ApiCall {
  std::string_view function;  // "HcnModifyNetwork"; a string literal
  std::string object;         // id, path or query; empty: the object of a handle
  bool modifying = false;     // Create, Modify, Delete; HNSCall POST and DELETE
};

class InterceptedApi : public Api {
 public:
  // `api` outlives it.
  explicit InterceptedApi(Api& api) : api_(&api) {}

  Reply Enumerate(Kind kind, const std::string& query) final;
  Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) final;
  Reply Open(Kind kind, const Guid& id) final;
  Reply Modify(Kind kind, Handle handle, const std::string& settings) final;
  Reply Query(Kind kind, Handle handle, const std::string& query) final;
  Reply Delete(Kind kind, const Guid& id) final;
  Hresult Close(Kind kind, Handle handle) final;
  Reply Call(const std::string& method, const std::string& path, const std::string& request) final;
  Reply Subscribe(OnNotification notify) override;
  Hresult Unsubscribe(Handle handle) final;

 protected:
  // Calls `make` at most once.
  virtual Reply Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) = 0;
  // For the calls that follow; no call is in progress.
  void Use(Api& api) { api_ = &api; }

 private:
  Api* api_;
};

}  // namespace weft::hns
