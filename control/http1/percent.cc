// SPDX-License-Identifier: Apache-2.0
#include "control/http1/percent.h"

#include <charconv>

#include "absl/strings/ascii.h"

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
      const char* const end = digits.data() + digits.size();
      unsigned char byte = 0;
      if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end ||
          byte == 0) {
        return std::nullopt;
      }
      out += static_cast<char>(byte);
      i += 2;
    }
  }
  return out;
}

}  // namespace weft::http1
