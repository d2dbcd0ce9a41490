// SPDX-License-Identifier: Apache-2.0
// Loads computenetwork.dll and vmcompute.dll and finds their functions by name, so that the program
// also starts on a Windows without them or with older ones.
#include "hns/api/api_win.h"

#include <combaseapi.h>
#include <computenetwork.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "vxlan/text/utf16_win.h"

namespace weft::hns {
namespace {

// A string that a DLL allocated for us, or NULL.
class TaskText {
 public:
  TaskText() = default;
  ~TaskText() { ::CoTaskMemFree(text_); }
  TaskText(const TaskText&) = delete;
  TaskText& operator=(const TaskText&) = delete;

  wchar_t** out() { return &text_; }  // for one call
  std::string ToUtf8() const { return Utf8(text_); }

 private:
  wchar_t* text_ = nullptr;
};

// The header types every handle as void*, so all kinds' functions have the type of the network's.
template <typename Function, typename... Others>
inline constexpr bool kSame = (std::is_same_v<Function, Others> && ...);
static_assert(kSame<decltype(::HcnEnumerateNetworks), decltype(::HcnEnumerateEndpoints),
                    decltype(::HcnEnumerateNamespaces), decltype(::HcnEnumerateLoadBalancers)>);
static_assert(kSame<decltype(::HcnCreateNetwork), decltype(::HcnCreateNamespace),
                    decltype(::HcnCreateLoadBalancer)>);
static_assert(kSame<decltype(::HcnOpenNetwork), decltype(::HcnOpenEndpoint),
                    decltype(::HcnOpenNamespace), decltype(::HcnOpenLoadBalancer)>);
static_assert(kSame<decltype(::HcnModifyNetwork), decltype(::HcnModifyEndpoint),
                    decltype(::HcnModifyNamespace), decltype(::HcnModifyLoadBalancer)>);
static_assert(
    kSame<decltype(::HcnQueryNetworkProperties), decltype(::HcnQueryEndpointProperties),
          decltype(::HcnQueryNamespaceProperties), decltype(::HcnQueryLoadBalancerProperties)>);
static_assert(kSame<decltype(::HcnDeleteNetwork), decltype(::HcnDeleteEndpoint),
                    decltype(::HcnDeleteNamespace), decltype(::HcnDeleteLoadBalancer)>);
static_assert(kSame<decltype(::HcnCloseNetwork), decltype(::HcnCloseEndpoint),
                    decltype(::HcnCloseNamespace), decltype(::HcnCloseLoadBalancer)>);
using HnsCall = HRESULT(WINAPI*)(PCWSTR method, PCWSTR path, PCWSTR request, PWSTR* response);

GUID GuidOf(const Guid& id) {
  const auto& bytes = id.bytes();
  const auto number = [&](std::size_t from, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t at = from; at < from + size; ++at) value = value << 8 | bytes[at];
    return value;
  };
  GUID guid{};
  guid.Data1 = number(0, 4);
  guid.Data2 = static_cast<unsigned short>(number(4, 2));
  guid.Data3 = static_cast<unsigned short>(number(6, 2));
  for (std::size_t at = 0; at < 8; ++at) guid.Data4[at] = bytes[8 + at];
  return guid;
}

void* PointerOf(Handle handle) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle));
}

const wchar_t* OrNull(const std::wstring& text) { return text.empty() ? nullptr : text.c_str(); }

Reply ReplyWith(Hresult code) {
  Reply reply;
  reply.code = code;
  return reply;
}

// The out parameters of one call.
struct Answer {
  TaskText text;
  TaskText record;
  void* handle = nullptr;

  Reply ToReply(HRESULT code) const {
    Reply reply = ReplyWith(static_cast<Hresult>(code));
    reply.text = text.ToUtf8();
    reply.error_record = record.ToUtf8();
    if (reply.ok()) reply.handle = Handle{reinterpret_cast<std::uintptr_t>(handle)};
    return reply;
  }
};

class Module {
 public:
  explicit Module(HMODULE module) : module_(module) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() {
    if (module_ != nullptr) ::FreeLibrary(module_);
  }

  template <typename Function>
  Function Find(std::string_view name) const {
    if (module_ == nullptr) return nullptr;
    return reinterpret_cast<Function>(
        reinterpret_cast<void*>(::GetProcAddress(module_, name.data())));
  }
  // The result of a call whose function is not found.
  Hresult missing() const {
    return module_ == nullptr ? hresult::kModuleNotFound : hresult::kFunctionNotFound;
  }
  // Calls `make` with the function `name` and an Answer.
  template <typename Function, typename Make>
  Reply Call(std::string_view name, const Make& make) const {
    const auto function = Find<Function>(name);
    if (function == nullptr) return ReplyWith(missing());
    Answer answer;
    const HRESULT code = make(function, answer);
    return answer.ToReply(code);
  }

