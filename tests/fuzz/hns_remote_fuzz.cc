// SPDX-License-Identifier: Apache-2.0
// Any bytes as a document of either direction: reading ends, and what was read, written and read
// again is the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/emulator/remote/remote_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::hns;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = emulator::ParseRequest(text);
  if (request.ok()) {
    const auto again = emulator::ParseRequest(emulator::Encode(*request));
    if (!again.ok() || emulator::Encode(*again) != emulator::Encode(*request)) std::abort();
  }
  const auto answer = emulator::ParseAnswer(text);
  if (!answer.ok()) return 0;
  if (const Reply* const reply = std::get_if<Reply>(&*answer)) {
    const auto again = emulator::ParseAnswer(emulator::Encode(*reply));
    if (!again.ok() || std::get<Reply>(*again).text != reply->text) std::abort();
  } else {
    const auto again = emulator::ParseAnswer(emulator::Encode(std::get<emulator::Notice>(*answer)));
    if (!again.ok() || !std::holds_alternative<emulator::Notice>(*again)) std::abort();
  }
  return 0;
}
