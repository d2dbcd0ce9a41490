// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/kube/list_watch_answer.h"
#include "control/kube/list_watch_request.h"
#include "control/kube/list_watch_teller.h"
#include "control/kube/list_watch_verdict.h"
#include "control/lease/quoted.h"

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

// How a snapshot is asked for.
enum class Way : std::uint8_t { kStream, kList, kPages };

// When this one has failed often.
Way Next(Way way) {
  if (way == Way::kStream) return Way::kList;
  return way == Way::kList ? Way::kPages : Way::kStream;
}

Question FirstQuestion(Way way) {
  if (way == Way::kStream) return Question::kStream;
  return way == Way::kList ? Question::kList : Question::kPage;
}

}  // namespace

struct ListWatch::Impl {
  // Of the exchange.
  enum class Phase : std::uint8_t {
    kNone,
    kAsked,
    kRefused,  // the text of an error comes
    kAnswered,
  };

  Impl(const control::Clock& the_clock, const control::Random& the_random, AnnotationKeys the_keys,
       std::string own_name, lease::SourceListener& the_listener)
      : clock(the_clock),
        random(the_random),
        keys(std::move(the_keys)),
        own_node_name(std::move(own_name)),
        listener(the_listener),
        teller(!own_node_name.empty(), the_listener),
        backoff(kRetry, the_random) {}

  // ---- asking

  Action Ask() {
    const TimePoint now = clock.Now();
    answer.reset();
    if (!snapshot_wanted) {
      question = Question::kWatch;
    } else if (page_token.empty()) {
      question = BeginSnapshot();
    } else {
      question = Question::kPage;
    }
    NodesRequest asked;
    asked.question = question;
    if (!dropped) asked.version = version;
    asked.continue_token = page_token;
    asked.timeout_seconds = 300 + std::min(299, static_cast<int>(random() * 300));
    asked.json_only = json_only = now < no_protobuf_until;
    phase = Phase::kAsked;
    asked_at = now;
    until = now + (KindOf(question) == AnswerKind::kList ? kListHead : kStreamHead);
    return Send{MakeNodesRequest(asked), until};
  }

  Question BeginSnapshot() {
    page_version.clear();
    // What a snapshot told before it was cut may be newer than `version`. Only a list without a
    // version is surely newer still: a streamed one begins with whatever a cache holds.
    if (synced && teller.half_told()) dropped = true;
    if (way == Way::kStream && (dropped || clock.Now() < no_stream_until)) way = Way::kList;
    return FirstQuestion(way);
  }

  // Without the version, as fresh as etcd.
  Action AskWithoutVersion() {
    dropped = true;
    return Ask();
  }

  Action Pause(Duration pause) {
    phase = Phase::kNone;
    answer.reset();
    until = clock.Now() + pause;
    return Wait{until};
  }

  Action WatchAgain() {
    const Duration age = clock.Now() - asked_at;
    return age >= kLeastPause ? Ask() : Pause(kLeastPause - age);
  }

  // ---- what goes wrong

  // The same again after a pause, which grows and is at least as long as the server wants.
  Action TryAgain(const absl::Status& why, std::optional<seconds> retry_after = std::nullopt) {
    if (trouble != why) listener.OnTrouble(trouble = why);
    Duration pause = backoff.Next();
    if (retry_after) {
      const std::chrono::duration<double> wanted =
          std::min<seconds>(*retry_after, kMostRetryAfter) * (1 + random() / 10);
      pause = std::max(pause, std::chrono::duration_cast<Duration>(wanted));
    }
    return Pause(pause);
  }

  // As TryAgain, but not for ever: then a snapshot is asked for another way, and a watch is given
  // up for a snapshot.
  Action TryAndCount(const absl::Status& why, std::optional<seconds> retry_after = std::nullopt) {
    if (++tries < kTries) return TryAgain(why, retry_after);
    tries = 0;
    if (snapshot_wanted) {
      way = Next(way);
      page_token.clear();
    }
    snapshot_wanted = true;
    return TryAgain(why, retry_after);
  }

  // A streamed list goes on as a watch.
  bool watching() const {
    return question == Question::kWatch ||
           (question == Question::kStream && answer && !answer->initial());
  }
  Question asked() const { return watching() ? Question::kWatch : question; }
  absl::Status Why(absl::StatusCode code, std::string_view cause) const {
    return Trouble(asked(), code, cause);
  }

