// SPDX-License-Identifier: Apache-2.0
// This test program exports the DLLs' functions itself: what they are given is written down, what
// they give back is laid ready.
#pragma once

#include <windows.h>

#include <computenetwork.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::hns {

struct FakeHns {
  std::vector<std::wstring> calls;  // function, then what it was given
  HRESULT code = S_OK;
  const wchar_t* text = nullptr;    // given back as ids, properties, response
  const wchar_t* record = nullptr;  // given back whatever the code
  void* handle = nullptr;
  HCN_NOTIFICATION_CALLBACK notify = nullptr;  // while registered
  void* context = nullptr;
  std::function<void()> unregistering;  // called by HcnUnregisterServiceCallback
};
FakeHns& TheFakeHns();

}  // namespace weft::hns
