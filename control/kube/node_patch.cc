// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_patch.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/http1/percent.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

// RFC 8259 section 7. Bytes above ASCII are taken to be UTF-8.
std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&json, "\\", std::string_view(&c, 1));
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&json, "\\u", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad4));
    } else {
      json += c;
    }
  }
  return json += '"';
}

}  // namespace

std::string AnnotationsPatch(const Annotations& annotations) {
  std::string body = R"({"metadata":{"annotations":{)";
  for (const auto& [key, text] : annotations) {
    absl::StrAppend(&body, body.back() == '{' ? "" : ",", JsonString(key), ":",
                    text.empty() ? "null" : JsonString(text));
  }
  return body += "}}}";
}

std::string NetworkAvailablePatch(absl::Time now) {
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone());
  return absl::StrCat(
      R"({"status":{"conditions":[{"type":"NetworkUnavailable","status":"False",)",
      R"("lastHeartbeatTime":")", time, R"(","lastTransitionTime":")", time,
      R"(","reason":"FlannelIsUp","message":"Flannel is running on this node"}]}})");
}

HttpRequest NodeStatusPatch(std::string_view node_name, std::string body) {
  HttpRequest request;
  request.method = "PATCH";
  request.target = absl::StrCat("/api/v1/nodes/", http1::EscapePercent(node_name), "/status");
  request.content_type = "application/strategic-merge-patch+json";
  request.body = std::move(body);
  return request;
}

namespace {

constexpr std::size_t kLongestMessage = 300;  // bytes

// The next step for a failed patch.
std::string NextStepOfPatch(const ApiStatus& status) {
  switch (status.code) {
    case 401:
      return absl::StrCat("the API server does not accept ",
                          status.credentials.empty() ? "its credentials" : status.credentials,
                          ": renew the token or the client certificate");
    case 403:
      return "its role lacks a rule: allow \"patch\" of \"nodes/status\" to the account that "
             "flanneld runs as";
    case 404:
      return "the Node is gone: waiting until it is registered again";
    case 422:
      return "the API server or an admission webhook finds it invalid: correct what the message "
             "names";
    case 429:
      return "the API server is busy: tried again after its Retry-After";
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
                      NextStepOfPatch(*answer));
}

}  // namespace weft::kube
