// SPDX-License-Identifier: Apache-2.0
// How Nodes are kept in sync with the API server: a state machine without I/O. It says which
// request to send, is told what came of it, and reports to a lease::SourceListener.
//
//   streaming list (protobuf) ──► goes on as the watch ──► cut: watch again from the last version
//        │ refused                                     └─► 410: streaming list again
//        ├─► list, then watch
//        ├─► the same in JSON (406, 415, or a server that answers so)
//        └─► list in pages, last
//
// After client-go's reflector (upstream v0.28.9) where servers depend on it: back-off, the watch's
// duration, what 410, 429 and Retry-After mean.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "control/clock.h"
#include "control/kube/annotation_keys.h"
#include "control/kube/http_exchange.h"
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
