// SPDX-License-Identifier: Apache-2.0
// Any bytes as a call to an emulated host or as its answer: what is read, written and read again
// is the same, or is refused in one sentence.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/emulator/remote/host_call.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::emulator;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto call = ParseHostCall(text); call.ok()) {
    const auto again = ParseHostCall(Encode(*call));
    if (!again.ok() || Encode(*again) != Encode(*call)) std::abort();
  } else if (!call.status().message().starts_with("host document: ")) {
    std::abort();
  }
  if (const auto answer = ParseHostAnswer(text); answer.ok()) {
    const auto again = ParseHostAnswer(Encode(*answer));
    if (!again.ok() || Encode(*again) != Encode(*answer)) std::abort();
  } else if (!answer.status().message().starts_with("host document: ")) {
    std::abort();
  }
  return 0;
}
