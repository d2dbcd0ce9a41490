// SPDX-License-Identifier: Apache-2.0
// Foreign changes of our annotations. The first one is undone at once, each later one after a
// longer wait, so that two programs that disagree do not overload the API server.
#pragma once

#include <string>
#include <string_view>

#include "control/clock.h"
#include "control/retry.h"

namespace weft::kube {

class Rewrites {
 public:
  // After `calm` without a change the count starts over.
  Rewrites(control::Random random, control::Duration calm);

  // Records a change; `what`: each key, and its new value.
  void Count(control::TimePoint now, std::string what);
  void Reset();

  int times() const { return times_; }
  // Whether the changes continue: more than one, and not calm yet.
  bool IsLasting(control::TimePoint now) const { return times_ > 1 && !IsCalm(now); }
  // The earliest time to undo the last change.
  control::TimePoint answer_at() const { return answer_at_; }
  // A sentence for people.
  std::string Describe(std::string_view node_name) const;

 private:
  bool IsCalm(control::TimePoint now) const { return now >= last_ + calm_; }

  control::Duration calm_;
  control::Backoff backoff_;
  int times_ = 0;
  std::string what_;
  control::TimePoint last_{}, answer_at_{};
};

}  // namespace weft::kube
