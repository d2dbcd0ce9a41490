// SPDX-License-Identifier: Apache-2.0
// computenetwork.dll, backed by the emulator. The prototypes are those of computenetwork.h, so that
// a difference does not compile; computenetwork.def exports the names.
#include <windows.h>
//
#include <computenetwork.h>
#include <objbase.h>

#include <cstdint>

#include "tests/hns_dlls/service_win.h"
#include "tests/hns_dlls/strings_win.h"

namespace {

using weft::hns::Handle;
using weft::hns::Kind;
using weft::hns::Notification;
using weft::hns::Reply;
using weft::hns::emulator::FromWide;
using weft::hns::emulator::FromWindows;
using weft::hns::emulator::Service;
using weft::hns::emulator::ToCallers;

Handle Ours(void* handle) { return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(handle)); }
void* Theirs(Handle handle) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle)); }

// Returns no error record with a success: callers treat one as a failure.
HRESULT ToHresult(const Reply& reply, PWSTR* text, void** handle, PWSTR* error_record) {
  if (error_record != nullptr) {
    const bool failed = !reply.ok() && !reply.error_record.empty();
    *error_record = failed ? ToCallers(reply.error_record) : nullptr;
  }
  if (text != nullptr) *text = reply.ok() ? ToCallers(reply.text) : nullptr;
  if (handle != nullptr) *handle = reply.ok() ? Theirs(reply.handle) : nullptr;
  return static_cast<HRESULT>(reply.code);
}

HRESULT Enumerate(Kind kind, PCWSTR query, PWSTR* ids, PWSTR* error_record) {
  return ToHresult(Service().Enumerate(kind, FromWide(query)), ids, nullptr, error_record);
}
HRESULT Create(Kind kind, void* parent, REFGUID id, PCWSTR settings, void** handle,
               PWSTR* error_record) {
  return ToHresult(Service().Create(kind, Ours(parent), FromWindows(id), FromWide(settings)),
                   nullptr, handle, error_record);
}
HRESULT Open(Kind kind, REFGUID id, void** handle, PWSTR* error_record) {
  return ToHresult(Service().Open(kind, FromWindows(id)), nullptr, handle, error_record);
}
HRESULT Modify(Kind kind, void* handle, PCWSTR settings, PWSTR* error_record) {
  return ToHresult(Service().Modify(kind, Ours(handle), FromWide(settings)), nullptr, nullptr,
                   error_record);
}
HRESULT Query(Kind kind, void* handle, PCWSTR query, PWSTR* properties, PWSTR* error_record) {
  return ToHresult(Service().Query(kind, Ours(handle), FromWide(query)), properties, nullptr,
                   error_record);
}
HRESULT Delete(Kind kind, REFGUID id, PWSTR* error_record) {
  return ToHresult(Service().Delete(kind, FromWindows(id)), nullptr, nullptr, error_record);
}
HRESULT Close(Kind kind, void* handle) {
  return static_cast<HRESULT>(Service().Close(kind, Ours(handle)));
}

}  // namespace

// What all kinds of object have alike; `names`: of several.
#define WEFT_HCN_FUNCTIONS(name, names)                                                    \
  HRESULT WINAPI HcnEnumerate##names(PCWSTR query, PWSTR* ids, PWSTR* error_record) {      \
    return Enumerate(Kind::k##name, query, ids, error_record);                             \
  }                                                                                        \
  HRESULT WINAPI HcnOpen##name(REFGUID id, void** handle, PWSTR* error_record) {           \
    return Open(Kind::k##name, id, handle, error_record);                                  \
  }                                                                                        \
  HRESULT WINAPI HcnModify##name(void* handle, PCWSTR settings, PWSTR* error_record) {     \
    return Modify(Kind::k##name, handle, settings, error_record);                          \
  }                                                                                        \
  HRESULT WINAPI HcnQuery##name##Properties(void* handle, PCWSTR query, PWSTR* properties, \
                                            PWSTR* error_record) {                         \
    return Query(Kind::k##name, handle, query, properties, error_record);                  \
  }                                                                                        \
  HRESULT WINAPI HcnDelete##name(REFGUID id, PWSTR* error_record) {                        \
    return Delete(Kind::k##name, id, error_record);                                        \
  }                                                                                        \
  HRESULT WINAPI HcnClose##name(void* handle) { return Close(Kind::k##name, handle); }
WEFT_HCN_FUNCTIONS(Network, Networks)
WEFT_HCN_FUNCTIONS(Endpoint, Endpoints)
WEFT_HCN_FUNCTIONS(Namespace, Namespaces)
WEFT_HCN_FUNCTIONS(LoadBalancer, LoadBalancers)

HRESULT WINAPI HcnCreateNetwork(REFGUID id, PCWSTR settings, void** handle, PWSTR* error_record) {
  return Create(Kind::kNetwork, nullptr, id, settings, handle, error_record);
}
HRESULT WINAPI HcnCreateEndpoint(HCN_NETWORK network, REFGUID id, PCWSTR settings, void** handle,
                                 PWSTR* error_record) {
  return Create(Kind::kEndpoint, network, id, settings, handle, error_record);
}
HRESULT WINAPI HcnCreateNamespace(REFGUID id, PCWSTR settings, void** handle, PWSTR* error_record) {
  return Create(Kind::kNamespace, nullptr, id, settings, handle, error_record);
}
HRESULT WINAPI HcnCreateLoadBalancer(REFGUID id, PCWSTR settings, void** handle,
                                     PWSTR* error_record) {
  return Create(Kind::kLoadBalancer, nullptr, id, settings, handle, error_record);
}

HRESULT WINAPI HcnRegisterServiceCallback(HCN_NOTIFICATION_CALLBACK callback, void* context,
                                          HCN_CALLBACK* handle) {
  const auto notify = [callback, context](Notification type, std::string_view data) {
    wchar_t* const text = ToCallers(data);
    callback(static_cast<DWORD>(type), context, S_OK, text);
    ::CoTaskMemFree(text);
  };
  return ToHresult(Service().Subscribe(notify), nullptr, handle, nullptr);
}

HRESULT WINAPI HcnUnregisterServiceCallback(HCN_CALLBACK handle) {
  return static_cast<HRESULT>(Service().Unsubscribe(Ours(handle)));
}
