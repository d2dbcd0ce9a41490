// SPDX-License-Identifier: Apache-2.0
#include "hns/api/response.h"
#include "hns/document/document_json.h"

namespace weft::hns {

absl::StatusOr<Response> ParseResponse(std::string_view text) {
  const absl::StatusOr<Json> json = ParseObject(text, "HNS's answer");
  if (!json.ok()) return json.status();
  Response response;
  const Json& success = Member(*json, "Success");
  response.success = success.is_boolean() && success.get<bool>();
  response.error = TextMember(*json, "Error");
  response.error_code = NumberMember(*json, "ErrorCode");
  if (const Json& output = Member(*json, "Output"); !output.is_null())
    response.output = Dump(output);
  return response;
}

absl::StatusOr<Response> ResponseOf(std::string_view what, const Reply& reply) {
  const std::string& record = reply.error_record.empty() ? reply.text : reply.error_record;
  if (!reply.ok()) return StatusOf(what, reply.code, record);
  absl::StatusOr<Response> response = ParseResponse(reply.text);
  if (!response.ok()) return Prefixed(what, response.status());
  if (!response->success) return StatusOf(what, hresult::kOk, reply.text);
  return response;
}

}  // namespace weft::hns
