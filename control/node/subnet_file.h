// SPDX-License-Identifier: Apache-2.0
// The file at --subnet-file: written whole or not at all, put back when it was touched, withdrawn
// when it names another lease than this node's.
#pragma once

#include <optional>
#include <string>

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

  // Puts `text` in place: parent folder made if need be (0755), mode 0644, by rename, on disk when
  // it returns. A folder or file of another user's is set aside first (own_files.h), which is
  // logged; one that cannot be is used.
  absl::Status Write(const std::string& text);
  // Whether the file holds exactly `text` now, and no other user may alter it.
  bool Holds(const std::string& text) const;

  // Sees to it that the file holds `text`. One that another program changed is put back once at
  // once, then ever more rarely, so that two programs never fight over it: the error says so until
  // it was left alone for a while.
  absl::Status Keep(const std::string& text, control::TimePoint now);

  // Takes the file away if it names another lease than `env`'s: no pod starts with its subnet. What
  // it named; empty: it stays. The only reason to take it away, since without it no pod starts.
  absl::StatusOr<std::string> WithdrawUnlessOf(const SubnetEnv& env);

  const std::string& path() const { return path_; }
  // What another user put in our place.
  const control::Condition& foreign() const { return foreign_; }
  // Whether Write succeeded, and no withdrawal followed.
  bool written() const { return text_.has_value(); }

 private:
  std::string path_;
  std::optional<std::string> text_;  // as written last
  // Of what another program does to it: how often in a row, when it was put back, and how long it
  // is left to that program.
  int changes_ = 0;
  control::TimePoint put_back_at_{};
  control::Duration pause_{};
  bool tells_owner_ = false;  // the file system does: what was just written is ours
  control::Condition foreign_;
};

}  // namespace weft::node
