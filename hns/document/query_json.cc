// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "hns/document/document_json.h"
#include "hns/document/query.h"

namespace weft::hns {
namespace {

Json Schema2() { return {{"SchemaVersion", {{"Major", 2}, {"Minor", 0}}}}; }

}  // namespace

std::string QueryJson() { return Dump(Schema2()); }

std::string QueryJson(std::string_view key, std::string_view value) {
  Json query = Schema2();
  query["Filter"] = Dump(Json{{std::string(key), value}});  // an object inside a string
  return Dump(query);
}

absl::StatusOr<std::vector<Guid>> ParseIds(std::string_view json) {
  const Json list = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) {
    return absl::DataLossError(
        absl::StrCat("HNS's list of ids is not a JSON array: ", json.size(), " bytes"));
  }
  std::vector<Guid> ids;
  for (const Json& item : list) {
    const auto id =
        item.is_string() ? Guid::Parse(item.get_ref<const std::string&>()) : std::optional<Guid>();
    if (!id) return absl::DataLossError("HNS's list of ids contains something that is not an id");
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace weft::hns
