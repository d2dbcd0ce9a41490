// SPDX-License-Identifier: Apache-2.0
// Splits a protobuf watch into frames by their lengths, without decoding them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::bench {

// A frame is a length of four bytes, big-endian, and that many bytes.
class WatchFrames {
 public:
  // `bytes` may be split anywhere. True once the mark at the end of a streaming list's initial
  // events was read; it is in a small frame, and no Node is that small.
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
  // Including the mark's frame.
  std::size_t frames() const { return frames_; }

 private:
  static constexpr std::uint32_t kSmall = 512;

  std::uint32_t rest_ =
      0;  // unread bytes of this frame; while its head is read, the partial length
  unsigned head_bytes_ = 0;
  bool small_ = false;
  bool marked_ = false;
  std::string text_;
  std::size_t frames_ = 0;
};

}  // namespace weft::bench
