// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Node in protobuf, and as a Status: refused or read, and what is read keeps the
// promises that the JSON codec keeps.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "control/kube/codec/api_status.h"
#include "control/kube/codec/node_codec_protobuf.h"
#include "control/kube/codec/node_reader.h"
#include "tests/fuzz/lease_promises.h"

namespace {

using weft::kube::ApiStatus;
using weft::kube::NodeFields;
using weft::kube::NodeReader;

void CheckLine(std::string_view line) {
  weft::fuzz::Require(line.size() <= 300);
  if (!line.empty()) weft::fuzz::CheckMessage(line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const NodeReader reader({}, "us");

  NodeFields fields;
  if (const auto status = DecodeProtobufNode(bytes, reader.keys(), fields); status.ok()) {
    weft::kube::DecodedNode node;
    reader.Read(fields, node);
    weft::fuzz::CheckNode(node);
  } else {
    weft::fuzz::CheckMessage(status.message());
  }

  for (const char* type : {"application/vnd.kubernetes.protobuf", "application/json", ""}) {
    const ApiStatus status = weft::kube::DecodeApiStatus(500, type, bytes);
    CheckLine(status.message);
    CheckLine(status.reason);
    weft::fuzz::Require(status.code > 0 && status.code < 1000);
  }
  return 0;
}
