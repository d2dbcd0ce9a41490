// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/dll/service_win.h"

#include <windows.h>

#include "hns/emulator/dll/strings_win.h"

namespace weft::hns::emulator {

RemoteApi& Service() {
  static RemoteApi* const kService = [] {
    wchar_t address[512] = L"";
    ::GetEnvironmentVariableW(L"WEFT_HNS_EMULATOR", address, 512);
    return new RemoteApi(FromWide(address));
  }();
  return *kService;
}

}  // namespace weft::hns::emulator
