// SPDX-License-Identifier: Apache-2.0
// The frames of a protobuf watch, found by their lengths and otherwise not looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::bench {

// Frames are a length of four bytes, big-endian, and so many bytes.
class WatchFrames {
 public:
  // Cut anywhere. True once the mark that ends the first part of a streaming list has come, which
  // is in a small frame; no Node is that small.
  bool Read(std::string_view bytes) {
    while (!bytes.empty() && !marked_) {
      if (head_bytes_ < 4) {
        rest_ = rest_ << 8 | static_cast<std::uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        if (++head_bytes_ == 4) {
          ++frames_;
          small_ = rest_ <= kSmall;
          text_.clear();
        }
      } else {
        const std::size_t taken = std::min<std::size_t>(rest_, bytes.size());
        if (small_) text_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        rest_ -= static_cast<std::uint32_t>(taken);
      }
      if (head_bytes_ == 4 && rest_ == 0) {
        head_bytes_ = 0;
        marked_ = small_ && text_.find("k8s.io/initial-events-end") != std::string::npos;
      }
    }
    return marked_;
  }
  // The last one included.
  std::size_t frames() const { return frames_; }

 private:
  static constexpr std::uint32_t kSmall = 512;

  std::uint32_t rest_ = 0;  // of this frame; while its head is read, as much of the length
  unsigned head_bytes_ = 0;
  bool small_ = false;
  bool marked_ = false;
  std::string text_;
  std::size_t frames_ = 0;
};

}  // namespace weft::bench
