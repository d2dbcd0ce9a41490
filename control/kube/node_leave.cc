// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_leave.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/http1/percent.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/codec/objects_json.h"
#include "control/kube/node_patch.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr std::size_t kNamed = 10;  // pods in the message

// Those that flanneld writes (DesiredAnnotations).
std::vector<std::string> PublishedKeys(const AnnotationKeys& keys) {
  return {keys.backend_data,   keys.backend_v6_data, keys.backend_type,
          keys.subnet_manager, keys.public_ip,       keys.public_ipv6};
}

// A drain leaves the others.
bool NeedsTheNetwork(const ListedPod& pod) {
  return !pod.host_network && !pod.daemon_set && !pod.mirror && !pod.terminated;
}

ApiStatus StatusOf(const ApiAnswer& answer) {
  ApiStatus status = DecodeApiStatus(answer.status, answer.content_type, answer.body);
  if (answer.retry_after) status.retry_after = answer.retry_after;
  return status;
}

// Another answer may follow: a conflict, a busy or failing server.
bool IsTriedAgain(int code) { return code == 409 || code == 429 || code >= 500; }

}  // namespace

NodeLeave::NodeLeave(Options options, control::Random random)
    : options_(std::move(options)),
      backoff_(options_.retry, std::move(random)),
      result_(absl::UnavailableError("the API server has not answered yet")) {}

std::string NodeLeave::Subject() const { return absl::StrCat("node ", Quoted(options_.node_name)); }

void NodeLeave::End(absl::StatusOr<Left> result) {
  phase_ = Phase::kEnded;
  result_ = std::move(result);
}

void NodeLeave::Retry(const std::string& why, std::optional<std::chrono::seconds> wait) {
  wait_ = backoff_.Next();
  if (wait && *wait > wait_) wait_ = *wait;
  result_ = absl::UnavailableError(absl::StrCat(Subject(), ": ", why));
}

std::optional<NodeLeave::Step> NodeLeave::Next() {
  Step step;
  step.wait = std::exchange(wait_, {});
  switch (phase_) {
    case Phase::kRead:
    case Phase::kReadAgain:
      step.request.target =
          absl::StrCat("/api/v1/nodes/", http1::EscapePercent(options_.node_name));
      return step;
    case Phase::kPods:
      step.request.target = absl::StrCat(
          "/api/v1/pods?fieldSelector=",
          http1::EscapePercent(absl::StrCat("spec.nodeName=", options_.node_name)),
          "&limit=", kPageSize,
          page_.empty() ? "" : absl::StrCat("&continue=", http1::EscapePercent(page_)));
      return step;
    case Phase::kPatch: {
      Annotations removed;
      for (const std::string& key : found_) removed[key] = "";
      step.request = NodeStatusPatch(options_.node_name, AnnotationsPatch(removed));
      return step;
    }
    case Phase::kEnded:
      return std::nullopt;
  }
  return std::nullopt;
}

