// SPDX-License-Identifier: Apache-2.0
// A journal of routes in memory: what is in it is what a reset would take away, and give back.
#pragma once

#include <string>
#include <vector>

#include "control/sinks/route_journal.h"
#include "gtest/gtest.h"
#include "tests/support/fake_host.h"

namespace weft::testing {

class FakeRouteJournal final : public control::RouteJournal {
 public:
  explicit FakeRouteJournal(const FakeHost& host) : host_(host) {}

  control::RouteKeys Owned(IpFamily family) override {
    control::RouteKeys owned = routes;
    for (const control::FormerRoute& each : former)
      if (each.route.gateway) owned.emplace(each.route.destination, *each.route.gateway);
    std::erase_if(owned, [&](const auto& key) { return key.first.family() != family; });
    return owned;
  }
  void KeepOnly(IpFamily family, const control::RouteKeys& keys) override {
    std::erase_if(routes, [&](const control::RouteKey& route) {
      return route.first.family() == family && !keys.contains(route);
    });
  }
  void BeforePut(const control::RouteKeys& keys) override {
    ++batches;
    routes.insert(keys.begin(), keys.end());
  }
  void Removed(const control::RouteKeys& keys) override {
    ++batches;
    for (const control::RouteKey& key : keys) routes.erase(key);
  }
  void BeforeTakeover(const std::vector<control::FormerRoute>& routes_there) override {
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
