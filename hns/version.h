// SPDX-License-Identifier: Apache-2.0
// HNS's version and the features that follow from it. Not from the version of Windows, whose
// updates raise HNS's version.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::hns {

struct Version {
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
  std::string ToString() const;  // "13.3"
};

// Ranges: hcn/hcnglobals.go of hcsshim v0.14.1.
bool SupportsRemoteSubnet(Version version);  // and v2 networks, HostRoute
bool SupportsVxlanPort(Version version);
bool SupportsDsr(Version version);  // direct server return

// HNSCall's answer to GET /globals/version.
absl::StatusOr<Version> ParseVersion(std::string_view response);

}  // namespace weft::hns
