// SPDX-License-Identifier: Apache-2.0
// The query document: the form of the answer, and a filter for objects.
#pragma once

#include <string>

#include "control/emulator/hns/model/document.h"
#include "control/emulator/hns/model/settings.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

struct ReadQuery {
  bool v2 = false;  // SchemaVersion is 2; otherwise HNS answers in v1's form
  Json filter = Json::object();
};
// Empty text is no filter. kInvalidJson: the document, or the filter (JSON in a string), is not
// JSON.
Reply ParseQuery(const std::string& text, ReadQuery& query);

// Compares v1's properties for equality; ids without case.
bool Matches(const Json& filter, const Json& v1_facts, UnknownFilter unknown);

}  // namespace weft::hns::emulator
