// SPDX-License-Identifier: Apache-2.0
// What of Windows' access control decides whether a file is ours.
#pragma once

#include <windows.h>

#include <functional>
#include <string>

namespace weft::control {

// Of a security descriptor with owner and access list: who else may own or change the thing,
// "belongs to S-1-5-21-1"; empty: nobody. A folder's list is not looked at.
std::string WhoElse(PSECURITY_DESCRIPTOR descriptor, bool is_folder);

// The same of an open pipe's owner alone.
std::string WhoElseOwns(HANDLE pipe);

// `make` with attributes for SYSTEM, Administrators and the owner alone, which nothing of the
// folder above is added to: the owner is Administrators where this account may say so, as every
// administrator's are one user here, else this account. Returns what the last `make` returned.
DWORD WithOwnAttributes(const std::function<DWORD(SECURITY_ATTRIBUTES*)>& make);

}  // namespace weft::control
