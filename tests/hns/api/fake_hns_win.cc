// SPDX-License-Identifier: Apache-2.0
#include "tests/hns/api/fake_hns_win.h"

#include <combaseapi.h>

#include <algorithm>
#include <cwchar>

namespace weft::hns {

FakeHns& TheFakeHns() {
  static FakeHns fake;
  return fake;
}

namespace {

std::wstring Show(const wchar_t* text) { return text == nullptr ? L"NULL" : text; }
std::wstring Show(void* handle) {
  return std::to_wstring(reinterpret_cast<std::uintptr_t>(handle));
}
std::wstring Show(const GUID& id) {
  wchar_t text[40];
  ::StringFromGUID2(id, text, 40);
  return text;
}

void Give(const wchar_t* text, PWSTR* out) {
  if (text == nullptr) return;
  const std::size_t size = (std::wcslen(text) + 1) * sizeof(wchar_t);
  *out = static_cast<PWSTR>(::CoTaskMemAlloc(size));
  std::copy_n(text, size / sizeof(wchar_t), *out);
}

template <typename... Given>
HRESULT Called(const wchar_t* function, PWSTR* record, const Given&... given) {
  std::wstring call = function;
  ((call += L" " + Show(given)), ...);
  TheFakeHns().calls.push_back(call);
  if (record != nullptr) Give(TheFakeHns().record, record);
  return TheFakeHns().code;
}

}  // namespace
}  // namespace weft::hns

using weft::hns::Called;
using weft::hns::Give;
using weft::hns::TheFakeHns;

// Not HcnDeleteEndpoint: an older DLL.
extern "C" {

__declspec(dllexport) HRESULT WINAPI HcnEnumerateNetworks(PCWSTR query, PWSTR* ids, PWSTR* record) {
  Give(TheFakeHns().text, ids);
  return Called(L"HcnEnumerateNetworks", record, query);
}

__declspec(dllexport) HRESULT WINAPI
    HcnCreateNetwork(REFGUID id, PCWSTR settings, PHCN_NETWORK network, PWSTR* record) {
  *network = TheFakeHns().handle;
  return Called(L"HcnCreateNetwork", record, id, settings);
}

__declspec(dllexport) HRESULT WINAPI
    HcnCreateEndpoint(HCN_NETWORK network, REFGUID id, PCWSTR settings, PHCN_ENDPOINT endpoint,
                      PWSTR* record) {
  *endpoint = TheFakeHns().handle;
  return Called(L"HcnCreateEndpoint", record, network, id, settings);
}

__declspec(dllexport) HRESULT WINAPI
    HcnOpenLoadBalancer(REFGUID id, PHCN_LOADBALANCER balancer, PWSTR* record) {
  *balancer = TheFakeHns().handle;
  return Called(L"HcnOpenLoadBalancer", record, id);
}

__declspec(dllexport) HRESULT WINAPI
    HcnModifyNetwork(HCN_NETWORK network, PCWSTR settings, PWSTR* record) {
  return Called(L"HcnModifyNetwork", record, network, settings);
}

__declspec(dllexport) HRESULT WINAPI HcnQueryNamespaceProperties(HCN_NAMESPACE space, PCWSTR query,
                                                                 PWSTR* properties, PWSTR* record) {
  Give(TheFakeHns().text, properties);
  return Called(L"HcnQueryNamespaceProperties", record, space, query);
}

__declspec(dllexport) HRESULT WINAPI HcnDeleteNetwork(REFGUID id, PWSTR* record) {
  return Called(L"HcnDeleteNetwork", record, id);
}

__declspec(dllexport) HRESULT WINAPI HcnCloseEndpoint(HCN_ENDPOINT endpoint) {
  return Called(L"HcnCloseEndpoint", nullptr, endpoint);
}

__declspec(dllexport) HRESULT WINAPI
    HcnRegisterServiceCallback(HCN_NOTIFICATION_CALLBACK notify, void* context,
                               HCN_CALLBACK* callback) {
  TheFakeHns().notify = notify;
  TheFakeHns().context = context;
  *callback = TheFakeHns().handle;
  return Called(L"HcnRegisterServiceCallback", nullptr);
}

__declspec(dllexport) HRESULT WINAPI HcnUnregisterServiceCallback(HCN_CALLBACK callback) {
  if (TheFakeHns().unregistering) TheFakeHns().unregistering();
  return Called(L"HcnUnregisterServiceCallback", nullptr, callback);
}

__declspec(dllexport) HRESULT WINAPI
    HNSCall(PCWSTR method, PCWSTR path, PCWSTR request, PWSTR* response) {
  Give(TheFakeHns().text, response);
  return Called(L"HNSCall", nullptr, method, path, request);
}

}  // extern "C"
