// SPDX-License-Identifier: Apache-2.0
#include "vxlan/text/printable.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// C0, DEL, C1 (some start a terminal's escape sequence), and line separators and bidirectional
// controls: U+2028..202E, U+2066..2069.
bool IsControl(std::string_view character) {
  if (character.size() == 1) return absl::ascii_iscntrl(static_cast<unsigned char>(character[0]));
  if (character.size() == 2) return character[0] == '\xc2' && character[1] < '\xa0';
  if (!character.starts_with("\xe2") || character.size() != 3) return false;
  if (character[1] == '\x80') return character[2] >= '\xa8' && character[2] <= '\xae';
  return character[1] == '\x81' && character[2] >= '\xa6' && character[2] <= '\xa9';
}

}  // namespace

std::size_t CharacterSize(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2   ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t at = 1; at < size; ++at)
    if (!IsContinuation(text[at])) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  // Longer than needed, a surrogate, or beyond U+10FFFF.
  const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : size;
}

std::string Quoted(std::string_view text, std::size_t limit) {
  std::string quoted = absl::StrCat("\"", absl::CHexEscape(text.substr(0, limit)), "\"");
  if (text.size() > limit) absl::StrAppend(&quoted, "... (", text.size(), " bytes)");
  return quoted;
}

std::string OneLine(std::string_view text, std::size_t limit) {
  text = absl::StripAsciiWhitespace(text);
  std::string line;
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    const std::string_view shown = size == 0 ? "?" : IsControl(character) ? " " : character;
    if (line.size() + shown.size() > limit) return line + "...";
    line += shown;
    text.remove_prefix(character.size());
  }
  return line;
}

std::string LineAndColumn(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is zero
  return absl::StrCat("line ", line, ", column ", before.size() - line_begin + 1);
}

}  // namespace weft
