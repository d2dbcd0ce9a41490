// SPDX-License-Identifier: Apache-2.0
// Files and folders that a privileged process trusts, and that another user of the machine must not
// have made. Trusted owners are root and this account, and "nobody" where that stands for users
// without a number here; on Windows SYSTEM, Administrators, TrustedInstaller and this account.
// Paths are UTF-8.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

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
// if it is a file, may write to it. Unavailable: that cannot be read. OK if `path` does not exist,
// or the file system has no owners.
absl::Status CheckOwn(const std::string& path);
// The same for `folder` (a link is followed), in which another user may put another file in the
// place of one.
absl::Status CheckOwnFolder(const std::string& folder);

// Who else could change `path` or the file that it links to, or put another file in its place
// because of a folder above: "FOLDER belongs to user 7; ..."; empty: nobody.
std::string WhoElseMayChange(const std::string& path);

// Renames the file `path`, which flanneld writes, if CheckOwn refuses it, to
// "PATH.foreign-RANDOM". Returns a sentence: what was found and where it is now; empty: nothing was
// renamed. The error names the reason why it cannot be renamed.
absl::StatusOr<std::string> SetForeignAside(const std::string& path);
// The same for a folder of flanneld's defaults, which only flanneld uses. Any other may have files
// of other programs and stays: PermissionDenied.
absl::StatusOr<std::string> SetForeignFolderAside(const std::string& folder);

// SetForeignFolderAside, then creates `folder` and its parents; on Windows the new folder, and
// \run, are accessible to SYSTEM, Administrators and the owner only. Returns the former's sentence;
// PermissionDenied also of a foreign \run, in which the folder is created nevertheless.
absl::StatusOr<std::string> MakeOwnFolder(const std::string& folder);

struct CloseStream {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OwnFile = std::unique_ptr<std::FILE, CloseStream>;
// Opens the file `path` to replace its text; no other user may read it. PermissionDenied: it is
// another user's, has another name too, or is no regular file; a link is not followed.
absl::StatusOr<OwnFile> CreateOwnFile(const std::string& path);

// Sixteen hexadecimal digits, for unpredictable names.
std::string RandomName();
bool IsRandomName(std::string_view text);

}  // namespace weft::control
