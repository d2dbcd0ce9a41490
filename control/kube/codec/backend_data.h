// SPDX-License-Identifier: Apache-2.0
// The text of the vxlan backend-data annotations: {"VNI":4096,"VtepMAC":"00:15:5d:8c:2f:93"}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "vxlan/mac_address.h"
#include "vxlan/vni.h"

namespace weft::kube {

// Absent members were absent, null or (MAC) empty: upstream on Windows publishes an empty MAC
// first, Linux before v0.14.0 no VNI.
struct BackendData {
  std::optional<std::uint32_t> vni;    // at most 24 bits
  std::optional<MacAddress> vtep_mac;  // unicast, not zero
  friend bool operator==(const BackendData&, const BackendData&) = default;
};

// Keys match without case, unknown ones are ignored, of duplicates the last wins, "null" and ""
// hold nothing: Go's rules. Refuses, naming member and value, a VNI above 24 bits and a MAC that no
// frame can be sent to.
absl::StatusOr<BackendData> DecodeBackendData(std::string_view text);

// Byte for byte as upstream writes it: peers compare the text, and Linux flannel cuts its own MAC
// out of it at `:"`.
std::string EncodeBackendData(Vni vni, const MacAddress& vtep_mac);

}  // namespace weft::kube
