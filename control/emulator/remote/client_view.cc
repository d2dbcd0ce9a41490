// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/client_view.h"

namespace weft::hns::emulator {
namespace {

constexpr Handle kUnknownHandle = static_cast<Handle>(~0ull);

}  // namespace

ClientView::~ClientView() {
  for (const Handle handle : subscriptions_) service_.Unsubscribe(handle);
  for (const auto& [kind, handle] : open_) service_.Close(kind, handle);
}

Reply ClientView::Keep(Kind kind, Reply reply) {
  if (reply.ok()) {
    const std::scoped_lock lock(mutex_);
    open_.emplace(kind, reply.handle);
  }
  return reply;
}

Handle ClientView::Own(Kind kind, Handle handle) {
  const std::scoped_lock lock(mutex_);
  return open_.contains({kind, handle}) ? handle : kUnknownHandle;
}

Reply ClientView::Enumerate(Kind kind, const std::string& query) {
  return service_.Enumerate(kind, query);
}

Reply ClientView::Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) {
  if (parent != Handle::kNone) parent = Own(Kind::kNetwork, parent);
  return Keep(kind, service_.Create(kind, parent, id, settings));
}

Reply ClientView::Open(Kind kind, const Guid& id) { return Keep(kind, service_.Open(kind, id)); }

Reply ClientView::Modify(Kind kind, Handle handle, const std::string& settings) {
  return service_.Modify(kind, Own(kind, handle), settings);
}

Reply ClientView::Query(Kind kind, Handle handle, const std::string& query) {
  return service_.Query(kind, Own(kind, handle), query);
}

Reply ClientView::Delete(Kind kind, const Guid& id) { return service_.Delete(kind, id); }

Hresult ClientView::Close(Kind kind, Handle handle) {
  handle = Own(kind, handle);
  {
    const std::scoped_lock lock(mutex_);
    open_.erase({kind, handle});
  }
  return service_.Close(kind, handle);
}

Reply ClientView::Call(const std::string& method, const std::string& path,
                       const std::string& request) {
  return service_.Call(method, path, request);
}

Reply ClientView::Subscribe(OnNotification notify) {
  Reply reply = service_.Subscribe(std::move(notify));
  if (reply.ok()) {
    const std::scoped_lock lock(mutex_);
    subscriptions_.insert(reply.handle);
  }
  return reply;
}

Hresult ClientView::Unsubscribe(Handle handle) {
  {
    const std::scoped_lock lock(mutex_);
    if (subscriptions_.erase(handle) == 0) handle = kUnknownHandle;
  }
  return service_.Unsubscribe(handle);
}

}  // namespace weft::hns::emulator
