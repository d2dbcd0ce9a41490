// SPDX-License-Identifier: Apache-2.0
// Any text as a Node list and as backend-data: refused or read, and what is read keeps
// the codec's promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/kube/backend_data.h"
#include "control/kube/json_error.h"
#include "control/kube/node_codec_json.h"

namespace {

using weft::kube::DecodeBackendData;
using weft::kube::EncodeBackendData;
using weft::kube::NodeJsonCodec;

void Require(bool promise) {
  if (!promise) std::abort();
}

// Messages go to the log: one printable line, bounded.
void CheckMessage(std::string_view message) {
  Require(!message.empty() && message.size() < 1000);
  for (const char c : message) Require(c >= ' ' && c < '\x7f');
}

void CheckHalf(const std::optional<weft::lease::FamilyLease>& half, weft::IpFamily family) {
  if (!half) return;
  Require(half->subnet.family() == family);
  Require(!half->public_ip || half->public_ip->family() == family);
  Require(!half->vni || *half->vni <= weft::Vni::kMax);
  Require(!half->vtep_mac || (!half->vtep_mac->IsGroup() && !half->vtep_mac->IsZero()));
}

void CheckLease(const weft::lease::Lease& lease) {
  Require(!lease.node.name.empty() && (lease.v4 || lease.v6));
  CheckHalf(lease.v4, weft::IpFamily::kV4);
  CheckHalf(lease.v6, weft::IpFamily::kV6);
}

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
    // What simdjson takes is JSON to our scanner too, but for a BOM, which only the codec drops.
    Require(text.starts_with("\xef\xbb\xbf") || !weft::kube::FindJsonError(text));
  } else {
    CheckMessage(nodes.status().message());
  }

  if (const auto data_read = DecodeBackendData(text); !data_read.ok()) {
    CheckMessage(data_read.status().message());
  } else if (data_read->vni && data_read->vtep_mac) {
    const auto again =
        DecodeBackendData(EncodeBackendData(*weft::Vni::Of(*data_read->vni), *data_read->vtep_mac));
    Require(again.ok() && *again == *data_read);
  }
  return 0;
}