void NodeLeave::OnAnswer(const absl::StatusOr<ApiAnswer>& answer) {
  if (!answer.ok()) {
    if (absl::IsResourceExhausted(answer.status())) return End(answer.status());
    return Retry(std::string(answer.status().message()), std::nullopt);
  }
  if (answer->status < 300) {
    backoff_.Reset();
    switch (phase_) {
      case Phase::kRead:
      case Phase::kReadAgain:
        return OnNode(answer->body);
      case Phase::kPods:
        return OnPods(answer->body);
      case Phase::kPatch:
        return OnPatched();
      case Phase::kEnded:
        return;
    }
  }
  const ApiStatus status = StatusOf(*answer);
  const std::string text = absl::StrCat("the API server answers ", status.code, ": ",
                                        status.message.empty() ? status.reason : status.message);
  if (phase_ == Phase::kPods && status.code == 410) {  // the pages ended with their version
    phase_ = Phase::kRead;
    return Retry(text, status.retry_after);
  }
  if (status.code == 404 && phase_ != Phase::kPods) {
    Left left;
    left.node_exists = false;
    return End(std::move(left));
  }
  if (IsTriedAgain(status.code)) {
    if (phase_ == Phase::kPatch) phase_ = Phase::kRead;  // what it is to remove may have changed
    return Retry(text, status.retry_after);
  }
  if (status.code == 401) {
    return End(absl::UnauthenticatedError(
        absl::StrCat(Subject(), ": ", text, "; it does not accept ", answer->credentials,
                     "; check the credentials that --kubeconfig-file names")));
  }
  if (status.code == 403 && phase_ == Phase::kPods) {
    return End(absl::PermissionDeniedError(absl::StrCat(
        Subject(), ": whether pods still run cannot be read: ", text,
        "; name an administrator's kubeconfig with --kubeconfig-file, let this account `list` "
        "pods, or drain the node yourself and add --force")));
  }
  if (status.code == 403) {
    return End(absl::PermissionDeniedError(absl::StrCat(
        Subject(), ": ", text, "; this account needs ",
        phase_ == Phase::kPatch ? "\"patch\" of \"nodes/status\"" : "\"get\" of \"nodes\"",
        ", as flanneld's has")));
  }
  End(absl::InternalError(absl::StrCat(Subject(), ": ", text)));
}

void NodeLeave::OnNode(const std::string& body) {
  const auto annotations = DecodeAnnotations(body);
  if (!annotations.ok())
    return End(absl::InternalError(absl::StrCat(Subject(), ": ", annotations.status().message())));
  std::vector<std::string> found;
  for (const std::string& key : PublishedKeys(options_.keys))
    if (annotations->contains(key)) found.push_back(key);
  if (phase_ == Phase::kReadAgain) {
    if (found.empty()) return End(Left{true, found_});
    return End(absl::AbortedError(absl::StrCat(
        Subject(), ": ", absl::StrJoin(found, ", "),
        " was written again at once: a flanneld of this node runs; stop it (its service, pod or "
        "process), then run this again")));
  }
  found_ = std::move(found);
  if (found_.empty()) return End(Left{});
  running_.clear();
  running_count_ = 0;
  page_.clear();
  if (!options_.force) {
    phase_ = Phase::kPods;
  } else if (options_.dry_run) {
    End(Left{true, found_});
  } else {
    phase_ = Phase::kPatch;
  }
}

void NodeLeave::OnPods(const std::string& body) {
  absl::StatusOr<ListedPods> listed = DecodePodList(body);
  if (!listed.ok()) {
    return End(absl::InternalError(absl::StrCat(
        Subject(), ": whether pods still run cannot be read: ", listed.status().message(),
        "; if none runs, add --force")));
  }
  for (const ListedPod& pod : listed->pods) {
    if (!NeedsTheNetwork(pod)) continue;
    if (++running_count_ <= kNamed) running_.push_back(pod.name);
  }
  if (!listed->next.empty() && listed->next == page_) {
    return End(absl::InternalError(
        absl::StrCat(Subject(), ": the API server sends the same page of Pods again")));
  }
  page_ = std::move(listed->next);
  if (!page_.empty()) return;
  if (running_count_ > 0) {
    return End(absl::FailedPreconditionError(
        absl::StrCat(Subject(), ": ", running_count_, running_count_ == 1 ? " pod" : " pods",
                     " would lose the other nodes: ", absl::StrJoin(running_, ", "),
                     running_count_ > running_.size()
                         ? absl::StrCat(" and ", running_count_ - running_.size(), " more")
                         : "",
                     "; run `kubectl drain ", options_.node_name,
                     " --ignore-daemonsets` first, or add --force")));
  }
  if (options_.dry_run) return End(Left{true, found_});
  phase_ = Phase::kPatch;
}

void NodeLeave::OnPatched() {
  phase_ = Phase::kReadAgain;
  wait_ = kWrittenBackWithin;
}

}  // namespace weft::kube
