// SPDX-License-Identifier: Apache-2.0
// Lists and watches of Nodes in protobuf.
#include "tests/fuzz/answer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::FuzzAnswer(weft::kube::Encoding::kProtobuf, data, size);
  return 0;
}
