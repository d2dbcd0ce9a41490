// SPDX-License-Identifier: Apache-2.0
// Api over the functions that two loaded modules export; for OpenApi() and its tests.
#pragma once

#include <windows.h>

#include <memory>

#include "hns/api/api.h"

namespace weft::hns {

// Null: the DLL does not exist. The Api's destructor, during which no call may be in progress,
// frees both.
std::unique_ptr<Api> ApiOf(HMODULE computenetwork, HMODULE vmcompute);

}  // namespace weft::hns
