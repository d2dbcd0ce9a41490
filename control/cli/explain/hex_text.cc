// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/hex_text.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weft::cli {
namespace {

using Frame = std::vector<std::byte>;

constexpr std::string_view kBlanks = " \t\r";

bool IsHex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
}

// `digits` are hexadecimal and even in number.
void Append(std::string_view digits, Frame& frame) {
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    int byte = 0;
    static_cast<void>(absl::SimpleHexAtoi(digits.substr(i, 2), &byte));
    frame.push_back(static_cast<std::byte>(byte));
  }
}

// A dump's line.
struct DumpLine {
  std::size_t offset = 0;
  std::size_t text_gap = 3;                   // blanks before the text column; groups have fewer
  std::size_t most = std::string_view::npos;  // bytes
  std::string_view rest;                      // without leading blanks
};

std::optional<DumpLine> ParseDumpLine(std::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  std::string_view text = line;
  absl::ConsumePrefix(&text, "0x");
  const std::size_t digits = std::min(text.find_first_of(": \t"), text.size());
  if (!IsHex(text.substr(0, digits))) return std::nullopt;
  DumpLine dump;
  static_cast<void>(absl::SimpleHexAtoi(text.substr(0, digits), &dump.offset));
  text.remove_prefix(digits);
  const bool colon = absl::ConsumePrefix(&text, ":");
  dump.rest = absl::StripLeadingAsciiWhitespace(text);
  const std::size_t blanks = text.size() - dump.rest.size();
  // PowerShell 7's Format-Hex: one blank before the bytes, and before the text of a whole line.
  const bool wide = digits == 16 && !colon && dump.rest.size() > 2 && dump.rest[2] == ' ';
  if (wide) dump.most = 16;
  if (wide || colon) dump.text_gap = 2;
  if (blanks < (wide || colon ? 1u : 2u)) return std::nullopt;
  return wide || (digits >= 4 && digits <= 8) ? std::optional(dump) : std::nullopt;
}

// The bytes of a dump's line: groups up to the text column.
void ReadDumpLine(const DumpLine& line, Frame& frame) {
  std::string_view rest = line.rest.substr(0, line.rest.find('|'));
  const std::size_t end = line.most == rest.npos ? line.most : frame.size() + line.most;
  while (!rest.empty() && frame.size() < end) {
    const std::size_t size = std::min(rest.find_first_of(kBlanks), rest.size());
    const std::string_view group = rest.substr(0, size);
    if (!IsHex(group) || group.size() % 2 != 0) return;
    Append(group, frame);
    rest.remove_prefix(size);
    const std::size_t gap = std::min(rest.find_first_not_of(kBlanks), rest.size());
    if (gap >= line.text_gap) return;
    rest.remove_prefix(gap);
  }
}

// The offsets are checked against what was read: a text column that was read as bytes, or a line
// that got lost in a paste, is noticed.
absl::StatusOr<std::vector<Frame>> ReadDump(const std::vector<std::string_view>& lines) {
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (absl::StripAsciiWhitespace(lines[i]) == "*") {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", i + 1,
                       " of the dump, \"*\", repeats the line before it;"
                       " dump them all: hexdump -v"));
    }
    const std::optional<DumpLine> line = ParseDumpLine(lines[i]);
    if (!line) continue;
    if (line->offset == 0) frames.emplace_back();
    if (frames.empty() || line->offset != frames.back().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", i + 1, " of the dump begins at offset ", line->offset, ", but ",
                       frames.empty() ? 0 : frames.back().size(), " bytes precede it"));
    }
    ReadDumpLine(*line, frames.back());
  }
  return frames;
}

absl::StatusOr<std::vector<Frame>> ReadPlain(const std::vector<std::string_view>& lines) {
  Frame frame;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line =
        absl::StrReplaceAll(lines[i].substr(0, lines[i].find('#')), {{"\\x", " "}});
    for (std::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(" \t\r:-,;{}[]\"'"), absl::SkipEmpty())) {
      if (absl::StartsWithIgnoreCase(word, "0x")) word.remove_prefix(2);
      if (IsHex(word) && word.size() % 2 == 0) {
        Append(word, frame);
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", i + 1, ": \"", word, "\" is not ",
          IsHex(word) ? "a whole number of bytes: it has an odd number of digits" : "hexadecimal"));
    }
  }
  return std::vector<Frame>{std::move(frame)};
}

}  // namespace

absl::StatusOr<std::vector<Frame>> ParseHexText(std::string_view text) {
  const std::vector<std::string_view> lines = absl::StrSplit(text, '\n');
  // One line at offset 0 is enough: no plain form begins with four to eight digits and a gap.
  const bool is_dump = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    const std::optional<DumpLine> dump = ParseDumpLine(line);
    return dump && dump->offset == 0;
  });
  absl::StatusOr<std::vector<Frame>> frames = is_dump ? ReadDump(lines) : ReadPlain(lines);
  if (frames.ok() && frames->front().empty()) {
    return absl::InvalidArgumentError("there are no bytes; give a frame in hexadecimal");
  }
  return frames;
}

}  // namespace weft::cli
