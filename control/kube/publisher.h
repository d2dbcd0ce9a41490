// SPDX-License-Identifier: Apache-2.0
// Our own lease in our Node's annotations: a state machine without I/O that returns the patch to
// send. The lease is written once and complete, restored after foreign changes, and never blanked.
//
//   desired + own Node ──► difference ──► patch ──► accepted ──► seen in the watch: published
//                             ▲                       └─► not seen in time ──┐
//                             └──── foreign change, Node created again ◄─────┘
//
// Then it sets the condition NetworkUnavailable, once for each Node (UID), when the network works.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/clock.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/node_patch.h"
#include "control/kube/publication.h"
#include "control/kube/rewrites.h"
#include "control/lease/own_node.h"
#include "control/retry.h"

namespace weft::kube {

// One thread (control).
class Publisher {
 public:
  // How long the server may take for a patch; the caller then ends it with kDeadlineExceeded.
  static constexpr std::chrono::seconds kAnswerLimit{30};
  // How long the watch may take to show what the server accepted; longer each time.
  static constexpr std::chrono::seconds kShownWithin{10};
  // Foreign changes of our annotations are over after this time without one.
  static constexpr std::chrono::minutes kCalm{15};

  struct Options {
    AnnotationKeys keys;
    std::string node_name;
    bool set_condition = true;  // --set-node-network-unavailable
    control::RetryPolicy retry;
  };
  // `clock` outlives it. `now` is the wall clock, for the condition.
  Publisher(const control::Clock& clock, std::function<absl::Time()> now, control::Random random,
            Options options);

  // Any of these may make a patch necessary: call Next afterwards.
  void SetDesired(std::optional<Publication> desired);  // empty: not known yet, change nothing
  void OnOwnNode(const std::optional<lease::OwnNode>& node);
  void SetReady(bool ready);  // the node's network works: the condition may be set

  // The patch to send now. None: nothing to do before NextDeadline, or an answer is awaited.
  std::optional<HttpRequest> Next();
  // The result, once for each patch: the error of the connection, or the server's answer (a code of
  // 2xx is a success).
  void OnAnswer(const absl::StatusOr<ApiStatus>& answer);
  std::optional<control::TimePoint> NextDeadline() const;

  // Our Node, as last received, has the desired annotations.
  bool published() const { return IsShown(); }
  // Sentences for people: why it is not published, and lasting foreign changes; empty while nothing
  // is desired or there is no Node to write to.
  std::string condition() const;

 private:
  enum class Patch : std::uint8_t { kNone, kAnnotations, kCondition };
  // The tries of one patch: the earliest time of the next one, and why the last one failed.
  struct Tries {
    explicit Tries(control::Backoff first) : backoff(std::move(first)) {}
    void Reset();
    void Fail(control::TimePoint now, std::optional<std::chrono::seconds> retry_after,
              std::string why);

    control::Backoff backoff;
    control::TimePoint not_before{};
    std::string error;
  };

  bool CanPublish() const { return node_ && desired_ && IsComplete(*desired_); }
  Annotations Desired(const lease::OwnNode& of) const;
  Annotations Shown() const { return ShownAnnotations(options_.keys, *node_); }
  // The annotations to send; those that were accepted count as shown. Requires CanPublish.
  Annotations Missing() const;
  control::TimePoint AnnotationsAt() const;
  bool ConditionDue() const;
  bool IsShown() const;
  void Forget();
  void SettleAccepted();
  // Records which of our texts `next` does not have any more.
  void FindRewrites(const lease::OwnNode& next);
  void Accept();

  const control::Clock* clock_;
  std::function<absl::Time()> now_;
  Options options_;
  std::optional<Publication> desired_;
  std::optional<lease::OwnNode> node_;
  bool ready_ = false;

  Patch awaited_ = Patch::kNone;
  std::string sent_to_;  // UID
  Annotations sent_;
  Annotations accepted_;  // by the server, not yet seen in the watch
  control::TimePoint shown_by_{};
  int unshown_ = 0;  // how often in a row accepted annotations were not seen in time
  std::optional<std::string> condition_of_;  // UID of the Node whose condition was set
  Rewrites rewrites_;
  Tries annotations_, condition_;
};

}  // namespace weft::kube
