// SPDX-License-Identifier: Apache-2.0
#include "hns/api/intercepted_api.h"

#include <utility>

#include "hns/api/function_name.h"

namespace weft::hns {
namespace {

Reply OnlyCode(Hresult code) {
  Reply reply;
  reply.code = code;
  return reply;
}

}  // namespace

Reply InterceptedApi::Enumerate(Kind kind, const std::string& query) {
  return Carry({FunctionName(Operation::kEnumerate, kind), query},
               [&] { return api_->Enumerate(kind, query); });
}

Reply InterceptedApi::Create(Kind kind, Handle parent, const Guid& id,
                             const std::string& settings) {
  return Carry({FunctionName(Operation::kCreate, kind), id.ToString(), true},
               [&] { return api_->Create(kind, parent, id, settings); });
}

Reply InterceptedApi::Open(Kind kind, const Guid& id) {
  return Carry({FunctionName(Operation::kOpen, kind), id.ToString()},
               [&] { return api_->Open(kind, id); });
}

Reply InterceptedApi::Modify(Kind kind, Handle handle, const std::string& settings) {
  return Carry({FunctionName(Operation::kModify, kind), "", true},
               [&] { return api_->Modify(kind, handle, settings); });
}

Reply InterceptedApi::Query(Kind kind, Handle handle, const std::string& query) {
  return Carry({FunctionName(Operation::kQuery, kind), ""},
               [&] { return api_->Query(kind, handle, query); });
}

Reply InterceptedApi::Delete(Kind kind, const Guid& id) {
  return Carry({FunctionName(Operation::kDelete, kind), id.ToString(), true},
               [&] { return api_->Delete(kind, id); });
}

Hresult InterceptedApi::Close(Kind kind, Handle handle) {
  return Carry({FunctionName(Operation::kClose, kind), ""},
               [&] { return OnlyCode(api_->Close(kind, handle)); })
      .code;
}

Reply InterceptedApi::Call(const std::string& method, const std::string& path,
                           const std::string& request) {
  return Carry({kCallName, method + " " + path, method == "POST" || method == "DELETE"},
               [&] { return api_->Call(method, path, request); });
}

Reply InterceptedApi::Subscribe(OnNotification notify) {
  return Carry({kSubscribeName, ""}, [&] { return api_->Subscribe(std::move(notify)); });
}

Hresult InterceptedApi::Unsubscribe(Handle handle) {
  return Carry({kUnsubscribeName, ""}, [&] { return OnlyCode(api_->Unsubscribe(handle)); }).code;
}

}  // namespace weft::hns
