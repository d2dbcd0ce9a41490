// SPDX-License-Identifier: Apache-2.0
#include "tests/hns_dlls/service_win.h"

#include <windows.h>

#include "tests/hns_dlls/strings_win.h"

namespace weft::hns::emulator {

RemoteApi& Service() {
  static RemoteApi* const kService = [] {
    wchar_t path[512] = L"";
    ::GetEnvironmentVariableW(L"WEFT_HNS_EMULATOR", path, 512);
    return new RemoteApi(FromWide(path));
  }();
  return *kService;
}

}  // namespace weft::hns::emulator
