// SPDX-License-Identifier: Apache-2.0
#include "hns/api/response.h"
#include "hns/document/document_json.h"
#include "hns/version.h"

namespace weft::hns {

absl::StatusOr<Version> ParseVersion(std::string_view response) {
  const absl::StatusOr<Response> parsed = ParseResponse(response);
  if (!parsed.ok()) return parsed.status();
  if (!parsed->success) return StatusOf("read the version of HNS", hresult::kOk, response);
  const absl::StatusOr<Json> output = ParseObject(parsed->output, "the version of HNS");
  if (!output.ok()) return output.status();
  const auto major = NumberMember(*output, "Major");
  if (!major) return absl::DataLossError("the version of HNS has no number \"Major\"");
  return Version{*major, NumberMember(*output, "Minor").value_or(0)};
}

}  // namespace weft::hns
