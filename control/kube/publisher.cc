// SPDX-License-Identifier: Apache-2.0
#include "control/kube/publisher.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/kube/node_patch.h"
#include "control/kube/rewrites.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using control::TimePoint;

constexpr int kLongestShow = 5;  // doublings of kShownWithin
// A longer Retry-After is shortened to this.
constexpr std::chrono::minutes kLongestRetryAfter{5};

bool IsSuccess(const absl::StatusOr<ApiStatus>& answer) {
  return answer.ok() && answer->code >= 200 && answer->code < 300;
}

const std::string& TextOf(const Annotations& annotations, const std::string& key) {
  static const std::string kNone;
  const auto at = annotations.find(key);
  return at == annotations.end() ? kNone : at->second;
}

// The entries of `desired` that `shown` lacks.
Annotations Difference(const Annotations& desired, const Annotations& shown) {
  Annotations missing;
  for (const auto& [key, text] : desired)
    if (TextOf(shown, key) != text) missing.emplace(key, text);
  return missing;
}

}  // namespace

void Publisher::Tries::Reset() {
  backoff.Reset();
  not_before = {};
  error.clear();
}

void Publisher::Tries::Fail(TimePoint now, std::optional<std::chrono::seconds> retry_after,
                            std::string why) {
  const auto wait = backoff.Next();
  const auto requested = std::min<std::chrono::seconds>(
      retry_after.value_or(std::chrono::seconds(0)), kLongestRetryAfter);
  not_before = now + std::max<control::Duration>(wait, requested);
  error = std::move(why);
}

Publisher::Publisher(const control::Clock& clock, std::function<absl::Time()> now,
                     control::Random random, Options options)
    : clock_(&clock),
      now_(std::move(now)),
      options_(std::move(options)),
      rewrites_(random, kCalm),
      annotations_(control::Backoff(options_.retry, random)),
      condition_(control::Backoff(options_.retry, random)) {}

Annotations Publisher::Desired(const lease::OwnNode& of) const {
  std::vector<std::string> ignored;
  return DesiredAnnotations(options_.keys, *desired_, of, ignored);
}

Annotations Publisher::Missing() const {
  Annotations shown = Shown();
  for (const auto& [key, text] : accepted_) shown[key] = text;
  return Difference(Desired(*node_), shown);
}

TimePoint Publisher::AnnotationsAt() const {
  return std::max(annotations_.not_before, rewrites_.answer_at());
}

bool Publisher::ConditionDue() const {
  return ready_ && options_.set_condition && condition_of_ != node_->node.uid;
}

bool Publisher::IsShown() const {
  return CanPublish() && Difference(Desired(*node_), Shown()).empty();
}

void Publisher::Forget() {
  accepted_.clear();
  unshown_ = 0;
  rewrites_.Reset();
  annotations_.Reset();
  condition_.Reset();
}

void Publisher::SettleAccepted() {
  if (Difference(accepted_, Shown()).empty()) accepted_.clear();
  if (IsShown()) unshown_ = 0;
}

void Publisher::FindRewrites(const lease::OwnNode& next) {
  const Annotations was = Shown(), is = ShownAnnotations(options_.keys, next);
  const Annotations ours = Desired(*node_), desired_now = Desired(next);
  std::vector<std::string> changed;
  for (const auto& [key, text] : ours) {
    const std::string& found = TextOf(is, key);
    if (TextOf(was, key) != text || found == text || found == TextOf(desired_now, key)) continue;
    changed.push_back(
        absl::StrCat(key, found.empty() ? " removed" : " to ", found.empty() ? "" : Quoted(found)));
  }
  if (!changed.empty()) rewrites_.Count(clock_->Now(), absl::StrJoin(changed, ", "));
}

void Publisher::Accept() {
  annotations_.Reset();
  for (const auto& [key, text] : sent_) accepted_[key] = text;
  shown_by_ = clock_->Now() + kShownWithin * (1 << std::min(unshown_, kLongestShow));
  SettleAccepted();
}

