// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/kube/list_watch_verdict.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using control::Duration;
using control::TimePoint;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// How long the server may send nothing.
constexpr seconds kStreamHead(30);  // before the answer; includes dialling
constexpr seconds kListHead(60);    // the API server gives a list a minute
constexpr seconds kErrorText(10);   // for the whole text
constexpr seconds kListIdle(30);
constexpr seconds kMark(30);  // for the next ADDED or the end mark
// Of a whole list, or a streamed list up to the mark; 100,000 Nodes take seconds.
constexpr minutes kSnapshotLimit(3);
constexpr seconds kWatchIdle(120);  // bookmarks come each minute

// client-go's, except the longest wait (there 30 s): one request per node every 15 s on average is
// little load for a server that has come back, and a minute without events is long for a node.
const control::RetryPolicy kRetry{.most = seconds(10)};

constexpr seconds kSettled(5);     // a watch that has lasted this long works
constexpr seconds kLeastPause(1);  // between two requests for a watch, even if the first one worked
constexpr seconds kLeastAge(10);   // of a snapshot that is replaced without a pause
constexpr hours kRefusalLasts(1);
constexpr minutes kVersionPatience(1);
constexpr minutes kMostRetryAfter(5);
constexpr int kTries = 3;  // before another list mode is tried
constexpr int kSilentWatches = 2;
constexpr std::size_t kMaxErrorText = std::size_t{64} << 10;
constexpr char kNoList[] = "it answers 200 with what is no list of Nodes";
constexpr std::size_t kMaxToken = std::size_t{16} << 10;

}  // namespace

ListWatch::ListWatch(const control::Clock& clock, const control::Random& random,
                     AnnotationKeys keys, std::string own_node_name,
                     lease::SourceListener& listener)
    : clock_(clock),
      random_(random),
      listener_(listener),
      emitter_(std::move(keys), std::move(own_node_name), listener),
      backoff_(kRetry, random) {}

// ---- requests

Action ListWatch::SendRequest() {
  const TimePoint now = clock_.Now();
  emitter_.Close();
  if (snapshot_desired_ && page_token_.empty()) ++counts_.lists;
  if (!snapshot_desired_ && watched_) ++counts_.watch_restarts;
  if (!snapshot_desired_) {
    kind_ = RequestKind::kWatch;
  } else if (page_token_.empty()) {
    kind_ = BeginSnapshot();
  } else {
    kind_ = RequestKind::kPage;
  }
  NodesRequest request;
  request.kind = kind_;
  if (!dropped_) request.version = version_;
  request.continue_token = page_token_;
  request.timeout_seconds = 300 + std::min(299, static_cast<int>(random_() * 300));
  request.json_only = json_only_ = now < no_protobuf_until_;
  phase_ = Phase::kRequested;
  requested_at_ = now;
  until_ = now + (KindOf(kind_) == AnswerKind::kList ? kListHead : kStreamHead);
  return Send{MakeNodesRequest(request), until_, std::exchange(fault_, {})};
}

RequestKind ListWatch::BeginSnapshot() {
  page_version_.clear();
  // Nodes that a snapshot reported before it was cut may be newer than `version_`. Only a list
  // without a version is certain to be as new: a streamed one begins with the content of a cache.
  if (synced_ && emitter_.in_mid_snapshot()) dropped_ = true;
  if (list_mode_ == ListMode::kStream && (dropped_ || clock_.Now() < no_stream_until_))
    list_mode_ = ListMode::kList;
  switch (list_mode_) {
    case ListMode::kStream:
      return RequestKind::kStream;
    case ListMode::kList:
      // A list in JSON is read only once it is complete.
      return clock_.Now() < no_protobuf_until_ ? RequestKind::kPage : RequestKind::kList;
    case ListMode::kPages:
      break;
  }
  return RequestKind::kPage;
}

// Requests a snapshot without a version: as fresh as etcd.
Action ListWatch::RequestWithoutVersion() {
  dropped_ = true;
  return SendRequest();
}

Action ListWatch::Pause(Duration pause) {
  phase_ = Phase::kNone;
  emitter_.Close();
  until_ = clock_.Now() + pause;
  return Wait{until_, std::exchange(fault_, {})};
}

Action ListWatch::WatchAgain() {
  const Duration age = clock_.Now() - requested_at_;
  return age >= kLeastPause ? SendRequest() : Pause(kLeastPause - age);
}

// ---- errors

