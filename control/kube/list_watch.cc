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

// How long the server may keep silent.
constexpr seconds kStreamHead(30);  // before the answer; dialling included
constexpr seconds kListHead(60);    // the API server gives a list a minute
constexpr seconds kErrorText(10);   // for all of it
constexpr seconds kListIdle(30);
constexpr seconds kMark(30);  // for the next ADDED or the end mark
// Of a whole list, or a streamed list up to the mark; 100,000 Nodes take seconds.
constexpr minutes kSnapshotLimit(3);
constexpr seconds kWatchIdle(120);  // bookmarks come each minute

// client-go's, but for the most (there 30 s): one request for each node every 15 s on average is
// little for a server that has come back, and a minute without news is long for a node.
const control::RetryPolicy kRetry{.most = seconds(10)};

constexpr seconds kSettled(5);     // a watch that stood for so long is well
constexpr seconds kLeastPause(1);  // between requests for a watch, however well the first one went
constexpr seconds kLeastAge(10);   // of a snapshot that is replaced without a pause
constexpr hours kRefusalLasts(1);
constexpr minutes kVersionPatience(1);
constexpr minutes kMostRetryAfter(5);
constexpr int kTries = 3;  // before something else is tried
constexpr int kSilentWatches = 2;
constexpr std::size_t kMaxErrorText = std::size_t{64} << 10;
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

// ---- asking

Action ListWatch::Ask() {
  const TimePoint now = clock_.Now();
  emitter_.Close();
  if (!snapshot_desired_) {
    kind_ = RequestKind::kWatch;
  } else if (page_token_.empty()) {
    kind_ = BeginSnapshot();
  } else {
    kind_ = RequestKind::kPage;
  }
  NodesRequest asked;
  asked.kind = kind_;
  if (!dropped_) asked.version = version_;
  asked.continue_token = page_token_;
  asked.timeout_seconds = 300 + std::min(299, static_cast<int>(random_() * 300));
  asked.json_only = json_only_ = now < no_protobuf_until_;
  phase_ = Phase::kAsked;
  asked_at_ = now;
  until_ = now + (KindOf(kind_) == AnswerKind::kList ? kListHead : kStreamHead);
  return Send{MakeNodesRequest(asked), until_};
}

RequestKind ListWatch::BeginSnapshot() {
  page_version_.clear();
  // What a snapshot told before it was cut may be newer than `version`. Only a list without a
  // version is surely newer still: a streamed one begins with whatever a cache holds.
  if (synced_ && emitter_.in_mid_snapshot()) dropped_ = true;
  if (list_mode_ == ListMode::kStream && (dropped_ || clock_.Now() < no_stream_until_))
    list_mode_ = ListMode::kList;
  switch (list_mode_) {
    case ListMode::kStream:
      return RequestKind::kStream;
    case ListMode::kList:
      // A list in JSON is read when all of it has arrived.
      return clock_.Now() < no_protobuf_until_ ? RequestKind::kPage : RequestKind::kList;
    case ListMode::kPages:
      break;
  }
  return RequestKind::kPage;
}

// Without the version, as fresh as etcd.
Action ListWatch::AskWithoutVersion() {
  dropped_ = true;
  return Ask();
}

Action ListWatch::Pause(Duration pause) {
  phase_ = Phase::kNone;
  emitter_.Close();
  until_ = clock_.Now() + pause;
  return Wait{until_};
}

Action ListWatch::WatchAgain() {
  const Duration age = clock_.Now() - asked_at_;
  return age >= kLeastPause ? Ask() : Pause(kLeastPause - age);
}

// ---- what goes wrong

// The same again after a pause, which grows and is at least as long as the server wants.
Action ListWatch::TryAgain(const absl::Status& why, std::optional<seconds> retry_after) {
  if (condition_ != why) listener_.OnCondition(condition_ = why);
  Duration pause = backoff_.Next();
  if (retry_after) {
    const std::chrono::duration<double> desired =
        std::min<seconds>(*retry_after, kMostRetryAfter) * (1 + random_() / 10);
    pause = std::max(pause, std::chrono::duration_cast<Duration>(desired));
  }
  return Pause(pause);
}

// As TryAgain, but not forever: then a snapshot is asked for another way, and a watch is given
// up for a snapshot.
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

