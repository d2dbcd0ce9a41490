// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/features.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

namespace weft::hns::emulator {
namespace {

// hcn/hcnglobals.go of hcsshim v0.14.1, at the edges of each range.
TEST(FeaturesTest, AreThoseOfTheVersion) {
  struct Row {
    Feature feature;
    std::vector<Version> has, lacks;
  };
  const std::vector<Row> rows = {
      {Feature::kRemoteSubnet, {{9, 2}, {13, 3}}, {{9, 1}, {7, 2}}},
      {Feature::kDsr, {{9, 3}, {9, 99}, {10, 2}}, {{9, 2}, {10, 0}, {10, 1}}},
      {Feature::kSlash32, {{9, 3}, {10, 4}}, {{9, 2}, {10, 3}}},
      {Feature::kVxlanPort, {{10, 3}, {15, 4}}, {{9, 5}, {10, 2}}},
      {Feature::kL4Proxy,
       {{9, 5}, {10, 5}, {11, 11}, {12, 1}, {13, 1}, {14, 0}},
       {{9, 4}, {10, 4}, {11, 10}, {12, 0}, {13, 0}}},
      {Feature::kDualStack, {{11, 10}}, {{11, 9}}},
      {Feature::kSessionAffinity, {{12, 0}}, {{11, 11}}},
      {Feature::kSetPolicy, {{13, 0}}, {{12, 9}}},
      {Feature::kL4WfpProxy, {{13, 2}}, {{13, 1}}},
      {Feature::kTierAcl, {{14, 0}}, {{13, 9}}},
      {Feature::kNetworkAcl, {{15, 0}}, {{14, 9}}},
      {Feature::kDisableHostPort, {{15, 1}}, {{15, 0}}},
      {Feature::kModifyLoadBalancer, {{15, 4}}, {{15, 3}}},
  };
  for (const auto& [feature, has, lacks] : rows) {
    for (const Version v : has) EXPECT_TRUE(Supports(v, feature)) << v.major << "." << v.minor;
    for (const Version v : lacks) EXPECT_FALSE(Supports(v, feature)) << v.major << "." << v.minor;
  }
}

}  // namespace
}  // namespace weft::hns::emulator
