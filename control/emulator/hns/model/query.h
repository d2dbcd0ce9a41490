// SPDX-License-Identifier: Apache-2.0
// The query document: which shape, and which objects.
#pragma once

#include <string>

#include "control/emulator/hns/model/document.h"
#include "control/emulator/hns/model/settings.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

struct ReadQuery {
  bool v2 = false;  // SchemaVersion says so; else HNS answers as v1
  Json filter = Json::object();
};
// Empty text is no filter. kInvalidJson: the document or the filter, JSON in a string, is none.
Reply ParseQuery(const std::string& text, ReadQuery& query);

// Equality on v1's property names. Ids in any case.
bool Matches(const Json& filter, const Json& v1_facts, UnknownFilter unknown);

}  // namespace weft::hns::emulator
