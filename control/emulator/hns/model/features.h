// SPDX-License-Identifier: Apache-2.0
// The features of each HNS version (hcn/hcnglobals.go of hcsshim v0.14.1).
#pragma once

#include <cstdint>

#include "hns/version.h"

namespace weft::hns::emulator {

enum class Feature : std::uint8_t {
  kV2Functions,
  kRemoteSubnet,  // and HostRoute
  kDsr,
  kSlash32,
  kVxlanPort,
  kL4Proxy,
  kDualStack,
  kSessionAffinity,
  kSetPolicy,
  kL4WfpProxy,
  kTierAcl,
  kNetworkAcl,
  kDisableHostPort,
  kModifyLoadBalancer,
};

bool Supports(Version version, Feature feature);

}  // namespace weft::hns::emulator
