// SPDX-License-Identifier: Apache-2.0
// The beginning of an object whose end has not arrived yet.
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

// Grows with the bytes that arrived, never with an announced length.
class HeldBytes {
 public:
  // Memory that is kept from object to object; more is released.
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
  // These bytes of the next object are never read: they need not be copied.
  void LeaveOut(ByteRange unread) { unread_ = unread; }
  bool leaves_out() const { return unread_.from < unread_.to; }
  void Clear() {
    size_ = 0;
    unread_ = {};
    if (held_.capacity() <= kKept) return;
    held_.clear();
    held_.shrink_to_fit();
  }

  // Takes the missing bytes of an object of `size` bytes from the front of `bytes`. Returns the
  // object once it is complete, without a copy if nothing was held; call Clear() before the next.
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
  // Copies the object's range [from, to), as far as `bytes`, the next ones, contain it.
  void Copy(std::string_view bytes, std::size_t from, std::size_t to) {
    from = std::max(from, size_);
    to = std::min(to, size_ + bytes.size());
    if (from < to) bytes.copy(held_.data() + from, to - from, from - size_);
  }

  std::string held_;      // may be larger than `size_`: it is not cleared between objects
  std::size_t size_ = 0;  // bytes held
  ByteRange unread_;
};

}  // namespace weft::kube
