// SPDX-License-Identifier: Apache-2.0
// A file kept open for reading, as by another program. On Windows it shares the file for reading,
// writing and deletion, so that it blocks no other program.
#pragma once

#include <cstdint>
#include <string>

namespace weft::testing {

class OpenFile {
 public:
  // Not open where there is no such file, or where another program keeps readers out.
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const;
  // From its beginning to its end, as they are now.
  std::string Text();

 private:
  std::intptr_t file_;  // the system's handle, -1: none
};

}  // namespace weft::testing