 private:
  HMODULE module_;
};

// ---- Notifications. HNS calls on its own threads, and may use the context after
// HcnUnregisterServiceCallback has returned; so the context is a number, not an address.

struct Subscription {
  const void* owner = nullptr;  // its Subscriptions
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

// One for each Api; its destructor ends the subscriptions. Any thread.
class Subscriptions {
 public:
  Subscriptions(decltype(&::HcnRegisterServiceCallback) begin,
                decltype(&::HcnUnregisterServiceCallback) end)
      : begin_(begin), end_(end) {}
  ~Subscriptions();
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  // Whether the DLL has both functions; without them call neither Begin nor End.
  bool possible() const { return begin_ != nullptr && end_ != nullptr; }
  Reply Begin(OnNotification notify);
  // Returns once no notification is in progress. kInvalidHandle: there is no such subscription.
  Hresult End(Handle handle);

 private:
  const decltype(&::HcnRegisterServiceCallback) begin_;
  const decltype(&::HcnUnregisterServiceCallback) end_;
};

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

class WindowsApi final : public Api {
 public:
  WindowsApi(HMODULE computenetwork, HMODULE vmcompute)
      : network_(computenetwork),
        compute_(vmcompute),
        subscriptions_(network_.Find<decltype(&::HcnRegisterServiceCallback)>(kSubscribeName),
                       network_.Find<decltype(&::HcnUnregisterServiceCallback)>(kUnsubscribeName)) {
  }

  Reply Make(const ApiCall& call) override {
    const std::string_view name = call.function();
    const std::wstring text = Utf16(call.text);
    switch (call.operation) {
      case Operation::kEnumerate:
        return network_.Call<decltype(&::HcnEnumerateNetworks)>(
            name, [&](auto function, Answer& answer) {
              return function(OrNull(text), answer.text.out(), answer.record.out());
            });
      case Operation::kCreate:
        if (call.kind == Kind::kEndpoint) {
          return network_.Call<decltype(&::HcnCreateEndpoint)>(
              name, [&](auto function, Answer& answer) {
                return function(PointerOf(call.handle), GuidOf(call.id), text.c_str(),
                                &answer.handle, answer.record.out());
              });
        }
        return network_.Call<decltype(&::HcnCreateNetwork)>(
            name, [&](auto function, Answer& answer) {
              return function(GuidOf(call.id), text.c_str(), &answer.handle, answer.record.out());
            });
      case Operation::kOpen:
        return network_.Call<decltype(&::HcnOpenNetwork)>(name, [&](auto function, Answer& answer) {
          return function(GuidOf(call.id), &answer.handle, answer.record.out());
        });
      case Operation::kModify:
        return network_.Call<decltype(&::HcnModifyNetwork)>(
            name, [&](auto function, Answer& answer) {
              return function(PointerOf(call.handle), text.c_str(), answer.record.out());
            });
      case Operation::kQuery:
        return network_.Call<decltype(&::HcnQueryNetworkProperties)>(
            name, [&](auto function, Answer& answer) {
              return function(PointerOf(call.handle), OrNull(text), answer.text.out(),
                              answer.record.out());
            });
      case Operation::kDelete:
        return network_.Call<decltype(&::HcnDeleteNetwork)>(
            name, [&](auto function, Answer& answer) {
              return function(GuidOf(call.id), answer.record.out());
            });
      case Operation::kClose:
        return network_.Call<decltype(&::HcnCloseNetwork)>(
            name, [&](auto function, Answer&) { return function(PointerOf(call.handle)); });
      case Operation::kCall:
        return compute_.Call<HnsCall>(name, [&](auto function, Answer& answer) {
          return function(Utf16(call.method).c_str(), Utf16(call.path).c_str(), text.c_str(),
                          answer.text.out());
        });
      case Operation::kSubscribe:
        return subscriptions_.possible() ? subscriptions_.Begin(call.notify)
                                         : ReplyWith(network_.missing());
      case Operation::kUnsubscribe:
        return ReplyWith(subscriptions_.possible() ? subscriptions_.End(call.handle)
                                                   : network_.missing());
    }
    return ReplyWith(hresult::kFunctionNotFound);
  }

 private:
  const Module network_;
  const Module compute_;
  Subscriptions subscriptions_;
};

// Only from the system's folder, so that no other file can be loaded as a DLL of this service.
HMODULE Load(const wchar_t* name) {
  return ::LoadLibraryExW(name, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
}

}  // namespace

std::unique_ptr<Api> ApiOf(HMODULE computenetwork, HMODULE vmcompute) {
  return std::make_unique<WindowsApi>(computenetwork, vmcompute);
}

absl::StatusOr<std::unique_ptr<Api>> OpenApi() {
  return ApiOf(Load(L"computenetwork.dll"), Load(L"vmcompute.dll"));
}

}  // namespace weft::hns
