// SPDX-License-Identifier: Apache-2.0
#include "hns/api/subscriptions_win.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "vxlan/text/utf16_win.h"

namespace weft::hns {
namespace {

struct Subscription {
  const Subscriptions* owner = nullptr;
  OnNotification notify;
  HCN_CALLBACK callback = nullptr;
  int in_progress = 0;
  bool ended = false;
};

// One for the process, never destroyed: a late notification does not find its number.
struct Registry {
  std::mutex mutex;
  std::condition_variable idle;
  std::uintptr_t last = 0;
  std::map<std::uintptr_t, Subscription> all;  // guarded; elements are never moved
};
Registry& TheRegistry() {
  static auto* const kRegistry = new Registry();
  return *kRegistry;
}

void CALLBACK Notify(DWORD type, void* context, HRESULT /*status*/, PCWSTR data) {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  const auto found = registry.all.find(reinterpret_cast<std::uintptr_t>(context));
  if (found == registry.all.end() || found->second.ended) return;
  Subscription& subscription = found->second;
  ++subscription.in_progress;
  lock.unlock();
  subscription.notify(Notification{type}, data == nullptr ? "" : Utf8(data));
  lock.lock();
  if (--subscription.in_progress == 0) registry.idle.notify_all();
}

// Waits until none of its notifications is in progress.
void Forget(std::uintptr_t number) {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  Subscription& subscription = registry.all.at(number);
  subscription.ended = true;
  registry.idle.wait(lock, [&] { return subscription.in_progress == 0; });
  registry.all.erase(number);
}

}  // namespace

Subscriptions::~Subscriptions() {
  std::vector<std::uintptr_t> open;
  {
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    for (const auto& [number, subscription] : registry.all)
      if (subscription.owner == this) open.push_back(number);
  }
  for (const std::uintptr_t number : open) End(Handle{number});
}

Reply Subscriptions::Begin(OnNotification notify) {
  Registry& registry = TheRegistry();
  std::uintptr_t number = 0;
  {
    const std::lock_guard lock(registry.mutex);
    number = ++registry.last;
    Subscription& subscription = registry.all[number];
    subscription.owner = this;
    subscription.notify = std::move(notify);
  }
  HCN_CALLBACK callback = nullptr;
  Reply reply;
  reply.code = static_cast<Hresult>(begin_(&Notify, reinterpret_cast<void*>(number), &callback));
  if (reply.ok()) {
    const std::lock_guard lock(registry.mutex);
    registry.all[number].callback = callback;
    reply.handle = Handle{number};
  } else {
    Forget(number);
  }
  return reply;
}

Hresult Subscriptions::End(Handle handle) {
  Registry& registry = TheRegistry();
  const auto number = static_cast<std::uintptr_t>(handle);
  HCN_CALLBACK callback = nullptr;
  {
    const std::lock_guard lock(registry.mutex);
    const auto found = registry.all.find(number);
    if (found == registry.all.end() || found->second.owner != this || found->second.ended)
      return hresult::kInvalidHandle;
    found->second.ended = true;
    callback = found->second.callback;
  }
  // Without the lock: it may wait for a notification that needs the lock.
  const auto code = static_cast<Hresult>(end_(callback));
  Forget(number);
  return code;
}

}  // namespace weft::hns
