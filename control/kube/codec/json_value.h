// SPDX-License-Identifier: Apache-2.0
// What the JSON codecs share: simdjson's values in messages, and lookups that follow Go's
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

// A value as a message shows it: `"text"` (escaped, bounded), `4096`, `true`, `null`, `an object`,
// `an array`.
std::string Show(simdjson::dom::element value);

// Of duplicate members the last counts. None when absent or null.
std::optional<simdjson::dom::element> Find(simdjson::dom::object object, std::string_view key);

// `field` is how messages name the value. Errors: "spec.podCIDR is 7, not a string".
absl::StatusOr<std::string_view> AsString(simdjson::dom::element value, std::string_view field);
absl::StatusOr<simdjson::dom::object> AsObject(simdjson::dom::element value,
                                               std::string_view field);
absl::StatusOr<simdjson::dom::array> AsArray(simdjson::dom::element value, std::string_view field);

// The member as a string; empty when absent or null.
absl::StatusOr<std::string_view> StringMember(simdjson::dom::object object, std::string_view key,
                                              std::string_view field);
// The member as an object; none when absent or null.
absl::StatusOr<std::optional<simdjson::dom::object>> ObjectMember(simdjson::dom::object object,
                                                                  std::string_view key,
                                                                  std::string_view field);

// The byte, from 0, at which `text` stops being the beginning of one JSON value, or the last of
// the word there; its size when it ends too early. Empty when the grammar holds: simdjson also
// refuses numbers out of range and depth, and reports no place.
std::optional<std::size_t> FindJsonError(std::string_view text);

// Fills `fields`, which then live as long as the parser's document. A value of the wrong type is a
// problem of the fields, no failure. Of duplicate members the last counts, as for Go.
void ReadJsonNode(simdjson::dom::element node, const AnnotationKeys& keys, NodeFields& fields);

}  // namespace weft::kube
