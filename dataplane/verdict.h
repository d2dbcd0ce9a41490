// SPDX-License-Identifier: Apache-2.0
// The decision about a packet: it is forwarded, or dropped for exactly one named reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::dataplane {

enum class Verdict : std::uint8_t {
  kForward,
#define WEFT_DROP(identifier, name, sentence) identifier,
#include "dataplane/drop_reason.def"
#undef WEFT_DROP
  kCount,
};

inline constexpr std::size_t kVerdictCount = static_cast<std::size_t>(Verdict::kCount);

// "forward" or the drop's name, e.g. "no-route".
std::string_view Name(Verdict verdict);
// One sentence for an operator.
std::string_view Sentence(Verdict verdict);

}  // namespace weft::dataplane
