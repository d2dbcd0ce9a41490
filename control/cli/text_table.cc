// SPDX-License-Identifier: Apache-2.0
#include "control/cli/text_table.h"

#include <algorithm>
#include <string_view>

namespace weft::cli {
namespace {

constexpr std::size_t kGap = 3;

std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

// Names come from the cluster: they must neither break columns nor send escapes to a terminal.
std::string Clean(const std::string& cell, bool last) {
  if (cell.empty()) return "-";
  std::string clean = cell;
  for (char& c : clean) {
    const bool breaks_column = c == ' ' || c == '\t' || c == '\n';
    if (!last && breaks_column) {
      c = '_';
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = '?';
    }
  }
  return clean;
}

}  // namespace

std::string CellOf(const std::string& text) { return Clean(text, /*last=*/false); }

std::string TextTable::TakeText(bool with_headers) {
  widths_.resize(headers_.size());
  if (with_headers) rows_.insert(rows_.begin(), headers_);
  for (auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = Clean(row[i], i + 1 == row.size());
      widths_[i] = std::max(widths_[i], Width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths_[i] + kGap - Width(row[i]), ' ');
    }
    text += '\n';
  }
  rows_.clear();
  return text;
}

}  // namespace weft::cli
