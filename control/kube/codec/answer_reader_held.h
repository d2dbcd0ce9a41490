// SPDX-License-Identifier: Apache-2.0
// The beginning of an object whose end has not come yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// Bytes [from, to) of an object.
struct ByteRange {
  std::size_t from = 0, to = 0;
};

// Grows with what has come, never with what was announced.
class HeldBytes {
 public:
  // Room that is kept from object to object; more is given back.
  static constexpr std::size_t kKept = std::size_t{64} << 10;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t room() const { return held_.capacity(); }
  std::string_view view() const { return std::string_view(held_).substr(0, size_); }
  void Append(std::string_view bytes) {
    if (held_.size() < size_ + bytes.size()) held_.resize(size_ + bytes.size());
    Copy(bytes, 0, unread_.from);
    Copy(bytes, unread_.to, size_ + bytes.size());
    size_ += bytes.size();
  }
  // Of the object that comes: nobody looks at these, they may be anything.
  void LeaveOut(ByteRange unread) { unread_ = unread; }
  bool leaves_out() const { return unread_.from < unread_.to; }
  void Clear() {
    size_ = 0;
    unread_ = {};
    if (held_.capacity() <= kKept) return;
    held_.clear();
    held_.shrink_to_fit();
  }

  // Takes from the front of `bytes` what is missing of an object of `size` bytes. Once it is
  // whole it is returned, in place where nothing was held; Clear() before the next.
  std::optional<std::string_view> Take(std::string_view& bytes, std::size_t size) {
    const std::size_t missing = size - size_;
    const std::string_view part = bytes.substr(0, missing);
    bytes.remove_prefix(part.size());
    if (empty() && part.size() == missing) return part;
    Append(part);
    if (part.size() < missing) return std::nullopt;
    return view();
  }

 private:
  // What `bytes`, the next ones, have of the object's [from, to).
  void Copy(std::string_view bytes, std::size_t from, std::size_t to) {
    from = std::max(from, size_);
    to = std::min(to, size_ + bytes.size());
    if (from < to) bytes.copy(held_.data() + from, to - from, from - size_);
  }

  std::string held_;      // more than is held: the room is not cleared from object to object
  std::size_t size_ = 0;  // of what is held
  ByteRange unread_;
};

}  // namespace weft::kube
