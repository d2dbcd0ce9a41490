// SPDX-License-Identifier: Apache-2.0
#include "control/folded_json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

using nlohmann::json;

// Builds the document while it is parsed, because only the parser sees all keys in order.
class FoldingReader final : public nlohmann::json_sax<json> {
 public:
  json root;
  std::size_t error_at = 0;  // bytes read when it failed, the failing one included
  std::string error_token;

  bool null() override { return Put(json()); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    key_ = absl::AsciiStrToLower(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception&) override {
    error_at = position;
    error_token = token;
    return false;
  }

 private:
  json* Place(json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& member = parent[key_];
    member = std::move(value);
    return &member;
  }
  bool Put(json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(json value) {
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  std::vector<json*> open_;  // into root; a container does not move while it is open
  std::string key_;
};

}  // namespace

absl::StatusOr<json> ParseFolded(std::string_view text) {
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  if (absl::StartsWith(text, kBom)) text.remove_prefix(kBom.size());
  if (absl::StartsWith(text, "\xff\xfe") || absl::StartsWith(text, "\xfe\xff")) {
    return absl::InvalidArgumentError(
        "it is UTF-16, as PowerShell 5 writes with \">\": write UTF-8");
  }
  if (absl::StripAsciiWhitespace(text).empty()) return absl::InvalidArgumentError("it is empty");

  FoldingReader reader;
  if (json::sax_parse(text.begin(), text.end(), &reader)) return std::move(reader.root);
  const std::size_t at = reader.error_at == 0 ? 0 : reader.error_at - 1;
  return absl::InvalidArgumentError(
      absl::StrCat(LineAndColumn(text, at), ": not JSON at ", Quoted(reader.error_token, 40)));
}

}  // namespace weft::control
