// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/world_file.h"

#include <array>
#include <cstddef>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace weft::hns::emulator {
namespace {

absl::Status CannotWrite(const std::string& path, std::string_view why) {
  return absl::UnavailableError(absl::StrCat("HNS emulator: cannot write ", path, ": ", why,
                                             "; its folder must be there and writable"));
}

}  // namespace

WorldFile::Stamp WorldFile::Look() const {
  Stamp stamp;
  std::ifstream(lock_path()) >> stamp.writes;
  std::error_code none;
  stamp.time = std::filesystem::last_write_time(path_, none);
  if (none) stamp.time = {};
  stamp.size = std::filesystem::file_size(path_, none);
  if (none) stamp.size = 0;
  return stamp;
}

absl::StatusOr<std::optional<std::string>> WorldFile::Begin() {
  auto lock = FileLock::Take(lock_path());
  if (!lock.ok()) return lock.status();
  lock_.emplace(*std::move(lock));
  const Stamp stamp = Look();
  if (known_ == stamp) return std::nullopt;
  std::error_code none;
  if (!std::filesystem::exists(path_, none)) {
    known_ = stamp;
    return std::nullopt;
  }
  std::ifstream in(path_, std::ios::binary);
  // By read(), which does not throw where this is a folder.
  std::string text;
  for (std::array<char, 4096> block; in.read(block.data(), block.size()), in.gcount() > 0;) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) {
    lock_.reset();
    return absl::UnavailableError(absl::StrCat("HNS emulator: cannot read ", path_));
  }
  known_ = stamp;
  return text;
}

absl::Status WorldFile::End(const std::optional<std::string>& world) {
  absl::Status status;
  if (world) {
    const std::string draft = path_ + ".new";
    std::ofstream out(draft, std::ios::binary | std::ios::trunc);
    out << *world;
    out.close();
    std::error_code error;
    if (out) std::filesystem::rename(draft, path_, error);
    if (!out || error) {
      status = CannotWrite(path_, error ? error.message() : "the disk may be full");
      known_.reset();  // what stands there is not what this process holds
    } else {
      const std::uint64_t writes = Look().writes + 1;
      std::ofstream(lock_path(), std::ios::in | std::ios::out) << writes << "\n";
      known_ = Look();
    }
  }
  lock_.reset();
  return status;
}

}  // namespace weft::hns::emulator
