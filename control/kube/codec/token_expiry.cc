// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/token_expiry.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "control/kube/codec/json_value.h"

namespace weft::kube {

std::optional<std::int64_t> DecodeTokenExpiry(std::string_view token) {
  const std::vector<std::string_view> parts = absl::StrSplit(token, '.');
  std::string claims;
  if (parts.size() != 3 || !absl::WebSafeBase64Unescape(parts[1], &claims) || claims.empty())
    return std::nullopt;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(claims).get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  const auto expiry = Find(object, "exp");
  if (!expiry || !expiry->is_int64()) return std::nullopt;
  return expiry->get_int64().value_unsafe();
}

}  // namespace weft::kube
