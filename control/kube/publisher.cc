// SPDX-License-Identifier: Apache-2.0
#include "control/kube/publisher.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/kube/patch_failure.h"
#include "control/kube/rewrites.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using control::TimePoint;

constexpr int kLongestShow = 5;  // doublings of kShownWithin
// A server that wants to be left alone for longer is asked again all the same.
constexpr std::chrono::minutes kLongestRetryAfter{5};

bool IsSuccess(const absl::StatusOr<ApiStatus>& answer) {
  return answer.ok() && answer->code >= 200 && answer->code < 300;
}

const std::string& TextOf(const Annotations& annotations, const std::string& key) {
  static const std::string kNone;
  const auto at = annotations.find(key);
  return at == annotations.end() ? kNone : at->second;
}

// Those of `wanted` that `shown` does not have.
Annotations Difference(const Annotations& wanted, const Annotations& shown) {
  Annotations missing;
  for (const auto& [key, text] : wanted) {
    if (TextOf(shown, key) != text) missing.emplace(key, text);
  }
  return missing;
}

// The tries of one patch: when the next may be made, and why the last one failed.
struct Tries {
  explicit Tries(control::Backoff first) : backoff(std::move(first)) {}
  void Reset() {
    backoff.Reset();
    not_before = {};
    error.clear();
  }
  void Fail(TimePoint now, std::optional<std::chrono::seconds> retry_after, std::string why) {
    const auto wait = backoff.Next();
    const auto asked = std::min<std::chrono::seconds>(retry_after.value_or(std::chrono::seconds(0)),
                                                      kLongestRetryAfter);
    not_before = now + std::max<control::Duration>(wait, asked);
    error = std::move(why);
  }

  control::Backoff backoff;
  TimePoint not_before{};
  std::string error;
};

}  // namespace

struct Publisher::Impl {
  enum class Patch : std::uint8_t { kNone, kAnnotations, kCondition };

  Impl(const control::Clock& steady, std::function<absl::Time()> wall, control::Random random,
       Options what)
      : clock(steady),
        now(std::move(wall)),
        options(std::move(what)),
        rewrites(random, kCalm),
        annotations(control::Backoff(options.retry, random)),
        condition(control::Backoff(options.retry, random)) {}

  Annotations Wanted(const lease::OwnNode& of) const {
    std::vector<std::string> ignored;
    return WantedAnnotations(options.keys, *wanted, of, ignored);
  }
  Annotations Shown() const { return ShownAnnotations(options.keys, *node); }
  bool CanPublish() const { return node && wanted && IsComplete(*wanted); }

  // What is to be sent: what was accepted counts as shown. CanPublish.
  Annotations Missing() const {
    Annotations shown = Shown();
    for (const auto& [key, text] : accepted) shown[key] = text;
    return Difference(Wanted(*node), shown);
  }
  TimePoint AnnotationsAt() const { return std::max(annotations.not_before, rewrites.answer_at()); }
  bool ConditionDue() const {
    return ready && options.set_condition && condition_of != node->node.uid;
  }

  void Forget() {
    accepted.clear();
    unshown = 0;
    rewrites.Reset();
    annotations.Reset();
    condition.Reset();
  }
  bool IsShown() const { return CanPublish() && Difference(Wanted(*node), Shown()).empty(); }
  void SettleAccepted() {
    if (Difference(accepted, Shown()).empty()) accepted.clear();
    if (IsShown()) unshown = 0;
  }
  // Our texts, as `next` does not have them any more.
  void LookForRewrites(const lease::OwnNode& next) {
    const Annotations was = Shown(), is = ShownAnnotations(options.keys, next);
    const Annotations ours = Wanted(*node), wanted_now = Wanted(next);
    std::vector<std::string> changed;
    for (const auto& [key, text] : ours) {
      const std::string& found = TextOf(is, key);
      if (TextOf(was, key) != text || found == text || found == TextOf(wanted_now, key)) continue;
      changed.push_back(absl::StrCat(key, found.empty() ? " removed" : " to ",
                                     found.empty() ? "" : Quoted(found)));
    }
    if (!changed.empty()) rewrites.Count(clock.Now(), absl::StrJoin(changed, ", "));
  }

  void Accept() {
    annotations.Reset();
    if (!node || node->node.uid != sent_to) return;
    for (const auto& [key, text] : sent) accepted[key] = text;
    shown_by = clock.Now() + kShownWithin * (1 << std::min(unshown, kLongestShow));
    SettleAccepted();
  }

  const control::Clock& clock;
  const std::function<absl::Time()> now;
  const Options options;
  std::optional<Publication> wanted;
  std::optional<lease::OwnNode> node;
  bool ready = false;

  Patch awaited = Patch::kNone;
  std::string sent_to;  // UID
  Annotations sent;
  Annotations accepted;  // by the server, not yet seen in the watch
  TimePoint shown_by{};
  int unshown = 0;                          // times in a row that it was not seen in time
  std::optional<std::string> condition_of;  // UID of the Node that has it
  Rewrites rewrites;
  Tries annotations, condition;
};

