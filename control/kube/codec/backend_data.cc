// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/backend_data.h"

#include <charconv>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/kube/codec/json_value.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

absl::StatusOr<std::optional<std::uint32_t>> ReadVni(simdjson::dom::element value) {
  if (value.is_null()) return std::nullopt;
  std::uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS)
    return absl::InvalidArgumentError(absl::StrCat("VNI is ", Show(value), ", not a whole number"));
  const auto vni = Vni::From(number);
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
        absl::StrCat("VtepMAC ", Quoted(*text), " is not a MAC of six bytes"));
  }
  if (mac->IsZero() || mac->IsGroup()) {
    return absl::InvalidArgumentError(
        absl::StrCat("VtepMAC ", Quoted(*text), " is not a unicast address"));
  }
  return *mac;
}

constexpr std::string_view kBeforeVni = R"({"VNI":)";
constexpr std::string_view kBeforeMac = R"(,"VtepMAC":")";
constexpr std::string_view kBehindMac = R"("})";
constexpr std::size_t kMacSize = 17;

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Reads the text that every healthy node has, without a JSON parser. Empty for any other text,
// valid or not.
std::optional<BackendData> ReadUsual(std::string_view text) {
  if (!Take(text, kBeforeVni) || text.starts_with('0')) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto vni = Vni::From(number);
  if (error != std::errc() || !vni) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!Take(text, kBeforeMac) || text.size() != kMacSize + kBehindMac.size()) return std::nullopt;
  const auto mac = MacAddress::Parse(text.substr(0, kMacSize));
  if (!mac || mac->IsZero() || mac->IsGroup() || !text.ends_with(kBehindMac)) return std::nullopt;
  return BackendData{vni->value(), *mac};
}

}  // namespace

absl::StatusOr<BackendData> DecodeBackendData(std::string_view text) {
  BackendData data;
  if (text.empty()) return data;
  if (const auto usual = ReadUsual(text)) return *usual;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not JSON: ", simdjson::error_message(error)));
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
