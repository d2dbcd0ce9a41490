// SPDX-License-Identifier: Apache-2.0
// Others who change our annotations. The first change is answered at once, each later one after a
// longer wait, so that two programs that will not agree do not make a storm.
#pragma once

#include <string>
#include <string_view>

#include "control/clock.h"
#include "control/retry.h"

namespace weft::kube {

class Rewrites {
 public:
  // After `calm` without a change all is forgotten.
  Rewrites(control::Random random, control::Duration calm);

  // They did it again; `what`: each key, and what became of it.
  void Count(control::TimePoint now, std::string what);
  void Reset();

  int times() const { return times_; }
  // It goes on: more than once, and not calm yet.
  bool IsLasting(control::TimePoint now) const { return times_ > 1 && !IsCalm(now); }
  // Not before then.
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
