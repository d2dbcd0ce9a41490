// SPDX-License-Identifier: Apache-2.0
// The beginning of an object whose end has not come yet.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// Grows with what has come, never with what was announced.
class HeldOctets {
 public:
  // Room that is kept from object to object; more is given back.
  static constexpr std::size_t kKept = std::size_t{64} << 10;

  std::size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  std::size_t room() const { return held_.capacity(); }
  std::string_view view() const { return held_; }
  void Append(std::string_view octets) { held_.append(octets); }
  void Clear() {
    held_.clear();
    if (held_.capacity() > kKept) held_.shrink_to_fit();
  }

  // Takes from the front of `octets` what is missing of an object of `size` octets. Once it is
  // whole it is returned, in place where nothing was held; Clear() before the next.
  std::optional<std::string_view> Take(std::string_view& octets, std::size_t size) {
    const std::size_t missing = size - held_.size();
    const std::string_view part = octets.substr(0, missing);
    octets.remove_prefix(part.size());
    if (held_.empty() && part.size() == missing) return part;
    held_.append(part);
    if (part.size() < missing) return std::nullopt;
    return held_;
  }

 private:
  std::string held_;
};

}  // namespace weft::kube
