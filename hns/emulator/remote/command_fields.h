// SPDX-License-Identifier: Apache-2.0
// The fields of a command to the emulator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hns/emulator/faults.h"
#include "nlohmann/json.hpp"

namespace weft::hns::emulator {

// Reads the fields of one command; the first that is wrong is kept, and so is one that nobody read.
class CommandFields {
 public:
  explicit CommandFields(const nlohmann::json& json) : json_(json) { unread_ = json; }

  std::string Text(const char* key, std::string fallback = "") {
    const nlohmann::json* const value = Take(key);
    if (value == nullptr) return fallback;
    if (!value->is_string()) Refuse(key, "a text");
    return value->is_string() ? value->get<std::string>() : fallback;
  }
  bool Flag(const char* key, bool fallback) {
    const nlohmann::json* const value = Take(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Refuse(key, "true or false");
    return value->is_boolean() ? value->get<bool>() : fallback;
  }
  // A number, or a text of hexadecimal digits, or "always".
  std::uint64_t Number(const char* key, std::uint64_t fallback) {
    const nlohmann::json* const value = Take(key);
    if (value == nullptr) return fallback;
    std::uint64_t number = fallback;
    if (value->is_number_unsigned()) return value->get<std::uint64_t>();
    if (*value == "always") return Fault::kAlways;
    if (!value->is_string() || !absl::SimpleHexAtoi(value->get<std::string>(), &number)) {
      Refuse(key, "a number");
    }
    return number;
  }
  nlohmann::json Object(const char* key) {
    const nlohmann::json* const value = Take(key);
    return value == nullptr ? nlohmann::json::object() : *value;
  }

  // Text that must be there.
  std::string Named(const char* key) {
    std::string text = Text(key);
    if (text.empty()) Refuse(key, "given");
    return text;
  }
  // Where what was read makes no sense.
  void Refuse(const char* key, std::string_view wanted) {
    if (status_.ok())
      status_ = absl::InvalidArgumentError(absl::StrCat("\"", key, "\" must be ", wanted));
  }

  absl::Status status() const {
    if (!status_.ok() || unread_.empty()) return status_;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no field \"", unread_.begin().key(), "\" in it"));
  }

 private:
  const nlohmann::json* Take(const char* key) {
    unread_.erase(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  const nlohmann::json& json_;
  nlohmann::json unread_;
  absl::Status status_;
};

}  // namespace weft::hns::emulator
