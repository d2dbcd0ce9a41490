// SPDX-License-Identifier: Apache-2.0
// The fields of one Node in JSON.
#pragma once

#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/node_fields.h"
#include "simdjson.h"

namespace weft::kube {

// Fills `fields`, which then live as long as the parser's document. A value of the wrong type is a
// problem of the fields, no failure. Of duplicate members the last counts, as for Go.
void ReadJsonNode(simdjson::dom::element node, const AnnotationKeys& keys, NodeFields& fields);

}  // namespace weft::kube
