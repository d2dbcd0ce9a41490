// SPDX-License-Identifier: Apache-2.0
// Queries for HcnEnumerate* and HcnQuery*Properties, and the result of the former. The documents
// are byte for byte those of hcsshim v0.14.1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/document/guid.h"

namespace weft::hns {

// All objects, in schema 2.
std::string QueryJson();
// Objects whose `key`, a name of the v1 schema ("Name", "ID", "VirtualNetwork"), equals `value`.
std::string QueryJson(std::string_view key, std::string_view value);

// Parses HcnEnumerate*'s result, a JSON array of ids. DataLoss: no such array.
absl::StatusOr<std::vector<Guid>> ParseIds(std::string_view json);

}  // namespace weft::hns