Publisher::Publisher(const control::Clock& clock, std::function<absl::Time()> now,
                     control::Random random, Options options)
    : impl_(std::make_unique<Impl>(clock, std::move(now), std::move(random), std::move(options))) {}

Publisher::Publisher(Publisher&&) noexcept = default;
Publisher& Publisher::operator=(Publisher&&) noexcept = default;
Publisher::~Publisher() = default;

void Publisher::SetWanted(std::optional<Publication> wanted) { impl_->wanted = std::move(wanted); }

void Publisher::SetReady(bool ready) { impl_->ready = ready; }

void Publisher::OnOwnNode(const std::optional<lease::OwnNode>& node) {
  const bool same = impl_->node && node && impl_->node->node.uid == node->node.uid;
  if (!same) {
    impl_->Forget();
  } else if (impl_->CanPublish()) {
    impl_->LookForRewrites(*node);
  }
  impl_->node = node;
  if (node) impl_->SettleAccepted();
}

std::optional<HttpRequest> Publisher::Next() {
  Impl& me = *impl_;
  if (me.awaited != Impl::Patch::kNone || !me.CanPublish()) return std::nullopt;
  const TimePoint now = me.clock.Now();
  if (!me.accepted.empty() && now >= me.shown_by) {
    me.accepted.clear();
    ++me.unshown;
  }
  me.sent_to = me.node->node.uid;
  if (Annotations missing = me.Missing(); !missing.empty()) {
    if (now < me.AnnotationsAt()) return std::nullopt;
    me.awaited = Impl::Patch::kAnnotations;
    me.sent = std::move(missing);
    return NodeStatusPatch(me.options.node_name, AnnotationsPatch(me.sent));
  }
  if (!me.ConditionDue() || now < me.condition.not_before) return std::nullopt;
  me.awaited = Impl::Patch::kCondition;
  return NodeStatusPatch(me.options.node_name, NetworkAvailablePatch(me.now()));
}

void Publisher::OnAnswer(const absl::StatusOr<ApiStatus>& answer) {
  Impl& me = *impl_;
  assert(me.awaited != Impl::Patch::kNone);
  const Impl::Patch what = std::exchange(me.awaited, Impl::Patch::kNone);
  if (!me.node || me.node->node.uid != me.sent_to) return;  // said of another Node
  Tries& tries = what == Impl::Patch::kAnnotations ? me.annotations : me.condition;
  if (!IsSuccess(answer)) {
    const std::string_view subject =
        what == Impl::Patch::kAnnotations ? "annotations" : "condition NetworkUnavailable";
    return tries.Fail(me.clock.Now(), answer.ok() ? answer->retry_after : std::nullopt,
                      PatchFailure(me.options.node_name, subject, answer));
  }
  if (what == Impl::Patch::kAnnotations) return me.Accept();
  tries.Reset();
  me.condition_of = me.sent_to;
}

std::optional<TimePoint> Publisher::NextDeadline() const {
  const Impl& me = *impl_;
  if (me.awaited != Impl::Patch::kNone || !me.CanPublish()) return std::nullopt;
  std::optional<TimePoint> next;
  if (!me.Missing().empty()) {
    next = me.AnnotationsAt();
  } else if (me.ConditionDue()) {
    next = me.condition.not_before;
  }
  if (!me.accepted.empty()) next = std::min(next.value_or(me.shown_by), me.shown_by);
  return next;
}

bool Publisher::published() const { return impl_->IsShown(); }

std::string Publisher::trouble() const {
  const Impl& me = *impl_;
  if (!me.node || !me.wanted) return "";
  const std::string node = Quoted(me.options.node_name);
  if (!IsComplete(*me.wanted)) {
    return absl::StrCat("the lease of node ", node,
                        " is not complete, so that nothing is published: a VTEP MAC is missing");
  }
  std::vector<std::string> sentences;
  WantedAnnotations(me.options.keys, *me.wanted, *me.node, sentences);
  const TimePoint now = me.clock.Now();
  if (me.rewrites.times() > 0 && (!published() || me.rewrites.IsLasting(now))) {
    sentences.push_back(me.rewrites.Describe(me.options.node_name));
  }
  if (!me.annotations.error.empty() && !published()) sentences.push_back(me.annotations.error);
  if (me.unshown > 0) {
    sentences.push_back(absl::StrCat(
        "the API server accepted our annotations of node ", node, " ", me.unshown,
        me.unshown == 1 ? " time" : " times",
        ", but the Node does not show them: the watch lags behind, or an admission webhook changes "
        "them"));
  }
  if (!me.condition.error.empty()) sentences.push_back(me.condition.error);
  return absl::StrJoin(sentences, "; ");
}

}  // namespace weft::kube
