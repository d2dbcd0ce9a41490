// SPDX-License-Identifier: Apache-2.0
// The file at --subnet-file: replaced atomically, restored when another program changes it, removed
// when it names another lease than this node's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/clock.h"
#include "control/condition.h"
#include "control/node/subnet_env.h"

namespace weft::node {

// One thread (control). Errors name the path, the cause and the next step.
class SubnetFile {
 public:
  explicit SubnetFile(std::string path) : path_(std::move(path)) {}

  // Writes `text` by rename, mode 0644, on disk when it returns; creates a missing parent folder
  // (0755). A folder or file of another user is set aside first (own_files.h), which is logged; one
  // that cannot be set aside is used. The first time it also removes what killed writes left.
  absl::Status Write(const std::string& text);
  // Whether the file contains exactly `text` now, and no other user may alter it.
  bool Matches(const std::string& text) const;

  // Whether the file names exactly the lease of `env`, and no other user may alter it.
  bool IsOf(const SubnetEnv& env) const;

  // The subnets that the file names now.
  std::vector<IpPrefix> Subnets() const;

  // Makes the file contain `text`. A file that another program changed is restored at once the
  // first time, then after growing pauses, so that two programs do not fight over it; an error
  // reports that until the file stays unchanged for a while.
  absl::Status Keep(const std::string& text, control::TimePoint now);
  // What the last Keep replaced that was not ours, in one line: "it was missing", "it had ...";
  // empty: nothing.
  const std::string& replaced() const { return replaced_; }

  // Removes the file if it names another lease than `env`'s, so that no pod starts with that
  // subnet. Returns what it named; empty: the file stays. Without the file no pod starts.
  // Unavailable: it cannot be read, or not removed.
  absl::StatusOr<std::string> WithdrawUnlessOf(const SubnetEnv& env);

  const std::string& path() const { return path_; }
  // A file or folder of another user in our place.
  const control::Condition& foreign() const { return foreign_; }
  // Whether Write succeeded, and no withdrawal followed.
  bool written() const { return text_.has_value(); }

 private:
  std::string path_;
  std::optional<std::string> text_;  // as written last
  // Changes by another program: how many in a row, when the file was last restored, and the pause
  // before it is restored again.
  int changes_ = 0;
  control::TimePoint put_back_at_{};
  std::string replaced_;
  control::Duration pause_{};
  bool reports_owner_ = false;  // the file system does: a file just written was ours
  control::Condition foreign_;
};

}  // namespace weft::node
