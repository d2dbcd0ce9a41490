// SPDX-License-Identifier: Apache-2.0
// Any bytes as an API server's answer: any cut gives the same result. The first byte is the size of
// a piece.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "control/http1/answer_parser.h"

namespace {

using weft::http1::AnswerParser;

void Require(bool promise) {
  if (!promise) std::abort();
}

struct Recorder final : weft::http1::AnswerSink {
  bool OnHead(const weft::http1::HttpHead& head) override {
    Require(status == 0 && head.status >= 200);
    status = head.status;
    content_type = head.content_type;
    return true;
  }
  bool OnBody(std::string_view bytes) override {
    Require(status != 0 && !bytes.empty());
    body += bytes;
    return true;
  }
  int status = 0;
  std::string content_type, body;
  bool failed = false;
};

Recorder Read(std::string_view text, std::size_t piece) {
  Recorder recorder;
  AnswerParser parser(AnswerParser::To::kRequest, recorder);
  std::string held;
  while (!text.empty() && !parser.done()) {
    held += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    const auto taken = parser.Take(held);
    if (!taken.ok()) {
      recorder.failed = true;
      return recorder;
    }
    Require(*taken <= held.size());
    held.erase(0, *taken);
    Require(held.size() <= AnswerParser::kHeadLimit);
  }
  recorder.failed = !parser.End().ok();
  return recorder;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Recorder whole = Read(text, std::max<std::size_t>(text.size(), 1));
  const Recorder cut = Read(text, std::max<std::size_t>(data[0], 1));
  Require(whole.failed == cut.failed && whole.status == cut.status);
  Require(whole.body == cut.body && whole.content_type == cut.content_type);
  return 0;
}
