// SPDX-License-Identifier: Apache-2.0
#include "control/kube/backend_data.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/kube/json_value.h"
#include "control/lease/quoted.h"

namespace weft::kube {
namespace {

absl::StatusOr<std::optional<std::uint32_t>> ReadVni(simdjson::dom::element value) {
  if (value.is_null()) return std::nullopt;
  std::uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat("VNI is ", Show(value), ", not a whole number"));
  }
  const auto vni = Vni::Of(number);
  if (!vni) {
    return absl::InvalidArgumentError(
        absl::StrCat("VNI is ", number, ", more than 24 bits (", Vni::kMax, ")"));
  }
  return vni->value();
}

absl::StatusOr<std::optional<MacAddress>> ReadMac(simdjson::dom::element value) {
  if (value.is_null()) return std::nullopt;
  const auto text = AsString(value, "VtepMAC");
  if (!text.ok()) return text.status();
  if (text->empty()) return std::nullopt;
  const auto mac = MacAddress::Parse(*text);
  if (!mac) {
    return absl::InvalidArgumentError(
        absl::StrCat("VtepMAC ", lease::Quoted(*text), " is not a MAC of six octets"));
  }
  if (mac->IsZero() || mac->IsGroup()) {
    return absl::InvalidArgumentError(
        absl::StrCat("VtepMAC ", lease::Quoted(*text), " is not a unicast address"));
  }
  return *mac;
}

}  // namespace

absl::StatusOr<BackendData> DecodeBackendData(std::string_view text) {
  BackendData data;
  if (text.empty()) return data;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(lease::Quoted(text), " is not JSON: ", simdjson::error_message(error)));
  }
  if (root.is_null()) return data;
  const auto members = AsObject(root, "the text");
  if (!members.ok()) return members.status();
  for (const auto [key, value] : *members) {
    if (absl::EqualsIgnoreCase(key, "VNI")) {
      const auto vni = ReadVni(value);
      if (!vni.ok()) return vni.status();
      data.vni = *vni;
    } else if (absl::EqualsIgnoreCase(key, "VtepMAC")) {
      const auto mac = ReadMac(value);
      if (!mac.ok()) return mac.status();
      data.vtep_mac = *mac;
    }
  }
  return data;
}

std::string EncodeBackendData(Vni vni, const MacAddress& vtep_mac) {
  return absl::StrCat(R"({"VNI":)", vni.value(), R"(,"VtepMAC":")", vtep_mac.ToString(), R"("})");
}

}  // namespace weft::kube
