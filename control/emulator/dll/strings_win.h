// SPDX-License-Identifier: Apache-2.0
// Text on its way between our UTF-8 and Windows' callers.
#pragma once

#include <string>
#include <string_view>

#include "hns/api/hresult.h"
#include "hns/document/guid.h"

struct _GUID;  // NOLINT(bugprone-reserved-identifier): Windows' name

namespace weft::hns::emulator {

// "" for null.
std::string FromWide(const wchar_t* text);
// The caller frees it by CoTaskMemFree. Null: no memory.
wchar_t* ToCallers(std::string_view text);
Guid FromWindows(const _GUID& id);

}  // namespace weft::hns::emulator