void Publisher::SetDesired(std::optional<Publication> desired) { desired_ = std::move(desired); }

void Publisher::SetReady(bool ready) { ready_ = ready; }

void Publisher::OnOwnNode(const std::optional<lease::OwnNode>& node) {
  const bool same = node_ && node && node_->node.uid == node->node.uid;
  if (!same) {
    Forget();
  } else if (CanPublish()) {
    FindRewrites(*node);
  }
  node_ = node;
  if (node) SettleAccepted();
}

std::optional<HttpRequest> Publisher::Next() {
  if (awaited_ != Patch::kNone || !CanPublish()) return std::nullopt;
  const TimePoint now = clock_->Now();
  if (!accepted_.empty() && now >= shown_by_) {
    accepted_.clear();
    ++unshown_;
  }
  sent_to_ = node_->node.uid;
  if (Annotations missing = Missing(); !missing.empty()) {
    if (now < AnnotationsAt()) return std::nullopt;
    awaited_ = Patch::kAnnotations;
    sent_ = std::move(missing);
    return NodeStatusPatch(options_.node_name, AnnotationsPatch(sent_));
  }
  if (!ConditionDue() || now < condition_.not_before) return std::nullopt;
  awaited_ = Patch::kCondition;
  return NodeStatusPatch(options_.node_name, NetworkAvailablePatch(now_()));
}

void Publisher::OnAnswer(const absl::StatusOr<ApiStatus>& answer) {
  assert(awaited_ != Patch::kNone);
  const Patch what = std::exchange(awaited_, Patch::kNone);
  if (!node_ || node_->node.uid != sent_to_) return;  // for another Node
  Tries& tries = what == Patch::kAnnotations ? annotations_ : condition_;
  if (!IsSuccess(answer)) {
    const std::string_view subject =
        what == Patch::kAnnotations ? "annotations" : "condition NetworkUnavailable";
    return tries.Fail(clock_->Now(), answer.ok() ? answer->retry_after : std::nullopt,
                      PatchFailure(options_.node_name, subject, answer));
  }
  if (what == Patch::kAnnotations) return Accept();
  tries.Reset();
  condition_of_ = sent_to_;
}

std::optional<TimePoint> Publisher::NextDeadline() const {
  if (awaited_ != Patch::kNone || !CanPublish()) return std::nullopt;
  std::optional<TimePoint> next;
  if (!Missing().empty()) {
    next = AnnotationsAt();
  } else if (ConditionDue()) {
    next = condition_.not_before;
  }
  if (!accepted_.empty()) next = std::min(next.value_or(shown_by_), shown_by_);
  return next;
}

std::string Publisher::condition() const {
  if (!node_ || !desired_) return "";
  const std::string node = Quoted(options_.node_name);
  if (!IsComplete(*desired_)) {
    return absl::StrCat("the lease of node ", node,
                        " is not complete, so that nothing is published: a VTEP MAC is missing");
  }
  std::vector<std::string> sentences;
  DesiredAnnotations(options_.keys, *desired_, *node_, sentences);
  const TimePoint now = clock_->Now();
  if (rewrites_.times() > 0 && (!published() || rewrites_.IsLasting(now)))
    sentences.push_back(rewrites_.Describe(options_.node_name));
  if (!annotations_.error.empty() && !published()) sentences.push_back(annotations_.error);
  if (unshown_ > 0) {
    sentences.push_back(absl::StrCat(
        "the API server accepted our annotations of node ", node, " ", unshown_,
        unshown_ == 1 ? " time" : " times",
        ", but the Node does not show them: the watch lags behind, or an admission webhook changes "
        "them"));
  }
  if (!condition_.error.empty()) sentences.push_back(condition_.error);
  return absl::StrJoin(sentences, "; ");
}

}  // namespace weft::kube
