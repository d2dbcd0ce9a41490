// SPDX-License-Identifier: Apache-2.0
// Any text as a Node list and as backend-data: refused or read, and what is read keeps
// the codec's promises.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "control/kube/codec/backend_data.h"
#include "control/kube/codec/node_codec_json.h"
#include "tests/fuzz/lease_promises.h"

namespace {

using weft::fuzz::CheckLease;
using weft::fuzz::CheckMessage;
using weft::fuzz::Require;
using weft::kube::DecodeBackendData;
using weft::kube::EncodeBackendData;
using weft::kube::NodeJsonCodec;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const NodeJsonCodec codec({}, "us");

  if (const auto nodes = codec.DecodeNodeList(text); nodes.ok()) {
    for (const auto& lease : nodes->leases) CheckLease(lease);
    for (const auto& node : nodes->refused) CheckMessage(node.reason);
    if (nodes->own) {
      for (const auto& problem : nodes->own->problems) CheckMessage(problem);
    }
  } else {
    CheckMessage(nodes.status().message());
  }

  if (const auto data_read = DecodeBackendData(text); !data_read.ok()) {
    CheckMessage(data_read.status().message());
  } else if (data_read->vni && data_read->vtep_mac) {
    const auto again = DecodeBackendData(
        EncodeBackendData(*weft::Vni::From(*data_read->vni), *data_read->vtep_mac));
    Require(again.ok() && *again == *data_read);
  }
  return 0;
}
