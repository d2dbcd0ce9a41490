// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_verdict.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr std::size_t kMaxReason = 40;    // bytes shown; the longest real one has 21
constexpr std::size_t kMaxMessage = 300;  // bytes shown

std::string_view Spec(RequestKind kind) {
  return kind == RequestKind::kWatch ? "watch nodes" : "list nodes";
}

absl::StatusCode CodeOf(int http) {
  switch (http) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

std::string NextStep(const ApiStatus& status) {
  switch (status.code) {
    case 401:
      if (status.credentials.empty())
        return "it does not accept our token or certificate; they are read again for every try";
      return absl::StrCat("it does not accept ", status.credentials,
                          "; credentials are read again for every try");
    case 403:
      return "give this account the verbs get, list and watch on nodes (deploy/rbac.yaml)";
    case 404:
      return "check the server's address and path; trying again";
    case 429:
      return "it is busy; trying again";
    default:
      return "trying again";
  }
}

}  // namespace

Verdict Judge(RequestKind kind, bool event, const ApiStatus& status) {
  if (status.resource_version_too_large) return Verdict::kNotKnownYet;
  if (status.code == 410 || status.reason == "Expired" || status.reason == "Gone")
    return Verdict::kExpired;
  switch (status.code) {
    case 406:
    case 415:
      return Verdict::kNoProtobuf;
    case 400:
    case 422:
      return kind == RequestKind::kStream ? Verdict::kNoStreamedList : Verdict::kBadRequest;
    case 405:
    case 501:
      return kind == RequestKind::kStream ? Verdict::kNoStreamedList : Verdict::kTryAgain;
    case 500:
      // etcd is too old for a streamed list (before 3.4.31, 3.5.13).
      if (kind == RequestKind::kStream && event) return Verdict::kNoStreamedList;
      return Verdict::kCount;
    case 413:
    case 504:
      return Verdict::kCount;
    // 502 and 503 are returned while a server or a balancer starts: no reason to change the mode.
    case 401:
    case 403:
    case 404:
    case 429:
    case 502:
    case 503:
      return Verdict::kTryAgain;
    default:
      return event ? Verdict::kCount : Verdict::kTryAgain;
  }
}

absl::Status Condition(RequestKind kind, const ApiStatus& status) {
  std::string text = absl::StrCat("cannot ", Spec(kind), ": the API server answers ", status.code);
  if (!status.reason.empty()) absl::StrAppend(&text, " (", Quoted(status.reason, kMaxReason), ")");
  if (!status.message.empty()) absl::StrAppend(&text, ": ", Quoted(status.message, kMaxMessage));
  absl::StrAppend(&text, "; ", NextStep(status));
  return {CodeOf(status.code), text};
}

absl::Status Condition(RequestKind kind, absl::StatusCode code, std::string_view cause) {
  return {code, absl::StrCat("cannot ", Spec(kind), ": ", cause, "; trying again")};
}

}  // namespace weft::kube
