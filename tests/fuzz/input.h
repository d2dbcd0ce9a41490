// SPDX-License-Identifier: Apache-2.0
// A fuzz target's input, read from the front, and checks of results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "vxlan/bytes.h"

namespace weft::fuzz {

// Past its end everything is zero, so that a short input is a small one.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  std::uint8_t Byte() {
    if (empty()) return 0;
    --size_;
    return *data_++;
  }
  // At most `size` bytes.
  Bytes Take(std::size_t size) {
    size = std::min(size, size_);
    const Bytes taken(reinterpret_cast<const std::byte*>(data_), size);
    data_ += size;
    size_ -= size;
    return taken;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace weft::fuzz
