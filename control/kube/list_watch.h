// SPDX-License-Identifier: Apache-2.0
// Keeps Nodes in sync with the API server: a state machine without I/O. It returns the request to
// send, receives the answer, and reports to a lease::SourceListener.
//
//   streamed list (protobuf) ──► continues as watch   ──► cut: watch again from the last version
//        │ refused                                   └──► 410: streamed list again
//        ├─► list, then watch
//        ├─► the same in JSON (406, 415, or a server that answers so)
//        └─► list in pages, last (in JSON: instead of the list)
//
// Follows client-go's reflector (upstream v0.28.9) where servers depend on it: back-off, the
// watch's duration, the meaning of 410, 429 and Retry-After. Our own rules:
//
// - Never back in time. Versions are opaque and never compared; a later snapshot must not be older
//   than the last version seen. If that version is unusable (410, 400, "too large" for a minute),
//   or a cut snapshot may have reported newer Nodes, a list without a version follows: it is as
//   fresh as etcd. A streamed list without a version begins with the content of a cache, so it is
//   used only the first time, when there are no newer reports.
// - A streamed list is refused by 400, 405, 422, 501, by an ERROR event of code 500 before anything
//   else, or by half a minute without an ADDED event or the end mark (servers from before the
//   feature; an ordinary bookmark proves nothing). A refusal of it, or of protobuf, is remembered
//   for an hour.
// - Three failures that a smaller answer could avoid (cut, stalled, 413, 500, 504) lead from the
//   streamed list to the list, then to pages, then back. Others (no connection, 401, 403, 404, 429,
//   502, 503) do not.
// - A watch that had an event or lasted 5 s is requested again at once, but at most once a second;
//   one that did neither has failed. After 5 s the back-off is reset and the condition ends. In a
//   row, three broken streams, three watches that end as soon as they begin (something on the way
//   cuts streams), or two silent ones lead to a new snapshot: the version may be ahead of the
//   server's (etcd was restored), for which a watch has no events.
// - Silence ends an exchange: 30 s (lists: 60 s) before the answer, 30 s during a list, 120 s in a
//   watch, whose bookmarks arrive each minute. A whole list, and a streamed one up to its end mark,
//   has three minutes, however steadily its bytes arrive.
// - Bytes are an answer, whatever they say (Counts::answered_at). `Silence` turns their age into a
//   fact, then a condition; what may be missing are bookmarks, whose interval is measured.
// - A condition is reported after a failed attempt, not for the ordinary end of a watch, and only
//   once while it stays the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "control/clock.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/list_watch_request.h"
#include "control/kube/node_emitter.h"
#include "control/lease/source.h"
#include "control/retry.h"

namespace weft::kube {

// Each action replaces the one before. Send and Wait end a running exchange: the caller must
// destroy it and report nothing more of it.
struct Send {  // call OnTime at `deadline` if nothing has arrived
  HttpRequest request;
  control::TimePoint deadline;
  // Why the server of the exchange that this ends has failed; empty: it has not, or its status and
  // its connection show that.
  std::string fault{};
};
struct Read {  // the exchange continues; same rule for the deadline
  control::TimePoint deadline;
};
struct Wait {
  control::TimePoint until;
  std::string fault{};  // as Send's
};
using Action = std::variant<Send, Read, Wait>;

// One thread (control). Calls `listener` from within its own calls.
class ListWatch {
 public:
  // `clock` and `listener` outlive it. `own_node_name` empty: no Node is ours.
  ListWatch(const control::Clock& clock, const control::Random& random, AnnotationKeys keys,
            std::string own_node_name, lease::SourceListener& listener);

  // Since the start.
  struct Counts {
    std::uint64_t lists = 0;           // requested, each with all its pages
    std::uint64_t watch_restarts = 0;  // watches requested after an earlier one
    std::uint64_t errors = 0;          // failed requests
    // When the listener had the state of the server last: at a snapshot's end, or when a watch
    // brought an event or a bookmark. Empty: there was no snapshot.
    std::optional<control::TimePoint> synced_at{};
    // When the server sent anything last.
    std::optional<control::TimePoint> answered_at{};
    // The longest time between two bookmarks of one watch; zero: there were no two yet.
    control::Duration bookmark_interval{};
  };
  const Counts& counts() const { return counts_; }

