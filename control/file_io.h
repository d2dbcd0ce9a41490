// SPDX-License-Identifier: Apache-2.0
// What the standard library lacks for files: UTF-8 names on every system, atomic replacement, and
// durable appending. Also an identifier of the current boot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::control {

// `utf8` as a path, on every system.
std::filesystem::path PathOf(std::string_view utf8);

// Creates `folder` and its parents, as far as they are missing. Not create_directories itself:
// g++ 12's ends the process for a server or device without a folder ("\\\\.") that does not exist.
std::error_code MakeFolders(const std::filesystem::path& folder);

// Whether something is at `path` (UTF-8; links are followed). What cannot be inspected may be
// there: only the system's word that there is nothing counts as absence.
bool MayExist(const std::string& path);

// The whole file `path` (UTF-8), at most `most` bytes. Uses read(), because a stream's iterator
// throws where reading fails, for example on a folder. NotFound: there is no such file; any other
// error: there may be one. The error does not name the file: the caller does.
absl::StatusOr<std::string> ReadFileText(const std::string& path, std::size_t most = SIZE_MAX);

// Replaces the content of `path` (UTF-8) with `text`, durably: also after a power cut. Its folder
// must exist. Mode 0644; on Windows access for SYSTEM, Administrators and the owner. Writes a new
// file with a name of TemporaryOf and renames it, so that no other user's file is written to, and
// readers see either the old or the new content. The error has the step that failed and the
// system's text; the caller names the file. ResourceExhausted: the disk is full, or a quota is used
// up.
absl::Status ReplaceFileText(const std::string& path, const std::string& text);
// The same with a text that `write` passes on piece by piece. Its error ends the call: the file
// stays as it was.
using TextSink = absl::FunctionRef<void(std::string_view)>;
absl::Status ReplaceFileText(const std::string& path,
                             absl::FunctionRef<absl::Status(TextSink)> write);

// "PATH.weft-0123456789abcdef", random: no other program names a file so. `file` and `name` have no
// folders.
std::string TemporaryOf(const std::string& path);
bool IsTemporaryOf(std::string_view file, std::string_view name);
// Removes what killed writes left next to `path` (UTF-8), which no other process writes now.
void RemoveTemporariesOf(const std::string& path);

// Truncates `path` (UTF-8) to `size` bytes and appends `text`; with size zero it also creates the
// file, whose folder must exist. Mode and error as above; `text` is on disk when this returns.
// After an error or a power cut the file may contain any part of `text`: the next call truncates
// it. OutOfRange: the file has become shorter than `size`, and nothing was written.
absl::Status AppendFileText(const std::string& path, std::size_t size, const std::string& text);

// The operator's next step after `status` of ReplaceFileText or AppendFileText; `flag` chooses the
// folder.
std::string StepToWrite(const absl::Status& status, std::string_view flag);

// Identifies the current boot: differs after each start of the system, whatever the clock does;
// empty if unknown.
std::string BootId();
// Removes what BootId keeps on Windows, a registry key that no reboot would keep either. A process
// that has called BootId must not run.
void ForgetBootId();

}  // namespace weft::control
