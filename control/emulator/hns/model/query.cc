// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/query.h"

#include "absl/strings/match.h"
#include "control/emulator/hns/model/refusal.h"
#include "hns/document/guid.h"

namespace weft::hns::emulator {
namespace {

bool Equal(const Json& desired, const Json& actual) {
  if (!desired.is_string() || !actual.is_string()) return desired == actual;
  const auto& a = desired.get_ref<const std::string&>();
  const auto& b = actual.get_ref<const std::string&>();
  return a == b || (Guid::Parse(a) && absl::EqualsIgnoreCase(a, b));
}

}  // namespace

Reply ParseQuery(const std::string& text, ReadQuery& query) {
  const auto document = ParseDocument(text);
  if (!document) return Refuse(hresult::kInvalidJson);
  query.v2 = NumberOf(Field(Field(*document, "SchemaVersion"), "Major")) >= 2;
  const Json& filter = Field(*document, "Filter");
  if (filter.is_null()) return {};
  if (!filter.is_string()) return Refuse(hresult::kInvalidJson);
  auto read = ParseDocument(TextOf(filter));
  if (!read) return Refuse(hresult::kInvalidJson);
  query.filter = std::move(*read);
  return {};
}

bool Matches(const Json& filter, const Json& v1_facts, UnknownFilter unknown) {
  for (auto it = filter.begin(); it != filter.end(); ++it) {
    const auto fact = v1_facts.find(it.key());
    if (fact == v1_facts.end()) {
      if (unknown == UnknownFilter::kMatchesNone) return false;
    } else if (!Equal(it.value(), *fact)) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::hns::emulator