  Action Start() { return SendRequest(); }
  // The answer to the request that was sent last.
  Action OnHead(const HttpHead& head);
  Action OnBody(std::string_view bytes);
  Action OnEnd(const absl::Status& status);
  // The time of the last action has come.
  Action OnTime();

 private:
  // How a snapshot is requested.
  enum class ListMode : std::uint8_t { kStream, kList, kPages };
  // Of the exchange.
  enum class Phase : std::uint8_t {
    kNone,
    kRequested,
    kRefused,  // receiving the text of an error
    kAnswered,
  };

  Action SendRequest();
  RequestKind BeginSnapshot();
  Action RequestWithoutVersion();
  Action Pause(control::Duration pause);
  Action WatchAgain();

  Action TryAgain(const absl::Status& why,
                  std::optional<std::chrono::seconds> retry_after = std::nullopt);
  Action TryAndCount(const absl::Status& why,
                     std::optional<std::chrono::seconds> retry_after = std::nullopt);
  bool watching() const;
  RequestKind current_request() const;
  absl::Status Why(absl::StatusCode code, std::string_view cause) const;
  Action Refused(ApiStatus status);
  Action RefusedByHead();
  Action WithoutProtobuf(const absl::Status& why);
  Action Expired(const absl::Status& why);
  Action Unreadable(const absl::Status& broken);
  Action Cut(const absl::Status& why);
  Action WatchIsSilent();

  void BeginWatch();
  void SettleIfTime();
  void SnapshotEnded(const std::string& at);
  Action ListEnded(NodeEmitter::ListEnd end);
  std::optional<Action> Digest();
  Action Continue();
  const NodeEmitter::Answer& answer() const { return emitter_.answer(); }

  const control::Clock& clock_;
  const control::Random random_;
  lease::SourceListener& listener_;
  NodeEmitter emitter_;
  control::Backoff backoff_;
  absl::Status condition_;  // as reported

  // What is requested next.
  bool snapshot_desired_ = true;  // otherwise changes after `version_`
  bool synced_ = false;           // there has been a snapshot
  std::string version_;           // of the last snapshot, bookmark or event
  bool dropped_ = false;          // the next snapshot is requested without it
  ListMode list_mode_ = ListMode::kStream;
  int tries_ = 0;  // failed ones in this mode
  std::string page_token_, page_version_;
  control::TimePoint no_stream_until_ = control::TimePoint::min();
  control::TimePoint no_protobuf_until_ = control::TimePoint::min();
  std::optional<control::TimePoint> not_known_since_;
  control::TimePoint snapshot_at_;  // the last one's end
  int silent_watches_ = 0;          // in a row

  // The exchange.
  Phase phase_ = Phase::kNone;
  RequestKind kind_ = RequestKind::kStream;
  bool json_only_ = false;
  control::TimePoint until_;  // of the last action
  control::TimePoint requested_at_, received_at_, watching_since_;
  bool settled_ = false;
  HttpHead head_;
  std::string error_text_;
  std::string fault_;                              // of the next action
  std::optional<control::TimePoint> bookmark_at_;  // of the last bookmark in this watch

  Counts counts_;
  bool watched_ = false;  // a watch has begun
};

// What the silence of the API server means `now`.
struct Silence {
  static constexpr std::chrono::seconds kFact{70};   // one bookmark is late
  static constexpr std::chrono::seconds kLeast{30};  // as within any other answer
  static constexpr std::chrono::seconds kCondition{150};

  std::optional<std::chrono::seconds> age{};  // of its last answer, from kFact on
  // After kCondition, or two bookmarks that did not come if their interval is shorter. Empty: none.
  std::string condition{};
};
Silence JudgeSilence(const ListWatch::Counts& counts, control::TimePoint now);

}  // namespace weft::kube
