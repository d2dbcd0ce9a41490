// SPDX-License-Identifier: Apache-2.0
#include "control/kube/rewrites.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::kube {

Rewrites::Rewrites(control::Random random, control::Duration calm)
    : calm_(calm),
      // Five changes in a row by a person are answered without a noticeable delay; a program soon
      // causes waits of minutes. The longest wait, jitter included, stays below `calm`.
      backoff_(
          {.first = std::chrono::milliseconds(100), .most = calm / 3, .factor = 2, .jitter = 1},
          std::move(random)) {}

void Rewrites::Count(control::TimePoint now, std::string what) {
  if (IsCalm(now)) Reset();
  answer_at_ = times_ == 0 ? now : now + backoff_.Next();
  ++times_;
  last_ = now;
  what_ = std::move(what);
}

void Rewrites::Reset() {
  backoff_.Reset();
  times_ = 0;
  what_.clear();
  last_ = answer_at_ = {};
}

std::string Rewrites::Describe(std::string_view node_name) const {
  return absl::StrCat("another program changed our annotations of node ", Quoted(node_name),
                      times_ == 1 ? "" : absl::StrCat(", ", times_, " times so far"), ": ", what_,
                      "; they are put back", times_ == 1 ? "" : ", each time later",
                      "; `kubectl get node ", node_name,
                      " -o yaml --show-managed-fields` names the writer");
}

}  // namespace weft::kube
