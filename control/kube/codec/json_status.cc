// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_status.h"

#include "control/kube/codec/api_status_text.h"
#include "control/kube/codec/json_value.h"

namespace weft::kube {
namespace {

std::string_view Text(simdjson::dom::object object, std::string_view key) {
  const auto value = Find(object, key);
  return value && value->is_string() ? value->get_string().value_unsafe() : std::string_view();
}

std::int64_t Number(simdjson::dom::object object, std::string_view key) {
  const auto value = Find(object, key);
  return value && value->is_int64() ? value->get_int64().value_unsafe() : 0;
}

void ReadDetails(simdjson::dom::object details, ApiStatus& status) {
  SetRetryAfter(Number(details, "retryAfterSeconds"), status);
  const auto causes = Find(details, "causes");
  if (!causes || !causes->is_array()) return;
  const simdjson::dom::array list = causes->get_array().value_unsafe();
  for (const auto cause : list) {
    if (!cause.is_object()) continue;
    const auto members = cause.get_object().value_unsafe();
    AddCause(Text(members, "reason"), Text(members, "message"), status);
  }
}

}  // namespace

bool ReadJsonStatus(simdjson::dom::element value, ApiStatus& status) {
  if (!value.is_object()) return false;
  const auto members = value.get_object().value_unsafe();
  if (Text(members, "kind") != "Status") return false;
  SetCode(Number(members, "code"), status);
  status.reason = StatusLine(Text(members, "reason"));
  status.message = StatusLine(Text(members, "message"));
  const auto details = Find(members, "details");
  if (details && details->is_object()) ReadDetails(details->get_object().value_unsafe(), status);
  return true;
}

bool DecodeJsonStatus(std::string_view text, ApiStatus& status) {
  if (text.empty()) return false;  // simdjson copies from it, null or not
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  return parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS &&
         ReadJsonStatus(root, status);
}

}  // namespace weft::kube