// Sends the same request after a pause, which grows and is at least as long as the server's
// Retry-After.
Action ListWatch::TryAgain(const absl::Status& why, std::optional<seconds> retry_after) {
  ++counts_.errors;
  if (condition_ != why) listener_.OnCondition(condition_ = why);
  Duration pause = backoff_.Next();
  if (retry_after) {
    const std::chrono::duration<double> desired =
        std::min<seconds>(*retry_after, kMostRetryAfter) * (1 + random_() / 10);
    pause = std::max(pause, std::chrono::duration_cast<Duration>(desired));
  }
  return Pause(pause);
}

// As TryAgain, but a limited number of times: then a snapshot is requested in another mode, and a
// watch is replaced by a snapshot.
Action ListWatch::TryAndCount(const absl::Status& why, std::optional<seconds> retry_after) {
  if (++tries_ < kTries) return TryAgain(why, retry_after);
  tries_ = 0;
  if (snapshot_desired_) {
    list_mode_ = list_mode_ == ListMode::kPages    ? ListMode::kStream
                 : list_mode_ == ListMode::kStream ? ListMode::kList
                                                   : ListMode::kPages;
    page_token_.clear();
  }
  snapshot_desired_ = true;
  return TryAgain(why, retry_after);
}

// A streamed list continues as a watch.
bool ListWatch::watching() const {
  return kind_ == RequestKind::kWatch ||
         (kind_ == RequestKind::kStream && emitter_.open() && !answer().initial);
}
RequestKind ListWatch::current_request() const { return watching() ? RequestKind::kWatch : kind_; }
absl::Status ListWatch::Why(absl::StatusCode code, std::string_view cause) const {
  return Condition(current_request(), code, cause);
}

// The server answered with a status of 300 or more, or sent an ERROR event.
Action ListWatch::Refused(ApiStatus status) {
  const bool event = emitter_.open();
  const absl::Status why = Condition(current_request(), status);
  const std::optional<seconds> retry_after =
      status.retry_after ? status.retry_after : head_.retry_after;
  const bool may_drop = snapshot_desired_ && page_token_.empty() && !dropped_ && !version_.empty();
  switch (Judge(current_request(), event, status)) {
    case Verdict::kTryAgain:
      break;
    case Verdict::kCount:
      return TryAndCount(why, retry_after);
    case Verdict::kNoStreamedList:
      if (event && answer().emitted_anything) return TryAndCount(why, retry_after);
      no_stream_until_ = clock_.Now() + kRefusalLasts;
      return SendRequest();
    case Verdict::kNoProtobuf:
      return WithoutProtobuf(why);
    case Verdict::kExpired:
      return may_drop ? RequestWithoutVersion() : Expired(why);
    case Verdict::kNotKnownYet:
      snapshot_desired_ = true;
      if (!may_drop) break;
      if (!not_known_since_) not_known_since_ = clock_.Now();
      if (clock_.Now() - *not_known_since_ >= kVersionPatience) return RequestWithoutVersion();
      break;
    case Verdict::kBadRequest:
      if (may_drop) return RequestWithoutVersion();
      page_token_.clear();
      if (snapshot_desired_) return TryAndCount(why, retry_after);
      snapshot_desired_ = true;
      break;
  }
  return TryAgain(why, retry_after);
}

Action ListWatch::WithoutProtobuf(const absl::Status& why) {
  if (json_only_) {
    no_protobuf_until_ = TimePoint::min();  // JSON is refused too: start over
    return TryAgain(why);
  }
  no_protobuf_until_ = clock_.Now() + kRefusalLasts;
  return SendRequest();
}

Action ListWatch::Expired(const absl::Status& why) {
  if (snapshot_desired_) {
    page_token_.clear();  // the pages' snapshot has expired: start at the first page
    return TryAndCount(why);
  }
  snapshot_desired_ = true;
  return clock_.Now() - snapshot_at_ >= kLeastAge ? SendRequest() : TryAgain(why);
}

// The body is not what its Content-Type announces.
Action ListWatch::Unreadable(const absl::Status& broken) {
  const absl::Status why = Why(absl::StatusCode::kDataLoss, broken.message());
  if (!answer().emitted_anything) fault_ = kNoList;
  // A single bad frame may be an accident; many, or one at the start of an answer, are not.
  if (answer().encoding == Encoding::kProtobuf && !json_only_ &&
      (!answer().emitted_anything || tries_ + 1 >= kTries)) {
    return WithoutProtobuf(why);
  }
  return TryAndCount(why);
}

