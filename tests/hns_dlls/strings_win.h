// SPDX-License-Identifier: Apache-2.0
// Converts text between our UTF-8 and the UTF-16 of Windows' callers.
#pragma once

#include <string>
#include <string_view>

#include "hns/api/hresult.h"
#include "hns/document/guid.h"

struct _GUID;  // NOLINT(bugprone-reserved-identifier): Windows' name

namespace weft::hns::emulator {

// "" for null.
std::string FromWide(const wchar_t* text);
// The caller frees it with CoTaskMemFree. Null: out of memory.
wchar_t* ToCallers(std::string_view text);
Guid FromWindows(const _GUID& id);

}  // namespace weft::hns::emulator
