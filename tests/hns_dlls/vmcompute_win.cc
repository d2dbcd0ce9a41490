// SPDX-License-Identifier: Apache-2.0
// vmcompute.dll, backed by the emulator: only its HNS function, which no header of mingw-w64
// declares.
#include <windows.h>

#include "tests/hns_dlls/service_win.h"
#include "tests/hns_dlls/strings_win.h"

extern "C" HRESULT WINAPI HNSCall(PCWSTR method, PCWSTR path, PCWSTR request, PWSTR* response) {
  namespace emulator = weft::hns::emulator;
  const weft::hns::Reply reply = emulator::Service().Call(
      emulator::FromWide(method), emulator::FromWide(path), emulator::FromWide(request));
  if (response != nullptr)
    *response = reply.text.empty() ? nullptr : emulator::ToCallers(reply.text);
  return static_cast<HRESULT>(reply.code);
}
