// SPDX-License-Identifier: Apache-2.0
// A world that several processes share through a file. PATH holds it, PATH.lock says who works on
// it and how often it was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "hns/emulator/emulator.h"
#include "hns/emulator/file_lock.h"

namespace weft::hns::emulator {

// For one emulator, whose lock guards it.
class WorldFile final : public WorldKeeper {
 public:
  explicit WorldFile(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<std::optional<std::string>> Begin() override;
  absl::Status End(const std::optional<std::string>& world) override;

 private:
  // By the count, and by what an editor changes.
  struct Stamp {
    std::uint64_t writes = 0;
    std::filesystem::file_time_type time{};
    std::uintmax_t size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  std::string lock_path() const { return path_ + ".lock"; }
  Stamp Look() const;

  const std::string path_;
  std::optional<FileLock> lock_;
  std::optional<Stamp> known_;
};

}  // namespace weft::hns::emulator