// The exchange ended before the answer was complete; a watch is never complete.
Action ListWatch::Cut(const absl::Status& why) {
  if (!watching())
    return TryAndCount(Why(why.code(), absl::StrCat("cut during the answer: ", why.message())));
  if (answer().emitted_anything || settled_) return WatchAgain();
  return TryAndCount(
      Why(why.code(), absl::StrCat("the watch ends as soon as it begins: ", why.message())));
}

// ---- progress

void ListWatch::BeginWatch() {
  watching_since_ = clock_.Now();
  bookmark_at_.reset();
  settled_ = false;
  watched_ = true;
}

// Called at every event, so that settled_ is up to date when a watch ends.
void ListWatch::SettleIfTime() {
  if (phase_ != Phase::kAnswered || !watching() || settled_) return;
  if (clock_.Now() - watching_since_ < kSettled) return;
  settled_ = true;
  tries_ = 0;
  backoff_.Reset();
  if (!condition_.ok()) listener_.OnCondition(condition_ = absl::OkStatus());
}

// The listener has received the whole snapshot.
void ListWatch::SnapshotEnded(const std::string& at) {
  version_ = at;
  snapshot_desired_ = dropped_ = false;
  synced_ = true;
  snapshot_at_ = clock_.Now();
  counts_.synced_at = snapshot_at_;
  list_mode_ = ListMode::kStream;
  page_token_.clear();
  not_known_since_.reset();
}

Action ListWatch::ListEnded(NodeEmitter::ListEnd end) {
  // The version of the first page: later changes may be missing from all pages.
  if (page_version_.empty()) page_version_ = end.version;
  if (end.continue_token.empty()) {
    emitter_.EndSnapshot();
    SnapshotEnded(page_version_);
    return SendRequest();
  }
  if (end.continue_token == page_token_ || end.continue_token.size() > kMaxToken) {
    page_token_.clear();
    return TryAndCount(Why(absl::StatusCode::kDataLoss, "the list's pages have no end"));
  }
  page_token_ = std::move(end.continue_token);
  return SendRequest();
}

// Evaluates what the answer has contained so far; returns the next action if the exchange is over.
std::optional<Action> ListWatch::Digest() {
  if (kind_ == RequestKind::kStream && snapshot_desired_ && !answer().initial) {
    SnapshotEnded(answer().version);
    BeginWatch();
  }
  if (watching()) {
    if (answer().watched_anything) counts_.synced_at = received_at_;
    if (!answer().version.empty()) version_ = answer().version;
    if (answer().watched_anything) silent_watches_ = 0;
    if (answer().bookmark) {
      if (bookmark_at_)
        counts_.bookmark_interval =
            std::max(counts_.bookmark_interval, received_at_ - *bookmark_at_);
      bookmark_at_ = received_at_;
    }
  }
  if (answer().error_event) return Refused(*answer().error_event);
  if (answer().list_end) return ListEnded(*answer().list_end);
  return std::nullopt;
}

// The exchange continues.
Action ListWatch::Continue() {
  if (phase_ == Phase::kNone) return Wait{until_};
  if (phase_ == Phase::kAnswered) {
    if (watching()) {
      until_ = received_at_ + kWatchIdle;
      if (!settled_) until_ = std::min(until_, watching_since_ + kSettled);
    } else {
      until_ = std::min(received_at_ + (kind_ == RequestKind::kStream ? kMark : kListIdle),
                        requested_at_ + kSnapshotLimit);
    }
  }
  return Read{until_};
}

// ---- events

Action ListWatch::OnHead(const HttpHead& head) {
  if (phase_ != Phase::kRequested) return Continue();
  head_ = head;
  received_at_ = clock_.Now();
  counts_.answered_at = received_at_;
  if (head_.status != 200) {
    phase_ = Phase::kRefused;
    error_text_.clear();
    until_ = received_at_ + kErrorText;
    return Continue();
  }
  const std::optional<Encoding> encoding = EncodingOf(head_.content_type);
  if (!encoding) {
    return TryAgain(Why(absl::StatusCode::kUnavailable,
                        absl::StrCat("the answer's Content-Type is ", Quoted(head_.content_type),
                                     ", not the API's")));
  }
  phase_ = Phase::kAnswered;
  const bool begins = snapshot_desired_ && page_token_.empty();
  emitter_.Open(kind_, begins, *encoding);
  if (kind_ == RequestKind::kWatch) BeginWatch();
  return Continue();
}

