// SPDX-License-Identifier: Apache-2.0
#include "tests/hns_dlls/strings_win.h"

#include <windows.h>
//
#include <objbase.h>

#include <array>
#include <cstdint>

#include "vxlan/text/utf16_win.h"

namespace weft::hns::emulator {

std::string FromWide(const wchar_t* text) { return Utf8(text); }

wchar_t* ToCallers(std::string_view text) {
  const int bytes = static_cast<int>(text.size());
  const int size =
      bytes == 0 ? 0 : ::MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0);
  auto* const wide = static_cast<wchar_t*>(
      ::CoTaskMemAlloc((static_cast<std::size_t>(size) + 1) * sizeof(wchar_t)));
  if (wide == nullptr) return nullptr;
  if (size > 0) ::MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, wide, size);
  wide[size] = L'\0';
  return wide;
}

Guid FromWindows(const GUID& id) {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t at = 0;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes[at++] = static_cast<std::uint8_t>(id.Data1 >> shift);
  for (const unsigned short part : {id.Data2, id.Data3}) {
    bytes[at++] = static_cast<std::uint8_t>(part >> 8);
    bytes[at++] = static_cast<std::uint8_t>(part & 0xff);
  }
  for (const unsigned char byte : id.Data4) bytes[at++] = byte;
  return Guid(bytes);
}

}  // namespace weft::hns::emulator
