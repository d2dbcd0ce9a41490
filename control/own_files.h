// SPDX-License-Identifier: Apache-2.0
// Files and folders that a privileged process believes, and so must not find made by another user
// of the machine. Own are root's and this account's; on Windows SYSTEM's, Administrators',
// TrustedInstaller's and this account's. Paths are UTF-8.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::control {

// Where flanneld keeps its state unless --state-dir names another folder: "/var/lib/weft"; on
// Windows ProgramData\weft on the system drive, whatever environment and current drive are.
std::string DefaultStateFolder();
// Where weft kept it before: \var\lib\weft on Windows; empty: there is no other.
std::string FormerStateFolder();
// `path` where it names no drive: on the system drive, not the current one. On Linux as it is.
std::string OnSystemDrive(const std::string& path);

// A folder's name without the separators at its end, so that names may be made of it.
std::string WithoutEndSlash(std::string folder);

// PermissionDenied, with who it is: another user owns `path` itself (not what a link leads to) or,
// of a file, may write to it. What is not there, and what the file system does not tell, is fine.
absl::Status CheckOwn(const std::string& path);

// Renames what CheckOwn refuses to "PATH.foreign-RANDOM". A sentence says what was found and where
// it is now; empty: nothing was. The error says why it stays.
absl::StatusOr<std::string> SetForeignAside(const std::string& path);

// Sets a foreign `folder` aside, and makes it with the folders above it; on Windows those that it
// makes are for SYSTEM, Administrators and the owner alone. The sentence as above.
absl::StatusOr<std::string> MakeOwnFolder(const std::string& folder);

// Sixteen hexadecimal digits, for unpredictable names.
std::string RandomName();

}  // namespace weft::control
