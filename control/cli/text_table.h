// SPDX-License-Identifier: Apache-2.0
// Columns for people that scripts can cut too: aligned, three blanks between, none at a line's end.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

// A cell's width is counted in UTF-8 characters. An empty cell is written as "-", so that the
// number of columns is always the same; blanks, tabs and line ends inside a cell other than the
// last become "_", control characters "?".
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // All rows added since the last call, and the headers with `with_headers`. Columns only ever get
  // wider from call to call, so that what a watch prints stays aligned.
  std::string TakeText(bool with_headers);

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

// `text` as a cell other than the last shows it.
std::string CellOf(const std::string& text);

}  // namespace weft::cli
