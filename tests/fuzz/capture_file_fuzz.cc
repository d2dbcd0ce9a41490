// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture file: reading ends, stays inside the file, and repeats its last answer.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "dataplane/ports/capture_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::dataplane::CaptureReader;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  auto reader = CaptureReader::FromBytes("fuzz", std::vector<std::byte>(bytes, bytes + size));
  if (!reader.ok()) return 0;
  unsigned sum = 0;
  std::size_t total = 0;
  while (true) {
    const auto record = reader->Next();
    if (!record.ok()) {
      if (reader->Next().status() != record.status()) std::abort();
      break;
    }
    if (!*record) break;
    for (const std::byte byte : (*record)->bytes) sum += std::to_integer<unsigned>(byte);
    total += (*record)->bytes.size();
    if (total > size) std::abort();  // records do not overlap
  }
  return sum == 1 && size == 0;  // never; keeps the reads
}
