// SPDX-License-Identifier: Apache-2.0
// Any octets as a capture file: reading ends, stays inside the file, and repeats its last answer.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "dataplane/ports/capture_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::dataplane::CaptureReader;
  const auto* octets = reinterpret_cast<const std::byte*>(data);
  auto reader = CaptureReader::FromOctets("fuzz", std::vector<std::byte>(octets, octets + size));
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
    for (const std::byte octet : (*record)->octets) sum += std::to_integer<unsigned>(octet);
    total += (*record)->octets.size();
    if (total > size) std::abort();  // records do not overlap
  }
  return sum == 1 && size == 0;  // never; keeps the reads
}
