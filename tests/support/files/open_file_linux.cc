// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/files/open_file.h"

namespace weft::testing {

OpenFile::OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

OpenFile::~OpenFile() {
  if (is_open()) ::close(static_cast<int>(file_));
}

bool OpenFile::is_open() const { return file_ >= 0; }

std::string OpenFile::Text() {
  std::string text;
  char piece[4096];
  for (ssize_t size = 1; size > 0;) {
    size = ::pread(static_cast<int>(file_), piece, sizeof piece, static_cast<off_t>(text.size()));
    if (size > 0) text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace weft::testing
