// SPDX-License-Identifier: Apache-2.0
// A ledger of routes in memory: what a reset would delete, and what it would give back.
#pragma once

#include <string>
#include <vector>

#include "control/sinks/route_ledger.h"
#include "gtest/gtest.h"
#include "tests/support/fake_host.h"

namespace weft::testing {

class FakeRouteLedger final : public control::RouteLedger {
 public:
  explicit FakeRouteLedger(const FakeHost& host) : host_(host) {}

  control::RouteKeys Owned(const IpPrefix& network) override {
    control::RouteKeys owned = routes;
    std::erase_if(owned, [&](const auto& key) { return key.first.family() != network.family(); });
    for (const control::FormerRoute& each : former)
      if (each.route.gateway && network.Contains(each.route.destination))
        owned.emplace(each.route.destination, *each.route.gateway);
    return owned;
  }
  void Intend(const control::RouteKeys& keys) override {
    ++batches;
    routes.insert(keys.begin(), keys.end());
  }
  void Forget(const control::RouteKeys& keys) override {
    const std::size_t before = routes.size();
    for (const control::RouteKey& key : keys) routes.erase(key);
    if (routes.size() != before) ++batches;
  }
  void IntendTakeover(const std::vector<control::FormerRoute>& routes_there) override {
    for (const control::FormerRoute& each : routes_there) {
      EXPECT_NE(std::find(host_.routes.begin(), host_.routes.end(), each.route), host_.routes.end())
          << each.route.destination.ToString() << " has been changed already";
      former.push_back(each);
    }
  }

  control::RouteKeys routes;
  std::vector<control::FormerRoute> former;
  int batches = 0;

 private:
  const FakeHost& host_;
};

}  // namespace weft::testing
