// SPDX-License-Identifier: Apache-2.0
// An emulated host's document: what is read, written and read again is the same, or is refused in
// one sentence.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "control/emulator/host/host_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state =
      weft::host::ParseHostState(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!state.ok()) {
    if (!state.status().message().starts_with("host document: ")) std::abort();
    return 0;
  }
  const std::string text = weft::host::HostStateText(*state);
  const auto again = weft::host::ParseHostState(text);
  if (!again.ok() || weft::host::HostStateText(*again) != text) std::abort();
  return 0;
}
