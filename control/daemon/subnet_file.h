// SPDX-License-Identifier: Apache-2.0
// The file at --subnet-file: written whole or not at all, put back when it was touched, withdrawn
// when it would mislead.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::daemon {

// One thread (control). Errors name the path, the cause and the next step.
class SubnetFile {
 public:
  explicit SubnetFile(std::string path) : path_(std::move(path)) {}

  // Puts `text` in place: parent folder made if need be (0755), mode 0644, by rename, on disk when
  // it returns.
  absl::Status Write(const std::string& text);
  // Whether the file holds exactly `text` now.
  bool Holds(const std::string& text) const;

  // Takes away a file that is not `text`, so that no pod starts with another lease's subnet. True
  // when there was one.
  absl::StatusOr<bool> WithdrawUnless(const std::string& text);
  // Takes away a file that was written before the system started, while it is not known yet what
  // belongs there.
  absl::StatusOr<bool> WithdrawIfOfEarlierBoot();

  const std::string& path() const { return path_; }
  // Whether Write succeeded, and no withdrawal followed.
  bool written() const { return written_; }

 private:
  absl::Status Remove();

  std::string path_;
  bool written_ = false;
};

}  // namespace weft::daemon
