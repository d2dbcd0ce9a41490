// SPDX-License-Identifier: Apache-2.0
// Removes flannel's annotations from a Node, so that peers remove it: a state machine without I/O.
//
//   read the Node ──► list its pods ──► patch ──► read again ──► done
//        ▲                                │            └─► annotations are back: error
//        └──────────── conflict ──────────┘
//
// public-ip-overwrite and node-public-ip are an administrator's, and stay.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/client/api_call.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/retry.h"

namespace weft::kube {

class NodeLeave {
 public:
  // A flanneld of the node writes its annotations back at once.
  static constexpr std::chrono::milliseconds kWrittenBackWithin{1500};
  // A page of Pods; a Pod is at most 1.5 MiB in etcd, and usually 10 kB.
  static constexpr int kPageSize = 50;
  static constexpr std::size_t kLongestPage = std::size_t{100} << 20;  // bytes

  struct Options {
    AnnotationKeys keys;
    std::string node_name;
    bool force = false;    // do not list the pods
    bool dry_run = false;  // do not patch
    control::RetryPolicy retry;
  };
  NodeLeave(Options options, control::Random random);

  // The next request, and the wait before it. None: it ended, as result() says.
  struct Step {
    HttpRequest request;
    control::Duration wait{};
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::optional<Step> Next();
  // The answer to that request, or the error of the connection.
  void OnAnswer(const absl::StatusOr<ApiAnswer>& answer);

  struct Left {
    bool node_exists = true;
    std::vector<std::string> removed;  // keys; in a dry run those that would be
  };
  // The error names the Node, the cause and the next step. Unavailable: not ended yet; the last
  // failure that is tried again, if there was one.
  const absl::StatusOr<Left>& result() const { return result_; }

 private:
  enum class Phase : std::uint8_t { kRead, kPods, kPatch, kReadAgain, kEnded };
  void OnNode(const std::string& body);
  void OnPods(const std::string& body);
  void OnPatched();
  void End(absl::StatusOr<Left> result);
  // The same phase once more, after a wait.
  void Retry(const std::string& why, std::optional<std::chrono::seconds> wait);
  std::string Subject() const;

  Options options_;
  control::Backoff backoff_;
  Phase phase_ = Phase::kRead;
  control::Duration wait_{};
  std::vector<std::string> found_;  // keys that the Node has
  std::vector<std::string> running_;
  std::size_t running_count_ = 0;
  std::string page_;  // the continue token
  absl::StatusOr<Left> result_;
};

}  // namespace weft::kube
