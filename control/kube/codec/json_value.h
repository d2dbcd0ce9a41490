// SPDX-License-Identifier: Apache-2.0
// Shared by the JSON codecs: simdjson's values in messages, and lookups that follow Go's
// encoding/json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/node_fields.h"
#include "simdjson.h"

namespace weft::kube {

// A value for messages: `"text"` (escaped, limited in length), `4096`, `true`, `null`, `an object`,
// `an array`.
std::string Show(simdjson::dom::element value);

// The last of duplicate members counts. Empty if absent or null.
std::optional<simdjson::dom::element> Find(simdjson::dom::object object, std::string_view key);

// `field` names the value in messages. Errors: "spec.podCIDR is 7, not a string".
absl::StatusOr<std::string_view> AsString(simdjson::dom::element value, std::string_view field);
absl::StatusOr<simdjson::dom::object> AsObject(simdjson::dom::element value,
                                               std::string_view field);
absl::StatusOr<simdjson::dom::array> AsArray(simdjson::dom::element value, std::string_view field);

// The member as a string; empty if absent or null.
absl::StatusOr<std::string_view> StringMember(simdjson::dom::object object, std::string_view key,
                                              std::string_view field);
// The member as an object; empty if absent or null.
absl::StatusOr<std::optional<simdjson::dom::object>> ObjectMember(simdjson::dom::object object,
                                                                  std::string_view key,
                                                                  std::string_view field);

// The byte, from 0, at which `text` stops being the beginning of one JSON value, or the last byte
// of the word there; its size if it ends too early. Empty if the grammar is correct: simdjson also
// refuses numbers out of range and deep nesting, and reports no position.
std::optional<std::size_t> FindJsonError(std::string_view text);

// Fills `fields`, which are valid as long as the parser's document. A value of the wrong type is a
// problem in `fields`, not a failure. The last of duplicate members counts, as in Go.
void ReadJsonNode(simdjson::dom::element node, const AnnotationKeys& keys, NodeFields& fields);

}  // namespace weft::kube
