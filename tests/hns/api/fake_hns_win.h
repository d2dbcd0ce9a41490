// SPDX-License-Identifier: Apache-2.0
// This test program exports the DLLs' functions itself: they record their arguments and return
// prepared results.
#pragma once

#include <windows.h>

#include <computenetwork.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::hns {

struct FakeHns {
  std::vector<std::wstring> calls;  // function, then its arguments
  HRESULT code = S_OK;
  const wchar_t* text = nullptr;    // returned as ids, properties, response
  const wchar_t* record = nullptr;  // returned with any code
  void* handle = nullptr;
  HCN_NOTIFICATION_CALLBACK notify = nullptr;  // while registered
  void* context = nullptr;
  std::function<void()> unregistering;  // called by HcnUnregisterServiceCallback
};
FakeHns& TheFakeHns();

}  // namespace weft::hns
