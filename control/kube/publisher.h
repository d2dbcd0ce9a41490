// SPDX-License-Identifier: Apache-2.0
// Our own lease in our Node's annotations: a state machine without I/O that says which patch to
// send. Written once and complete, put back when others change it, never blanked.
//
//   wanted + own Node ──► what differs ──► patch ──► accepted ──► seen in the watch: published
//                             ▲                        └─► not seen in time ──┐
//                             └──── changed by others, Node created anew ◄────┘
//
// Then, once for each Node (UID) and once the network works, the condition NetworkUnavailable.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/clock.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/publication.h"
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
  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  ~Publisher();

  // Any of these may make a patch necessary: ask Next afterwards.
  void SetWanted(std::optional<Publication> wanted);  // empty: not known (yet), leave what is there
  void OnOwnNode(const std::optional<lease::OwnNode>& node);
  void SetReady(bool ready);  // the node's network works: the condition may say so

  // The patch to send now. None: nothing to do before NextDeadline, or an answer is awaited.
  std::optional<HttpRequest> Next();
  // What became of it, once for each patch: the error of the connection, or the server's answer (a
  // code of 2xx is success).
  void OnAnswer(const absl::StatusOr<ApiStatus>& answer);
  std::optional<control::TimePoint> NextDeadline() const;

  // Our Node says what it should, as far as we were told.
  bool published() const;
  // Sentences for people: why it does not, and what does not last; empty while nothing is wanted or
  // there is no Node to write to.
  std::string trouble() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::kube
