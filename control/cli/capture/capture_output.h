// SPDX-License-Identifier: Apache-2.0
// Where `flannelctl capture` writes: standard output, a file, or a ring of files.
#pragma once

#include <cstdint>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weft::cli {

struct CaptureFiles {
  std::string path;             // "-": standard output
  std::uint64_t file_size = 0;  // bytes after which the next file begins; 0: one file
  std::uint32_t files = 10;     // then the oldest is overwritten
};

// A file that exists is overwritten. Errors name the file, and stay: a full disk ends a capture.
class CaptureOutput {
 public:
  // `preamble` begins each file: what a reader needs before the first packet.
  CaptureOutput(const CaptureFiles& files, std::string preamble, std::ostream& standard_output);

  absl::Status Open();
  absl::Status Write(std::string_view packet);
  // Writes what is buffered.
  absl::Status Flush();

  // The file that is written now: "trace.pcapng", of a ring "trace-3.pcapng".
  std::string path() const;
  std::uint64_t written() const { return written_; }  // bytes, of all files

 private:
  absl::Status Begin();
  absl::Status Put(std::string_view bytes);

  const CaptureFiles files_;
  const std::string preamble_;
  std::ostream& standard_output_;
  std::ofstream file_;
  std::uint32_t number_ = 1;
  std::uint64_t in_file_ = 0, written_ = 0;
};

}  // namespace weft::cli