// A streamed list goes on as a watch.
bool ListWatch::watching() const {
  return kind_ == RequestKind::kWatch ||
         (kind_ == RequestKind::kStream && emitter_.open() && !answer().initial);
}
RequestKind ListWatch::asked() const { return watching() ? RequestKind::kWatch : kind_; }
absl::Status ListWatch::Why(absl::StatusCode code, std::string_view cause) const {
  return Condition(asked(), code, cause);
}

// By an answer of 300 and more, or by an ERROR event.
Action ListWatch::Refused(ApiStatus status) {
  const bool event = emitter_.open();
  const absl::Status why = Condition(asked(), status);
  const std::optional<seconds> retry_after =
      status.retry_after ? status.retry_after : head_.retry_after;
  const bool may_drop = snapshot_desired_ && page_token_.empty() && !dropped_ && !version_.empty();
  switch (Judge(asked(), event, status)) {
    case Verdict::kTryAgain:
      break;
    case Verdict::kCount:
      return TryAndCount(why, retry_after);
    case Verdict::kNoStreamedList:
      if (event && answer().emitted_anything) return TryAndCount(why, retry_after);
      no_stream_until_ = clock_.Now() + kRefusalLasts;
      return Ask();
    case Verdict::kNoProtobuf:
      return WithoutProtobuf(why);
    case Verdict::kExpired:
      return may_drop ? AskWithoutVersion() : Expired(why);
    case Verdict::kNotKnownYet:
      snapshot_desired_ = true;
      if (!may_drop) break;
      if (!not_known_since_) not_known_since_ = clock_.Now();
      if (clock_.Now() - *not_known_since_ >= kVersionPatience) return AskWithoutVersion();
      break;
    case Verdict::kBadRequest:
      if (may_drop) return AskWithoutVersion();
      page_token_.clear();
      if (snapshot_desired_) return TryAndCount(why, retry_after);
      snapshot_desired_ = true;
      break;
  }
  return TryAgain(why, retry_after);
}

Action ListWatch::WithoutProtobuf(const absl::Status& why) {
  if (json_only_) {
    no_protobuf_until_ = TimePoint::min();  // nor JSON: all from the start
    return TryAgain(why);
  }
  no_protobuf_until_ = clock_.Now() + kRefusalLasts;
  return Ask();
}

Action ListWatch::Expired(const absl::Status& why) {
  if (snapshot_desired_) {
    page_token_.clear();  // the pages' snapshot is gone: from the first one again
    return TryAndCount(why);
  }
  snapshot_desired_ = true;
  return clock_.Now() - snapshot_at_ >= kLeastAge ? Ask() : TryAgain(why);
}

// The bytes are not what the answer says they are.
Action ListWatch::Unreadable(const absl::Status& broken) {
  const absl::Status why = Why(absl::StatusCode::kDataLoss, broken.message());
  // One bad frame may be an accident. An answer that begins with one, or many, are not.
  if (answer().encoding == Encoding::kProtobuf && !json_only_ &&
      (!answer().emitted_anything || tries_ + 1 >= kTries)) {
    return WithoutProtobuf(why);
  }
  return TryAndCount(why);
}

// The exchange has come to its end before the answer did; a watch has none.
Action ListWatch::Cut(const absl::Status& why) {
  if (!watching()) {
    return TryAndCount(Why(why.code(), absl::StrCat("cut amid the answer: ", why.message())));
  }
  if (answer().emitted_anything || settled_) return WatchAgain();
  return TryAndCount(
      Why(why.code(), absl::StrCat("the watch ends as soon as it begins: ", why.message())));
}

// ---- what goes well

void ListWatch::BeginWatch() {
  watching_since_ = clock_.Now();
  settled_ = false;
}

// Asked whenever something happens, so that what ends a watch finds it settled or not.
void ListWatch::SettleIfTime() {
  if (phase_ != Phase::kAnswered || !watching() || settled_) return;
  if (clock_.Now() - watching_since_ < kSettled) return;
  settled_ = true;
  tries_ = 0;
  backoff_.Reset();
  if (!condition_.ok()) listener_.OnCondition(condition_ = absl::OkStatus());
}

// The listener has heard of it.
void ListWatch::SnapshotEnded(const std::string& at) {
  version_ = at;
  snapshot_desired_ = dropped_ = false;
  synced_ = true;
  snapshot_at_ = clock_.Now();
  list_mode_ = ListMode::kStream;
  page_token_.clear();
  not_known_since_.reset();
}

