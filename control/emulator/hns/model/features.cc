// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/features.h"

#include <limits>

namespace weft::hns::emulator {
namespace {

constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();

bool From(Version version, std::uint32_t major, std::uint32_t minor) {
  return version >= Version{major, minor};
}
bool Within(Version version, std::uint32_t major, std::uint32_t minor) {
  return From(version, major, minor) && version <= Version{major, kAny};
}

}  // namespace

bool Supports(Version v, Feature feature) {
  switch (feature) {
    case Feature::kV2Functions:
      return From(v, 9, 0);  // 1809; the build that introduced the DLL is a guess
    case Feature::kRemoteSubnet:
      return From(v, 9, 2);
    case Feature::kDsr:
      return Within(v, 9, 3) || From(v, 10, 2);
    case Feature::kSlash32:
      return Within(v, 9, 3) || From(v, 10, 4);
    case Feature::kVxlanPort:
      return From(v, 10, 3);
    case Feature::kL4Proxy:
      return Within(v, 9, 5) || Within(v, 10, 5) || Within(v, 11, 11) || Within(v, 12, 1) ||
             From(v, 13, 1);
    case Feature::kDualStack:
      return From(v, 11, 10);
    case Feature::kSessionAffinity:
      return From(v, 12, 0);
    case Feature::kSetPolicy:
      return From(v, 13, 0);
    case Feature::kL4WfpProxy:
      return From(v, 13, 2);
    case Feature::kTierAcl:
      return From(v, 14, 0);
    case Feature::kNetworkAcl:
      return From(v, 15, 0);
    case Feature::kDisableHostPort:
      return From(v, 15, 1);
    case Feature::kModifyLoadBalancer:
      return From(v, 15, 4);
  }
  return false;
}

}  // namespace weft::hns::emulator
