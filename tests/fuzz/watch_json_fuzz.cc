// SPDX-License-Identifier: Apache-2.0
// Lists and watches of Nodes in JSON.
#include "tests/fuzz/answer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::FuzzAnswer(weft::kube::Encoding::kJson, data, size);
  return 0;
}
