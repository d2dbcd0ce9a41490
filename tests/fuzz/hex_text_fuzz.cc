// SPDX-License-Identifier: Apache-2.0
// Any text as a frame in hexadecimal: a parsed frame round-trips through a plain and a dumped form,
// and its first layer can be guessed and described.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "control/cli/explain/frame.h"
#include "control/cli/explain/hex_text.h"

namespace {

std::string Plain(const std::vector<std::byte>& frame) {
  std::string text;
  for (const std::byte byte : frame) {
    char pair[4];
    std::snprintf(pair, sizeof pair, "%02x ", std::to_integer<unsigned>(byte));
    text += pair;
  }
  return text;
}

std::string Dumped(const std::vector<std::byte>& frame) {
  std::string text;
  for (std::size_t at = 0; at < frame.size(); at += 16) {
    char offset[32];
    std::snprintf(offset, sizeof offset, "%08zx: ", at);
    const std::size_t end = std::min(at + 16, frame.size());
    text += offset +
            Plain({frame.begin() + static_cast<std::ptrdiff_t>(at),
                   frame.begin() + static_cast<std::ptrdiff_t>(end)}) +
            "  text |\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto frames = weft::cli::ParseHexText({reinterpret_cast<const char*>(data), size});
  if (!frames.ok()) return 0;
  for (const auto& frame : *frames) {
    if (weft::Describe(frame, weft::cli::GuessFrameStart(frame)).empty()) std::abort();
    if (frame.empty()) continue;
    for (const std::string& text : {Plain(frame), Dumped(frame)}) {
      const auto back = weft::cli::ParseHexText(text);
      if (!back.ok() || back->size() != 1 || back->front() != frame) std::abort();
    }
  }
  return 0;
}