  // By an answer of 300 and more, or by an ERROR event.
  Action Refused(ApiStatus status) {
    const bool event = answer.has_value();
    const absl::Status why = Trouble(asked(), status);
    const std::optional<seconds> retry_after =
        status.retry_after ? status.retry_after : head.retry_after;
    const bool may_drop = snapshot_wanted && page_token.empty() && !dropped && !version.empty();
    switch (Judge(asked(), event, status)) {
      case Verdict::kTryAgain:
        break;
      case Verdict::kCount:
        return TryAndCount(why, retry_after);
      case Verdict::kNoStreamedList:
        if (event && answer->told_anything()) return TryAndCount(why, retry_after);
        no_stream_until = clock.Now() + kRefusalLasts;
        return Ask();
      case Verdict::kNoProtobuf:
        return WithoutProtobuf(why);
      case Verdict::kExpired:
        return may_drop ? AskWithoutVersion() : Expired(why);
      case Verdict::kNotKnownYet:
        snapshot_wanted = true;
        if (!may_drop) break;
        if (!not_known_since) not_known_since = clock.Now();
        if (clock.Now() - *not_known_since >= kVersionPatience) return AskWithoutVersion();
        break;
      case Verdict::kBadRequest:
        if (may_drop) return AskWithoutVersion();
        page_token.clear();
        if (snapshot_wanted) return TryAndCount(why, retry_after);
        snapshot_wanted = true;
        break;
    }
    return TryAgain(why, retry_after);
  }

  Action WithoutProtobuf(const absl::Status& why) {
    if (json_only) {
      no_protobuf_until = TimePoint::min();  // nor JSON: all from the start
      return TryAgain(why);
    }
    no_protobuf_until = clock.Now() + kRefusalLasts;
    return Ask();
  }

  Action Expired(const absl::Status& why) {
    if (snapshot_wanted) {
      page_token.clear();  // the pages' snapshot is gone: from the first one again
      return TryAndCount(why);
    }
    snapshot_wanted = true;
    return clock.Now() - snapshot_at >= kLeastAge ? Ask() : TryAgain(why);
  }

  // The octets are not what the answer says they are.
  Action Unreadable(const absl::Status& broken) {
    const absl::Status why = Why(absl::StatusCode::kDataLoss, broken.message());
    // One bad frame may be an accident. An answer that begins with one, or many, are not.
    if (answer->encoding() == Encoding::kProtobuf && !json_only &&
        (!answer->told_anything() || tries + 1 >= kTries)) {
      return WithoutProtobuf(why);
    }
    return TryAndCount(why);
  }

  // The exchange has come to its end before the answer did; a watch has none.
  Action Cut(const absl::Status& why) {
    if (!watching()) {
      return TryAndCount(Why(why.code(), absl::StrCat("cut amid the answer: ", why.message())));
    }
    if (answer->told_anything() || settled) return WatchAgain();
    return TryAndCount(
        Why(why.code(), absl::StrCat("the watch ends as soon as it begins: ", why.message())));
  }

  // ---- what goes well

  void BeginWatch() {
    watching_since = clock.Now();
    settled = false;
  }

  // Asked whenever something happens, so that what ends a watch finds it settled or not.
  void SettleIfTime() {
    if (phase != Phase::kAnswered || !watching() || settled) return;
    if (clock.Now() - watching_since < kSettled) return;
    settled = true;
    tries = 0;
    backoff.Reset();
    if (!trouble.ok()) listener.OnTrouble(trouble = absl::OkStatus());
  }

  // The listener has heard of it.
  void SnapshotEnded(const std::string& at) {
    version = at;
    snapshot_wanted = dropped = false;
    synced = true;
    snapshot_at = clock.Now();
    way = Way::kStream;
    page_token.clear();
    not_known_since.reset();
  }

  Action ListEnded(NodesAnswer::ListEnd end) {
    // Of the first page: what changed since then may be in none.
    if (page_version.empty()) page_version = end.version;
    if (end.continue_token.empty()) {
      teller.EndSnapshot();
      SnapshotEnded(page_version);
      return Ask();
    }
    if (end.continue_token == page_token || end.continue_token.size() > kMaxToken) {
      page_token.clear();
      return TryAndCount(Why(absl::StatusCode::kDataLoss, "the list's pages have no end"));
    }
    page_token = std::move(end.continue_token);
    return Ask();
  }

  // What the answer has said so far, and what it means for the exchange.
  std::optional<Action> Digest() {
    if (question == Question::kStream && snapshot_wanted && !answer->initial()) {
      SnapshotEnded(answer->version());
      BeginWatch();
    }
    if (watching()) {
      if (!answer->version().empty()) version = answer->version();
      if (answer->watched_anything()) silent_watches = 0;
    }
    if (answer->error_event()) return Refused(*answer->error_event());
    if (answer->list_end()) return ListEnded(*answer->list_end());
    return std::nullopt;
  }

  // The exchange goes on.
  Action Continue() {
    if (phase == Phase::kNone) return Wait{until};
    if (phase == Phase::kAnswered) {
      if (watching()) {
        until = heard_at + kWatchIdle;
        if (!settled) until = std::min(until, watching_since + kSettled);
      } else {
        until = std::min(heard_at + (question == Question::kStream ? kMark : kListIdle),
                         asked_at + kSnapshotLimit);
      }
    }
    return Read{until};
  }

  // ---- what happens