Action ListWatch::OnBody(std::string_view bytes) {
  if (phase_ == Phase::kRefused) {
    error_text_.append(bytes.substr(0, kMaxErrorText - error_text_.size()));
    return error_text_.size() < kMaxErrorText ? Continue() : RefusedByHead();
  }
  if (phase_ != Phase::kAnswered) return Continue();
  SettleIfTime();
  const absl::Status read = emitter_.Read(bytes);
  // Before the end mark only ADDED events count as progress. The clock is read only once per Node,
  // which arrives in about three pieces.
  if (!answer().initial || answer().added) counts_.answered_at = received_at_ = clock_.Now();
  if (std::optional<Action> next = Digest()) return *std::move(next);
  if (!read.ok()) return Unreadable(read);
  return Continue();
}

Action ListWatch::OnEnd(const absl::Status& status) {
  switch (phase_) {
    case Phase::kNone:
      return Continue();
    case Phase::kRequested:
      if (status.ok()) return TryAgain(Why(absl::StatusCode::kUnavailable, "no answer"));
      // A list may be too long to be answered in time.
      if (absl::IsDeadlineExceeded(status) && KindOf(kind_) == AnswerKind::kList)
        return TryAndCount(Why(status.code(), status.message()));
      return TryAgain(Why(status.code(), status.message()));
    case Phase::kRefused:
      return RefusedByHead();
    case Phase::kAnswered:
      break;
  }
  SettleIfTime();
  if (!status.ok()) return Cut(status);
  const absl::Status finished = emitter_.Finish();
  if (std::optional<Action> next = Digest()) return *std::move(next);
  if (!watching() && !answer().emitted_anything) fault_ = kNoList;
  return Cut(finished.ok() ? absl::UnavailableError("the server has ended it") : finished);
}

Action ListWatch::OnTime() {
  SettleIfTime();
  const Action same = Continue();
  if (clock_.Now() < until_) return same;
  switch (phase_) {
    case Phase::kNone:
      return SendRequest();
    case Phase::kRequested: {
      const absl::Status why = Why(absl::StatusCode::kDeadlineExceeded, "no answer in time");
      return KindOf(kind_) == AnswerKind::kList ? TryAndCount(why) : TryAgain(why);
    }
    case Phase::kRefused:
      return RefusedByHead();
    case Phase::kAnswered:
      break;
  }
  if (watching()) return WatchIsSilent();
  const bool stalls = clock_.Now() < requested_at_ + kSnapshotLimit;
  // A streamed list is silent too where the server does not know such lists, or not the version.
  if (stalls && (kind_ != RequestKind::kStream || (!answer().emitted_anything && version_.empty())))
    fault_ = absl::StrCat("no byte for ", kListIdle.count(), " s within its answer");
  if (kind_ == RequestKind::kStream) {  // the server does not know streamed lists, or stalls
    no_stream_until_ = clock_.Now() + kRefusalLasts;
    return SendRequest();
  }
  return TryAndCount(Why(absl::StatusCode::kDeadlineExceeded,
                         stalls ? "the answer stalls" : "the answer takes more than 3 minutes"));
}

Action ListWatch::RefusedByHead() {
  ApiStatus status = DecodeApiStatus(head_.status, head_.content_type, error_text_);
  status.credentials = head_.credentials;
  return Refused(std::move(status));
}

// The connection may be dead, or nothing happens in the cluster. Or the version is ahead of the
// server's (etcd was restored): a watch then has no events until the server reaches that version.
Action ListWatch::WatchIsSilent() {
  if (!answer().watched_anything && ++silent_watches_ >= kSilentWatches) {
    silent_watches_ = 0;
    snapshot_desired_ = true;
  }
  return SendRequest();
}

Silence JudgeSilence(const ListWatch::Counts& counts, TimePoint now) {
  Silence silence;
  if (!counts.answered_at) return silence;
  const auto age = std::chrono::duration_cast<seconds>(now - *counts.answered_at);
  if (age >= Silence::kFact) silence.age = age;
  // Half an interval later than the second one is due.
  const Duration two = counts.bookmark_interval * 5 / 2;
  const Duration patience = two == Duration::zero()
                                ? Duration(Silence::kCondition)
                                : std::clamp<Duration>(two, Silence::kLeast, Silence::kCondition);
  if (age >= patience) {
    silence.condition =
        absl::StrCat("the API server has sent nothing for ", age.count(),
                     " s: leases stay as they are; check the API server and what lies between");
  }
  return silence;
}

}  // namespace weft::kube
