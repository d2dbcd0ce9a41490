// SPDX-License-Identifier: Apache-2.0
#include "control/lease/quoted.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace weft::lease {

std::string Quoted(std::string_view text, std::size_t limit) {
  std::string quoted = absl::StrCat("\"", absl::CHexEscape(text.substr(0, limit)), "\"");
  if (text.size() > limit) absl::StrAppend(&quoted, "... (", text.size(), " octets)");
  return quoted;
}

}  // namespace weft::lease
