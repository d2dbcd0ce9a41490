// SPDX-License-Identifier: Apache-2.0
// Where `flannelctl explain` gets its frame: words, standard input, or a capture file.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::cli {

struct FrameOptions {
  std::vector<std::string> hex;  // "-" alone: standard input
  std::string capture;           // pcap or pcapng file; empty: `hex`
  std::size_t frame = 1;         // which of several, from 1 on
};

// Errors name the file or the word; for a missing frame also how many frames exist.
absl::StatusOr<std::vector<std::byte>> ReadFrame(const FrameOptions& options, std::istream& in);

}  // namespace weft::cli
