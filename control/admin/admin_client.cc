// SPDX-License-Identifier: Apache-2.0
#include "control/admin/admin_client.h"

#include <array>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "control/admin/endpoint.h"
#include "control/admin/http_codec.h"
#include "control/admin/local_connection.h"
#include "nlohmann/json.hpp"

namespace weft::admin {
namespace {

// The connection's error with its next step, for the operator.
absl::Status Explain(const absl::Status& status, const std::string& endpoint) {
  const auto text = [&](std::string_view what, std::string_view next_step) {
    return absl::StrCat(what, " (", endpoint, ": ", status.message(), "); ", next_step);
  };
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(
          text("flanneld does not answer",
               "start it on this node, or name its admin endpoint with --admin"));
    case absl::StatusCode::kPermissionDenied:
      return absl::PermissionDeniedError(
          text("the admin endpoint is closed to this user",
               "run as root or Administrator, or as the user that runs flanneld"));
    case absl::StatusCode::kDeadlineExceeded:
      return absl::DeadlineExceededError(text("flanneld accepted the request and did not answer",
                                              "check its log: it may hang or be overloaded"));
    default:
      return status;
  }
}

absl::StatusOr<Response> Exchange(LocalConnection& connection, std::string_view target,
                                  std::string_view method) {
  if (absl::Status status = connection.Write(WriteRequest(target, method)); !status.ok())
    return status;
  ResponseReader reader;
  Reading reading = Reading::kMore;
  std::array<char, 16 * 1024> buffer;
  while (reading == Reading::kMore) {
    const absl::StatusOr<std::size_t> size = connection.Read(buffer);
    if (!size.ok()) return size.status();
    reading = *size == 0 ? reader.End() : reader.Take({buffer.data(), *size});
  }
  if (reading == Reading::kRefused)
    return absl::UnavailableError("the answer is truncated or is not HTTP");
  return reader.TakeResponse();
}

// The daemon's reason for a refusal: a JSON document of kind Error, or plain text.
std::string ErrorText(const Response& response) {
  const auto json = nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (json.contains("message") && json["message"].is_string())
    return json["message"].get<std::string>();
  return std::string(absl::StripSuffix(response.body, "\n"));
}

// There is no handshake: the strict reader refuses the documents of another version, and says which
// program to upgrade.
template <class T>
absl::StatusOr<T> Read(const absl::StatusOr<std::string>& body,
                       absl::StatusOr<T> (*parse)(std::string_view), const std::string& endpoint) {
  if (!body.ok()) return body.status();
  absl::StatusOr<T> document = parse(*body);
  if (document.ok()) return document;
  return absl::FailedPreconditionError(absl::StrCat(
      "flanneld at ", endpoint,
      " returned a document that this flannelctl cannot read: ", document.status().message(),
      absl::IsFailedPrecondition(document.status())
          ? ", or use the flannelctl of flanneld's version"
          : "; use the flannelctl of flanneld's version"));
}

}  // namespace

absl::StatusOr<std::string> AdminClient::Get(std::string_view target,
                                             std::chrono::milliseconds patience,
                                             std::string_view method) const {
  const auto connection = ConnectLocal(endpoint_, timeout_ + patience);
  if (!connection.ok()) return Explain(connection.status(), endpoint_);
  absl::StatusOr<Response> response = Exchange(**connection, target, method);
  if (!response.ok()) return Explain(response.status(), endpoint_);
  if (response->status == 200) return std::move(response->body);
  if (response->status == 409) return absl::FailedPreconditionError(ErrorText(*response));
  const std::string message = absl::StrCat("flanneld at ", endpoint_, " refuses ", target, ": ",
                                           response->status, ": ", ErrorText(*response));
  if (response->status == 404)
    return absl::FailedPreconditionError(
        absl::StrCat(message, "; use the flannelctl of flanneld's version"));
  return absl::UnavailableError(absl::StrCat(message, "; check its log"));
}

absl::StatusOr<Status> AdminClient::ReadStatus() const {
  return Read(Get(kStatusPath), ParseStatus, endpoint_);
}

absl::StatusOr<LeaseList> AdminClient::ReadLeases() const {
  return Read(Get(kLeasesPath), ParseLeaseList, endpoint_);
}

absl::StatusOr<Plan> AdminClient::ReadPlan(bool repair) const {
  const std::string ask = absl::StrCat(std::random_device()(), "-", std::random_device()());
  return Read(Get(absl::StrCat(repair ? kRepairPath : kPlanPath, "?ask=", ask),
                  std::chrono::seconds(kPlanWait), repair ? "POST" : "GET"),
              ParsePlan, endpoint_);
}

absl::StatusOr<LeaseList> AdminClient::ReadLeasesAfter(std::uint64_t after,
                                                       std::chrono::seconds wait) const {
  return Read(Get(absl::StrCat(kLeasesPath, "?after=", after, "&wait=", wait.count()), wait),
              ParseLeaseList, endpoint_);
}

}  // namespace weft::admin
