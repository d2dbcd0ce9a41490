// SPDX-License-Identifier: Apache-2.0
#include "control/node/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/backend/hns_bridge/hns_bridge.h"
#include "control/backend/hns_overlay/hns_overlay.h"
#include "control/backend/host_routes/host_routes.h"
#include "control/backend/userspace/userspace.h"
#include "tests/support/fake_host.h"
#include "tests/support/manual_clock.h"

namespace weft::node {
namespace {

std::string NameOf(const backend::Backend& backend) {
  if (dynamic_cast<const backend::Userspace*>(&backend)) return "userspace";
  if (dynamic_cast<const backend::HostRoutes*>(&backend)) return "host routes";
  if (dynamic_cast<const backend::HnsOverlay*>(&backend)) return "overlay";
  return dynamic_cast<const backend::HnsBridge*>(&backend) ? "bridge" : "";
}

// DirectRouting adds no more: host routes decide for each peer.
TEST(Backends, AreThoseOfTypeAndDataPlane) {
  using config::DataPlane;
  using control::BackendType;
  using Names = std::vector<std::string>;
  const struct {
    BackendType type;
    DataPlane data_plane;
    bool emulator;  // --hns=emulator
    Names names;
  } rows[] = {
      {BackendType::kVxlan, DataPlane::kUserspace, false, {"userspace", "host routes"}},
      {BackendType::kVxlan, DataPlane::kUserspace, true, {"userspace", "host routes", "overlay"}},
      {BackendType::kVxlan, DataPlane::kHns, false, {"overlay"}},
      {BackendType::kVxlan, DataPlane::kNone, false, {}},
      {BackendType::kVxlan, DataPlane::kNone, true, {"overlay"}},
      {BackendType::kHostGw, DataPlane::kRoutes, false, {"host routes"}},
      {BackendType::kHostGw, DataPlane::kRoutes, true, {"bridge", "host routes"}},
      {BackendType::kHostGw, DataPlane::kHns, false, {"bridge", "host routes"}},
      {BackendType::kHostGw, DataPlane::kNone, false, {}},
      {BackendType::kHostGw, DataPlane::kNone, true, {"bridge"}},
      {BackendType::kAlloc, DataPlane::kHns, false, {}},
      {BackendType::kAlloc, DataPlane::kUserspace, true, {}},
  };
  config::Options options;
  control::NetConf conf;
  weft::testing::FakeHost host;
  weft::testing::ManualClock clock;
  control::Reconciler reconciler(clock, control::SystemRandom(), {});
  const backend::Context context{options, conf, host, reconciler, {}, {}, {}, {}};
  for (const auto& row : rows) {
    conf.type = row.type;
    options.data_plane = row.data_plane;
    options.hns_emulator = row.emulator ? std::optional<std::string>("hns.json") : std::nullopt;
    Names names;
    for (const auto& backend : MakeBackends(context)) names.push_back(NameOf(*backend));
    EXPECT_EQ(names, row.names) << Name(row.type) << ", " << Name(row.data_plane)
                                << (row.emulator ? ", with an emulator" : "");
  }
}

}  // namespace
}  // namespace weft::node
