// SPDX-License-Identifier: Apache-2.0
#include "control/folded_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

using nlohmann::json;

constexpr std::string_view kBom = "\xef\xbb\xbf";
constexpr std::size_t kMostLevels = 10'000;  // Go's

// The value of "\uXXXX" at the beginning of `text`; zero: it is none, or U+0000.
std::uint32_t Escaped(std::string_view text) {
  std::uint32_t value = 0;
  return absl::StartsWith(text, "\\u") && text.size() >= 6 &&
                 absl::SimpleHexAtoi(text.substr(2, 4), &value)
             ? value
             : 0;
}

// `text` with U+FFFD where Go reads that.
std::string Repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::uint32_t high = Escaped(text);
    std::size_t size = text[0] == '\\' && text.size() > 1 ? 2 : CharacterSize(text);
    bool replaced = size == 0;
    if (high >= 0xd800 && high <= 0xdfff) {
      const std::uint32_t low = high < 0xdc00 ? Escaped(text.substr(6)) : 0;
      replaced = low < 0xdc00 || low > 0xdfff;
      size = replaced ? 6 : 12;
    }
    out += replaced ? std::string_view("\xef\xbf\xbd") : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

// Builds the document while it is parsed, because only the parser sees all keys in order.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(bool folds, std::size_t most_levels) : folds_(folds), most_levels_(most_levels) {}

  json root;
  bool failed = false;       // it is no JSON
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
    key_ = folds_ ? absl::AsciiStrToLower(value) : std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception&) override {
    failed = true;
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
    if (open_.size() == most_levels_) return false;
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const bool folds_;
  const std::size_t most_levels_;
  std::vector<json*> open_;  // into root; a container does not move while it is open
  std::string key_;
};

absl::StatusOr<json> Parse(std::string_view given, Reader reader) {
  if (absl::StartsWith(given, "\xff\xfe") || absl::StartsWith(given, "\xfe\xff")) {
    return absl::InvalidArgumentError(
        "it is UTF-16, as PowerShell 5 writes with \">\": write UTF-8");
  }
  if (absl::StripAsciiWhitespace(given).empty()) return absl::InvalidArgumentError("it is empty");

  const std::string text = Repaired(given);
  if (json::sax_parse(text.begin(), text.end(), &reader)) return std::move(reader.root);
  if (!reader.failed) return absl::InvalidArgumentError("it has more than 10,000 levels");
  const std::size_t at = reader.error_at == 0 ? 0 : reader.error_at - 1;
  return absl::InvalidArgumentError(
      absl::StrCat(LineAndColumn(text, at), ": not JSON at ", Quoted(reader.error_token, 40)));
}

}  // namespace

absl::StatusOr<json> ParseFolded(std::string_view text) {
  if (absl::StartsWith(text, kBom)) text.remove_prefix(kBom.size());
  return Parse(text, Reader(/*folds=*/true, SIZE_MAX));
}

absl::StatusOr<json> ParseAsGo(std::string_view text) {
  if (absl::StartsWith(text, kBom)) {
    return absl::InvalidArgumentError(
        "it begins with a byte order mark, which Go's reader refuses; write UTF-8 without one");
  }
  return Parse(text, Reader(/*folds=*/false, kMostLevels));
}

}  // namespace weft::control
