// SPDX-License-Identifier: Apache-2.0
// Files and folders that a privileged process trusts, and that another user of the machine must not
// have made. Trusted owners are root and this account; on Windows SYSTEM, Administrators,
// TrustedInstaller and this account. Paths are UTF-8.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::control {

// The default of --state-dir: "/var/lib/weft"; on Windows ProgramData\weft on the system drive,
// whatever the environment and the current drive are.
std::string DefaultStateFolder();
// The default of earlier versions: \var\lib\weft on Windows; empty: the same.
std::string FormerStateFolder();
// On Windows `path` on the system drive, if it names no drive. On Linux `path` unchanged.
std::string OnSystemDrive(const std::string& path);

// `folder` without separators at its end, so that a suffix can be appended.
std::string WithoutEndSlash(std::string folder);

// PermissionDenied, naming the user: another user owns `path` itself (a link is not followed) or,
// if it is a file, may write to it. OK if `path` does not exist, or the file system has no owners.
absl::Status CheckOwn(const std::string& path);

// Renames `path`, if CheckOwn refuses it, to "PATH.foreign-RANDOM". Returns a sentence: what was
// found and where it is now; empty: nothing was renamed. The error names the reason why it cannot
// be renamed.
absl::StatusOr<std::string> SetForeignAside(const std::string& path);

// SetForeignAside, then creates `folder` and its parents; on Windows the new folder, and \run, are
// accessible to SYSTEM, Administrators and the owner only. Returns the sentence of SetForeignAside.
absl::StatusOr<std::string> MakeOwnFolder(const std::string& folder);

// Sixteen hexadecimal digits, for unpredictable names.
std::string RandomName();

}  // namespace weft::control
