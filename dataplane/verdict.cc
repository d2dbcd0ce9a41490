// SPDX-License-Identifier: Apache-2.0
#include "dataplane/verdict.h"

#include <array>

namespace weft::dataplane {
namespace {

struct Wording {
  std::string_view name;
  std::string_view sentence;
};

constexpr std::array<Wording, kVerdictCount> kWordings = {{
    {"forward", "the packet was forwarded"},
#define WEFT_DROP(identifier, name, sentence) {name, sentence},
#include "dataplane/drop_reason.def"
#undef WEFT_DROP
}};

}  // namespace

std::string_view Name(Verdict verdict) { return kWordings[static_cast<std::size_t>(verdict)].name; }

std::string_view Sentence(Verdict verdict) {
  return kWordings[static_cast<std::size_t>(verdict)].sentence;
}

}  // namespace weft::dataplane