Action ListWatch::ListEnded(NodeEmitter::ListEnd end) {
  // Of the first page: what changed since then may be in none.
  if (page_version_.empty()) page_version_ = end.version;
  if (end.continue_token.empty()) {
    emitter_.EndSnapshot();
    SnapshotEnded(page_version_);
    return Ask();
  }
  if (end.continue_token == page_token_ || end.continue_token.size() > kMaxToken) {
    page_token_.clear();
    return TryAndCount(Why(absl::StatusCode::kDataLoss, "the list's pages have no end"));
  }
  page_token_ = std::move(end.continue_token);
  return Ask();
}

// What the answer has said so far, and what it means for the exchange.
std::optional<Action> ListWatch::Digest() {
  if (kind_ == RequestKind::kStream && snapshot_desired_ && !answer().initial) {
    SnapshotEnded(answer().version);
    BeginWatch();
  }
  if (watching()) {
    if (!answer().version.empty()) version_ = answer().version;
    if (answer().watched_anything) silent_watches_ = 0;
  }
  if (answer().error_event) return Refused(*answer().error_event);
  if (answer().list_end) return ListEnded(*answer().list_end);
  return std::nullopt;
}

// The exchange goes on.
Action ListWatch::Continue() {
  if (phase_ == Phase::kNone) return Wait{until_};
  if (phase_ == Phase::kAnswered) {
    if (watching()) {
      until_ = heard_at_ + kWatchIdle;
      if (!settled_) until_ = std::min(until_, watching_since_ + kSettled);
    } else {
      until_ = std::min(heard_at_ + (kind_ == RequestKind::kStream ? kMark : kListIdle),
                        asked_at_ + kSnapshotLimit);
    }
  }
  return Read{until_};
}

// ---- what happens

Action ListWatch::OnHead(const HttpHead& its) {
  if (phase_ != Phase::kAsked) return Continue();
  head_ = its;
  heard_at_ = clock_.Now();
  if (head_.status != 200) {
    phase_ = Phase::kRefused;
    error_text_.clear();
    until_ = heard_at_ + kErrorText;
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
  // Before the mark only ADDED count; of the three pieces of a Node the clock is asked for one.
  if (!answer().initial || answer().added) heard_at_ = clock_.Now();
  if (std::optional<Action> next = Digest()) return *std::move(next);
  if (!read.ok()) return Unreadable(read);
  return Continue();
}

Action ListWatch::OnEnd(const absl::Status& status) {
  switch (phase_) {
    case Phase::kNone:
      return Continue();
    case Phase::kAsked:
      if (status.ok()) return TryAgain(Why(absl::StatusCode::kUnavailable, "no answer"));
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
  return Cut(finished.ok() ? absl::UnavailableError("the server has ended it") : finished);
}

Action ListWatch::OnTime() {
  SettleIfTime();
  const Action same = Continue();
  if (clock_.Now() < until_) return same;
  switch (phase_) {
    case Phase::kNone:
      return Ask();
    case Phase::kAsked: {
      const absl::Status why = Why(absl::StatusCode::kDeadlineExceeded, "no answer in time");
      return KindOf(kind_) == AnswerKind::kList ? TryAndCount(why) : TryAgain(why);
    }
    case Phase::kRefused:
      return RefusedByHead();
    case Phase::kAnswered:
      break;
  }
  if (watching()) return Silence();
  if (kind_ == RequestKind::kStream) {  // it ignores what it does not know, or stalls
    no_stream_until_ = clock_.Now() + kRefusalLasts;
    return Ask();
  }
  const bool stalls = clock_.Now() < asked_at_ + kSnapshotLimit;
  return TryAndCount(Why(absl::StatusCode::kDeadlineExceeded,
                         stalls ? "the answer stalls" : "the answer takes more than 3 minutes"));
}

Action ListWatch::RefusedByHead() {
  return Refused(DecodeApiStatus(head_.status, head_.content_type, error_text_));
}

// Perhaps the connection is dead, or nothing happens in the cluster. Or the version is one that
// the server will only reach (etcd was restored): of what happens before then a watch says
// nothing.
Action ListWatch::Silence() {
  if (!answer().watched_anything && ++silent_watches_ >= kSilentWatches) {
    silent_watches_ = 0;
    snapshot_desired_ = true;
  }
  return Ask();
}

}  // namespace weft::kube
