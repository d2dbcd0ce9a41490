// SPDX-License-Identifier: Apache-2.0
#include "control/http1/percent.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace weft::http1 {

std::string EscapePercent(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      escaped += c;
    } else {
      escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return escaped;
}

std::optional<std::string> DecodePercent(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const std::string_view digits = text.substr(i + 1, 2);
      if (digits.size() != 2 || !absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) ||
          !absl::ascii_isxdigit(static_cast<unsigned char>(digits[1])) || digits == "00") {
        return std::nullopt;
      }
      out += absl::HexStringToBytes(digits);
      i += 2;
    }
  }
  return out;
}

}  // namespace weft::http1
