// SPDX-License-Identifier: Apache-2.0
// Our own lease in our Node's annotations: a state machine without I/O that says which patch to
// send. Written once and complete, put back when others change it, never blanked.
//
//   wanted + own Node ──► what differs ──► patch ──► accepted ──► seen in the watch: published
//                             ▲                        └─► not seen in time ──┐
//                             └──── changed by others, Node created again ◄────┘
//
// Then, once for each Node (UID) and once the network works, the condition NetworkUnavailable.
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
  // Others have stopped changing our annotations.
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

  // Any of these may make a patch necessary: ask Next afterwards.
  void SetDesired(
      std::optional<Publication> desired);  // empty: not known (yet), leave what is there
  void OnOwnNode(const std::optional<lease::OwnNode>& node);
  void SetReady(bool ready);  // the node's network works: the condition may say so

  // The patch to send now. None: nothing to do before NextDeadline, or an answer is awaited.
  std::optional<HttpRequest> Next();
  // What became of it, once for each patch: the error of the connection, or the server's answer (a
  // code of 2xx is success).
  void OnAnswer(const absl::StatusOr<ApiStatus>& answer);
  std::optional<control::TimePoint> NextDeadline() const;

  // Our Node says what it should, as far as we were told.
  bool published() const { return IsShown(); }
  // Sentences for people: why it does not, and what does not last; empty while nothing is wanted or
  // there is no Node to write to.
  std::string condition() const;

 private:
  enum class Patch : std::uint8_t { kNone, kAnnotations, kCondition };
  // The tries of one patch: when the next may be made, and why the last one failed.
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
  // What is to be sent: what was accepted counts as shown. CanPublish.
  Annotations Missing() const;
  control::TimePoint AnnotationsAt() const;
  bool ConditionDue() const;
  bool IsShown() const;
  void Forget();
  void SettleAccepted();
  // Our texts, as `next` does not have them any more.
  void LookForRewrites(const lease::OwnNode& next);
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
  int unshown_ = 0;                          // times in a row that it was not seen in time
  std::optional<std::string> condition_of_;  // UID of the Node that has it
  Rewrites rewrites_;
  Tries annotations_, condition_;
};

}  // namespace weft::kube
