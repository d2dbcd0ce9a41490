// SPDX-License-Identifier: Apache-2.0
// How Nodes are kept in sync with the API server: a state machine without I/O. It says which
// request to send, is told what came of it, and reports to a lease::SourceListener.
//
//   streamed list (protobuf) ──► goes on as the watch ──► cut: watch again from the last version
//        │ refused                                   └──► 410: streamed list again
//        ├─► list, then watch
//        ├─► the same in JSON (406, 415, or a server that answers so)
//        └─► list in pages, last
//
// After client-go's reflector (upstream v0.28.9) where servers depend on it: back-off, the watch's
// duration, what 410, 429 and Retry-After mean. What is our own:
//
// - Never back in time. Versions are opaque and never compared; a later snapshot must not be older
//   than the last version seen. Where that version is of no use (410, 400, "too large" for a
//   minute), or a cut snapshot may have told newer things, a list without a version follows: it is
//   as fresh as etcd. A streamed one without a version begins with what a cache holds, and serves
//   only the first time, when nothing can be taken back.
// - A streamed list is refused by 400, 405, 422, 501, by an ERROR event of code 500 before anything
//   else, or by half a minute in which neither an ADDED nor the end mark comes (servers from before
//   the feature; an ordinary bookmark proves nothing). Refusals of it, and of protobuf, count for
//   an hour.
// - Three failures that a smaller answer could mend (cut, stalled, 413, 500, 504) lead from the
//   streamed list to the list, then to pages, then back. Others (no connection, 401, 403, 404, 429,
//   502, 503) do not.
// - A watch that brought something or stood for 5 s is asked for again at once, though not twice a
//   second; one that did neither has failed. After 5 s the back-off begins anew and trouble is
//   over. Three broken streams, three watches that end as soon as they begin (something between
//   here and the server cuts streams), or two silent ones, in a row lead to a new snapshot: the
//   version may be one from the server's future (etcd was restored), of which a watch says nothing.
// - Silence ends an exchange: 30 s (lists: 60 s) before the answer, 30 s amid a list, 120 s in a
//   watch, whose bookmarks come each minute. A whole list, and a streamed one up to its mark, has
//   three minutes, however steadily it drips.
// - Trouble is told after a failed attempt, not for the ordinary end of a watch, and once while it
//   stays the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "control/clock.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/lease/source.h"
#include "control/retry.h"

namespace weft::kube {

// Each answer of the machine replaces the one before. Send and Wait end a running exchange: it is
// to be destroyed, and nothing of it told any more.
struct Send {  // and until `deadline` something must have come
  HttpRequest request;
  control::TimePoint deadline;
};
struct Read {  // the exchange runs on; same deadline rule
  control::TimePoint deadline;
};
struct Wait {
  control::TimePoint until;
};
using Action = std::variant<Send, Read, Wait>;

// One thread (control). Calls `listener` from within its own calls.
class ListWatch {
 public:
  // `clock` and `listener` outlive it. `own_node_name` empty: no Node is ours.
  ListWatch(const control::Clock& clock, const control::Random& random, AnnotationKeys keys,
            std::string own_node_name, lease::SourceListener& listener);
  ~ListWatch();

  Action Start();
  // What became of the request last sent.
  Action OnHead(const HttpHead& head);
  Action OnBody(std::string_view octets);
  Action OnEnd(const absl::Status& status);
  // The time that the last action named has come.
  Action OnTime();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::kube
