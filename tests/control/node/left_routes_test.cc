// SPDX-License-Identifier: Apache-2.0
// Which routes of a host look as if an earlier flanneld had left them, and what the operator reads.
#include "control/node/left_routes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::node {
namespace {

using ::testing::HasSubstr;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

host::Route Route(const char* destination, std::string_view gateway, bool marked = true) {
  host::Route route;
  route.destination = Prefix(destination);
  if (!gateway.empty()) route.gateway = Address(gateway);
  route.marked = marked;
  return route;
}

TEST(LeftRoutes, AreThoseIntoThePodNetworkByANodesAddress) {
  const struct {
    const char* description;
    host::Route route;
    bool left;
  } rows[] = {
      {"a peer's, as host-gw puts it", Route("10.244.2.0/24", "192.168.1.2"), true},
      {"all of it", Route("10.244.0.0/16", "192.168.1.1"), true},
      {"wider: a default of the site's", Route("10.0.0.0/8", "192.168.1.1"), false},
      {"elsewhere", Route("10.8.0.0/16", "192.168.1.1"), false},
      {"nobody set it", Route("10.244.2.0/24", "192.168.1.2", false), false},
      {"an adapter's own", Route("10.244.1.0/24", ""), false},
      {"by a pod's address", Route("10.244.2.0/24", "10.244.1.2"), false},
  };
  for (const auto& [description, route, left] : rows)
    EXPECT_EQ(LeftRoutes({route}, Prefix("10.244.0.0/16")).size(), left ? 1u : 0u) << description;
}

TEST(LeftRoutes, ManyAreCountedAndTheRemedyNamesOne) {
  const IpPrefix network = Prefix("10.244.0.0/16");
  EXPECT_EQ(LeftRoutesSentence({}, network), "");
  std::vector<host::Route> left(5, Route("10.244.2.0/24", "192.168.1.2"));
  const std::string text = LeftRoutesSentence(left, network);
  EXPECT_THAT(text,
              HasSubstr("overlay: 10.244.2.0/24 via 192.168.1.2, 10.244.2.0/24 via 192.168.1.2, "
                        "10.244.2.0/24 via 192.168.1.2 and 2 more; "));
  EXPECT_THAT(text,
              HasSubstr("Remove-NetRoute -DestinationPrefix 10.244.2.0/24 -NextHop 192.168.1.2"));
}

}  // namespace
}  // namespace weft::node
