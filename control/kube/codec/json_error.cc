// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_error.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weft::kube {

std::optional<std::size_t> FindJsonError(std::string_view text) {
  const auto keep_nothing = [](int, nlohmann::json::parse_event_t, nlohmann::json&) {
    return false;
  };
  try {
    std::ignore = nlohmann::json::parse(text, keep_nothing);
  } catch (const nlohmann::json::parse_error& error) {
    return error.byte - 1;                      // it counts from 1
  } catch (const nlohmann::json::exception&) {  // a number out of range
  }
  return std::nullopt;
}

std::string LineAndColumn(std::string_view text, std::size_t octet) {
  const std::string_view before = text.substr(0, octet);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is zero
  return absl::StrCat("line ", line, ", column ", before.size() - line_begin + 1);
}

}  // namespace weft::kube
