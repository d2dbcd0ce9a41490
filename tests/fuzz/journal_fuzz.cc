// SPDX-License-Identifier: Apache-2.0
// Any bytes as the journal of --state-dir: refused with a line, or a state that survives being
// written.
#include <cstdint>
#include <string_view>

#include "control/journal/journal.h"
#include "tests/fuzz/input.h"

using weft::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto state = weft::journal::Parse(text);
  if (!state.ok()) {
    Require(!state.status().message().empty(), "a cause");
    return 0;
  }
  Require(!state->scope.boot.empty() && !state->own.node.name.empty(), "what it belongs to");
  for (const weft::lease::Lease& lease : state->leases) {
    Require(!lease.node.name.empty(), "a name");
    for (const auto& half : {lease.v4, lease.v6})
      Require(!half || !half->vtep_mac || !half->vtep_mac->IsGroup(), "the MAC of a node");
  }
  const auto again = weft::journal::Parse(weft::journal::Text(*state, [&](auto visit) {
    for (const weft::lease::Lease& lease : state->leases) visit(lease);
  }));
  Require(again.ok() && *again == *state, "it is read back");
  return 0;
}
