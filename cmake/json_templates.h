// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

// Compiled in json_templates.cc, not in every file: half of what reading JSON costs.
#define WEFT_JSON_TEMPLATES(linkage, json)                   \
  linkage template class json;                               \
  linkage template class nlohmann::detail::serializer<json>; \
  WEFT_JSON_PARSER(linkage, json, const char*)               \
  WEFT_JSON_PARSER(linkage, json, std::string::const_iterator)
#define WEFT_JSON_PARSER(linkage, json, iterator)                \
  linkage template class nlohmann::detail::lexer<                \
      json, nlohmann::detail::iterator_input_adapter<iterator>>; \
  linkage template class nlohmann::detail::parser<               \
      json, nlohmann::detail::iterator_input_adapter<iterator>>;

WEFT_JSON_TEMPLATES(extern, nlohmann::basic_json<>)
WEFT_JSON_TEMPLATES(extern, nlohmann::basic_json<nlohmann::ordered_map>)
