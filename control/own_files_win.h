// SPDX-License-Identifier: Apache-2.0
// The part of Windows' access control that decides whether a file is trusted.
#pragma once

#include <windows.h>

#include <functional>
#include <string>

namespace weft::control {

// The rights that must be our own: those to change a file; those to put another file in the place
// of one in a folder. kOwnership alone: the access list is ignored.
inline constexpr DWORD kOwnership = 0;
inline constexpr DWORD kFolderChanges =
    FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_ALL;
inline constexpr DWORD kFileChanges = FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | WRITE_DAC |
                                      WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;

// The foreign owner, or holder of one of the rights `ours`, in a security descriptor that has an
// owner and an access list: "belongs to S-1-5-21-1"; empty: none.
std::string ForeignAccess(PSECURITY_DESCRIPTOR descriptor, DWORD ours);

// The same for the owner of an open pipe.
std::string ForeignOwner(HANDLE pipe);

// Calls `make` with attributes that give access to SYSTEM, Administrators and the owner only, and
// inherit nothing from the parent folder. The owner is Administrators where this account may set
// it, because all administrators count as one user here, else this account. Returns the result of
// the last `make`.
DWORD WithOwnAttributes(const std::function<DWORD(SECURITY_ATTRIBUTES*)>& make);

}  // namespace weft::control
