// SPDX-License-Identifier: Apache-2.0
#include "control/admin/admin_server.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/admin/endpoint.h"
#include "nlohmann/json.hpp"

namespace weft::admin {
namespace {

Response Document(const nlohmann::ordered_json& json) {
  // Node names and reasons come from outside: bytes that are not UTF-8 are replaced; by default
  // dump throws.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return {.content_type = "application/json",
          .body = absl::StrCat(json.dump(-1, ' ', false, kReplace), "\n")};
}

Response Error(int status, const std::string& message) {
  Response response =
      Document({{"apiVersion", kApiVersion}, {"kind", "Error"}, {"message", message}});
  response.status = status;
  return response;
}

// Reads a number of the query; an absent one leaves `value` unchanged. False: not a number.
bool ReadNumber(const Request& request, std::string_view name, std::uint64_t& value) {
  const auto found = request.query.find(name);
  return found == request.query.end() || absl::SimpleAtoi(found->second, &value);
}

Response AnswerLeases(const Request& request, StateProvider& state) {
  std::uint64_t after = 0;
  std::uint64_t wait = 0;
  if (!ReadNumber(request, "after", after) || !ReadNumber(request, "wait", wait))
    return Error(400, "after and wait are numbers: /v1/leases?after=GENERATION&wait=SECONDS");
  const bool waits =
      request.query.contains("after") && wait > 0 && !request.held && state.generation() == after;
  if (waits) {
    Response response;
    response.hold = std::chrono::seconds(std::min<std::uint64_t>(wait, kLongestWait));
    return response;
  }
  return Document(ToJson(state.ReadLeases()));
}

Response AnswerPlan(const Request& request, StateProvider& state) {
  const bool repair = request.path == kRepairPath;
  const auto ask = request.query.find("ask");
  if (ask == request.query.end() || ask->second.empty())
    return Error(400, absl::StrCat("the parameter ask is missing: ", request.path, "?ask=NAME"));
  const auto plan = state.RequestPlan(ask->second, repair);
  if (!plan && !request.held) {
    Response response;
    response.hold = std::chrono::seconds(kPlanWait);
    return response;
  }
  if (!plan)
    return Error(503, "HNS has not answered yet; \"flannelctl status\" shows what it waits for");
  if (plan->ok()) return Document(ToJson(**plan));
  return Error(absl::IsFailedPrecondition(plan->status()) ? 409 : 503,
               std::string(plan->status().message()));
}

HttpLimits WithPost(HttpLimits limits) {
  limits.post = true;
  return limits;
}

Response WrongMethod(std::string_view path, std::string_view allow) {
  Response response = Error(405, absl::StrCat(path, " allows only ", allow));
  response.allow = allow;
  return response;
}

}  // namespace

Handler AdminHandler(StateProvider& state) {
  return [&state](const Request& request) {
    const bool post = request.method == "POST";
    if (request.path == kRepairPath)
      return post ? AnswerPlan(request, state) : WrongMethod(kRepairPath, "POST");
    if (post) return WrongMethod(request.path, "GET, HEAD");
    if (request.path == kPlanPath) return AnswerPlan(request, state);
    if (request.path == kLeasesPath) return AnswerLeases(request, state);
    if (request.path == kStatusPath) return Document(ToJson(state.ReadStatus()));
    return Error(404, absl::StrCat("no such document: ", request.path, "; there are ", kLeasesPath,
                                   ", ", kStatusPath, ", ", kPlanPath, " and ", kRepairPath));
  };
}

AdminServer::AdminServer(boost::asio::io_context& io, StateProvider& state, HttpLimits limits)
    : http_(io, AdminHandler(state), WithPost(limits)) {}

absl::Status AdminServer::Listen(const std::string& path) {
  note_.clear();
  absl::Status status = http_.ListenLocal(path);
  const std::string other(ReservedEndpoint());
  if (!absl::IsAlreadyExists(status) || path != DefaultEndpoint() || other.empty()) return status;
  const std::string who = ForeignHolder(path);
  if (who.empty()) return status;
  status = http_.ListenLocal(other);
  if (status.ok())
    note_ = absl::StrCat("the pipe ", path, " ", who, "; flannelctl connects to ", other,
                         " instead: find the program that holds the pipe");
  return status;
}

}  // namespace weft::admin
