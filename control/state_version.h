// SPDX-License-Identifier: Apache-2.0
// The version of the files in --state-dir. A later program may have written one of them: it stays
// byte for byte, this program works as without it and names it in `status`, and `flannelctl reset`,
// which would delete what it does not know, refuses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::control {

// In the first 64 KiB of each file, as "version" of its first object. A file without one is of
// version 1.
inline constexpr std::int64_t kStateVersion = 1;

// `head`: an object of nlohmann's, from the file `path`; of a later version all but "version" may
// differ, so this comes before anything else is read. Unimplemented: it is of a later version.
absl::Status CheckStateVersion(std::string_view path, const auto& head) {
  const auto version = head.find("version");
  if (version == head.end() || (version->is_number() && version->template get<double>() <=
                                                            static_cast<double>(kStateVersion)))
    return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      path, " has version ", version->dump(), ", and this weft knows only ", kStateVersion,
      ": a later weft wrote it; it is left as it is and not used; run that version "
      "again, or move the file away"));
}

// The same of the file `path` (UTF-8), which may be missing, from its head alone: what follows may
// have any form. Unavailable: it cannot be read, and may be of any version.
absl::Status CheckStateFile(const std::string& path);

}  // namespace weft::control
