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

// A member is absent if it was absent, null or (MAC) empty: upstream on Windows publishes an empty
// MAC first, on Linux before v0.14.0 no VNI.
struct BackendData {
  std::optional<std::uint32_t> vni;    // at most 24 bits
  std::optional<MacAddress> vtep_mac;  // unicast, not zero
  friend bool operator==(const BackendData&, const BackendData&) = default;
};

// Go's rules: keys match without case, unknown ones are ignored, the last of duplicates counts,
// "null" and "" have no members. Refuses, naming member and value, a VNI above 24 bits and a MAC
// that no frame can be sent to.
absl::StatusOr<BackendData> DecodeBackendData(std::string_view text);

// Byte for byte as upstream writes it: peers compare the text, and Linux flannel finds its own MAC
// in it by `:"`.
std::string EncodeBackendData(Vni vni, const MacAddress& vtep_mac);

}  // namespace weft::kube
