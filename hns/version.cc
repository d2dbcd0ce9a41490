// SPDX-License-Identifier: Apache-2.0
#include "hns/version.h"

#include "absl/strings/str_cat.h"

namespace weft::hns {

std::string Version::ToString() const { return absl::StrCat(major, ".", minor); }

bool SupportsRemoteSubnet(Version version) { return version >= Version{9, 2}; }

// Not in 9.x, whatever its minor: never on Windows Server 2019.
bool SupportsVxlanPort(Version version) { return version >= Version{10, 3}; }

bool SupportsDsr(Version version) {
  return (version.major == 9 && version.minor >= 3) || version >= Version{10, 2};
}

}  // namespace weft::hns
