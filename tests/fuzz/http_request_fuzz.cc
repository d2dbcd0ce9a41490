// SPDX-License-Identifier: Apache-2.0
// Any bytes as an HTTP request or response: reading ends, and does not depend on how they were
// cut.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/admin/http_codec.h"

namespace {

using weft::admin::Reading;
using weft::admin::RequestReader;
using weft::admin::ResponseReader;

constexpr std::size_t kLimit = 1024;

// Reads `text` in pieces of `piece` bytes.
template <class Reader>
Reading TakeIn(Reader& reader, std::string_view text, std::size_t piece) {
  Reading reading = Reading::kMore;
  while (!text.empty() && reading == Reading::kMore) {
    reading = reader.Take(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  RequestReader whole(kLimit, /*post=*/true);
  RequestReader single(kLimit, /*post=*/true);
  const Reading reading = TakeIn(whole, text, text.size());
  const Reading in_pieces = TakeIn(single, text, 1);
  if (reading == Reading::kDone) {
    if (in_pieces != Reading::kDone) std::abort();
    if (whole.request().path != single.request().path) std::abort();
    if (whole.request().query != single.request().query) std::abort();
    if (whole.request().path.front() != '/') std::abort();
    if (whole.request().path.find('\0') != std::string::npos) std::abort();
  }
  if (reading == Reading::kRefused) {
    const int status = whole.refusal().status;
    if (status < 400 || status > 505 || in_pieces == Reading::kDone) std::abort();
  }
  ResponseReader response;
  if (TakeIn(response, text, 7) == Reading::kDone) response.TakeResponse();
  return 0;
}