  Action OnHead(const HttpHead& its) {
    if (phase != Phase::kAsked) return Continue();
    head = its;
    heard_at = clock.Now();
    if (head.status != 200) {
      phase = Phase::kRefused;
      error_text.clear();
      until = heard_at + kErrorText;
      return Continue();
    }
    const std::optional<Encoding> encoding = EncodingOf(head.content_type);
    if (!encoding) {
      return TryAgain(Why(absl::StatusCode::kUnavailable,
                          absl::StrCat("the answer's Content-Type is ",
                                       lease::Quoted(head.content_type), ", not the API's")));
    }
    phase = Phase::kAnswered;
    const bool begins = snapshot_wanted && page_token.empty();
    answer.emplace(question, begins, *encoding, keys, own_node_name, teller);
    if (question == Question::kWatch) BeginWatch();
    return Continue();
  }

  Action OnBody(std::string_view octets) {
    if (phase == Phase::kRefused) {
      error_text.append(octets.substr(0, kMaxErrorText - error_text.size()));
      return error_text.size() < kMaxErrorText ? Continue() : RefusedByHead();
    }
    if (phase != Phase::kAnswered) return Continue();
    SettleIfTime();
    const absl::Status read = answer->Read(octets);
    // Before the mark only ADDED count; of the three pieces of a Node the clock is asked for one.
    if (!answer->initial() || answer->added()) heard_at = clock.Now();
    if (std::optional<Action> next = Digest()) return *std::move(next);
    if (!read.ok()) return Unreadable(read);
    return Continue();
  }

  Action OnEnd(const absl::Status& status) {
    switch (phase) {
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
    const absl::Status finished = answer->Finish();
    if (std::optional<Action> next = Digest()) return *std::move(next);
    return Cut(finished.ok() ? absl::UnavailableError("the server has ended it") : finished);
  }

  Action OnTime() {
    SettleIfTime();
    const Action same = Continue();
    if (clock.Now() < until) return same;
    switch (phase) {
      case Phase::kNone:
        return Ask();
      case Phase::kAsked: {
        const absl::Status why = Why(absl::StatusCode::kDeadlineExceeded, "no answer in time");
        return KindOf(question) == AnswerKind::kList ? TryAndCount(why) : TryAgain(why);
      }
      case Phase::kRefused:
        return RefusedByHead();
      case Phase::kAnswered:
        break;
    }
    if (watching()) return Silence();
    if (question == Question::kStream) {  // it ignores what it does not know, or stalls
      no_stream_until = clock.Now() + kRefusalLasts;
      return Ask();
    }
    const bool stalls = clock.Now() < asked_at + kSnapshotLimit;
    return TryAndCount(Why(absl::StatusCode::kDeadlineExceeded,
                           stalls ? "the answer stalls" : "the answer takes more than 3 minutes"));
  }

  Action RefusedByHead() {
    return Refused(DecodeApiStatus(head.status, head.content_type, error_text));
  }

  // Perhaps the connection is dead, or nothing happens in the cluster. Or the version is one that
  // the server will only reach (etcd was restored): of what happens before then a watch says
  // nothing.
  Action Silence() {
    if (!answer->watched_anything() && ++silent_watches >= kSilentWatches) {
      silent_watches = 0;
      snapshot_wanted = true;
    }
    return Ask();
  }

  const control::Clock& clock;
  const control::Random random;
  const AnnotationKeys keys;
  const std::string own_node_name;
  lease::SourceListener& listener;
  NodeTeller teller;
  control::Backoff backoff;
  absl::Status trouble;  // as told

  // What is wanted.
  bool snapshot_wanted = true;  // otherwise what changes after `version`
  bool synced = false;          // there has been a snapshot
  std::string version;          // of the last snapshot, bookmark or event
  bool dropped = false;         // the next snapshot is asked for without it
  Way way = Way::kStream;
  int tries = 0;  // in vain, this way
  std::string page_token, page_version;
  TimePoint no_stream_until = TimePoint::min();
  TimePoint no_protobuf_until = TimePoint::min();
  std::optional<TimePoint> not_known_since;
  TimePoint snapshot_at;   // the last one's end
  int silent_watches = 0;  // in a row

  // The exchange.
  Phase phase = Phase::kNone;
  Question question = Question::kStream;
  bool json_only = false;
  TimePoint until;  // of the last action
  TimePoint asked_at, heard_at, watching_since;
  bool settled = false;
  HttpHead head;
  std::string error_text;
  std::optional<NodesAnswer> answer;
};

ListWatch::ListWatch(const control::Clock& clock, const control::Random& random,
                     AnnotationKeys keys, std::string own_node_name,
                     lease::SourceListener& listener)
    : impl_(std::make_unique<Impl>(clock, random, std::move(keys), std::move(own_node_name),
                                   listener)) {}

ListWatch::~ListWatch() = default;

Action ListWatch::Start() { return impl_->Ask(); }

Action ListWatch::OnHead(const HttpHead& head) { return impl_->OnHead(head); }

Action ListWatch::OnBody(std::string_view octets) { return impl_->OnBody(octets); }

Action ListWatch::OnEnd(const absl::Status& status) { return impl_->OnEnd(status); }

Action ListWatch::OnTime() { return impl_->OnTime(); }

}  // namespace weft::kube
