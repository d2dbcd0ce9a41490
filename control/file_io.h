// SPDX-License-Identifier: Apache-2.0
// What the standard library cannot do with files: name one in UTF-8; replace one so that no reader
// and no crash sees a half-written one; append to one so that it is on disk. And by which text each
// boot of the system is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::control {

// Of UTF-8, on every system.
std::filesystem::path PathOf(std::string_view utf8);

// All of `path` (UTF-8), where it is no more than `most` bytes. By read(): a stream's iterator
// throws where reading fails, of a folder for example. The caller names the file.
absl::StatusOr<std::string> ReadFileText(const std::string& path, std::size_t most = SIZE_MAX);

// `path` (UTF-8) holds `text` when this returns, also after a power cut; its folder exists. Mode
// 0644; on Windows for SYSTEM, Administrators and the owner. By a new file of a random name, so
// that no other user's is written to. Readers see the old content or the new. The error carries the
// step that failed and the system's text; the caller names the file.
absl::Status ReplaceFileText(const std::string& path, const std::string& text);

// Cuts `path` (UTF-8) to `size` bytes and writes `text` behind them; zero also makes the file,
// whose folder exists. Mode and error as above; `text` is on disk when this returns. After an
// error, and a power cut, any part of `text` may be there: the next call cuts it off. OutOfRange:
// the file has become shorter than `size`, and nothing was written.
absl::Status AppendFileText(const std::string& path, std::size_t size, const std::string& text);

// Another text after each start of the system and the same until the next, whatever the clock does;
// empty where it cannot be known.
std::string BootId();

}  // namespace weft::control
