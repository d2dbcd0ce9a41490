// SPDX-License-Identifier: Apache-2.0
// The part of Windows' access control that decides whether a file is trusted.
#pragma once

#include <windows.h>

#include <functional>
#include <string>

namespace weft::control {

// The foreign owner or writer in a security descriptor that has an owner and an access list:
// "belongs to S-1-5-21-1"; empty: none. A folder's access list is ignored.
std::string ForeignAccess(PSECURITY_DESCRIPTOR descriptor, bool is_folder);

// The same for the owner of an open pipe.
std::string ForeignOwner(HANDLE pipe);

// Calls `make` with attributes that give access to SYSTEM, Administrators and the owner only, and
// inherit nothing from the parent folder. The owner is Administrators where this account may set
// it, because all administrators count as one user here, else this account. Returns the result of
// the last `make`.
DWORD WithOwnAttributes(const std::function<DWORD(SECURITY_ATTRIBUTES*)>& make);

}  // namespace weft::control
