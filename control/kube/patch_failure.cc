// SPDX-License-Identifier: Apache-2.0
#include "control/kube/patch_failure.h"

#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr std::size_t kLongestMessage = 300;  // octets

// What the caller can do beyond waiting.
std::string_view NextStepOfPatch(int code) {
  switch (code) {
    case 401:
      return "its credentials are not accepted: renew the token or the client certificate";
    case 403:
      return "its role lacks a rule: allow \"patch\" of \"nodes/status\" to the account that "
             "flanneld runs as";
    case 404:
      return "the Node is gone: waiting until it is registered again";
    case 422:
      return "the API server or an admission webhook finds it invalid: correct what the message "
             "names";
    case 429:
      return "the API server is busy: tried again when it says so";
    default:
      return "tried again";
  }
}

}  // namespace

std::string PatchFailure(std::string_view node_name, std::string_view subject,
                         const absl::StatusOr<ApiStatus>& answer) {
  const std::string what =
      absl::StrCat("the ", subject, " of node ", Quoted(node_name), " cannot be written: ");
  if (!answer.ok()) return absl::StrCat(what, answer.status().message(), "; tried again");
  return absl::StrCat(what, answer->code, answer->reason.empty() ? "" : " ", answer->reason,
                      answer->message.empty() ? "" : " ",
                      answer->message.empty() ? "" : Quoted(answer->message, kLongestMessage), "; ",
                      NextStepOfPatch(answer->code));
}

}  // namespace weft::kube
