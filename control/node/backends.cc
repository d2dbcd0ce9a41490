// SPDX-License-Identifier: Apache-2.0
#include "control/node/backends.h"

#include "control/backend/hns_bridge/hns_bridge.h"
#include "control/backend/hns_overlay/hns_overlay.h"
#include "control/backend/host_routes/host_routes.h"
#include "control/backend/userspace/userspace.h"

namespace weft::node {

std::vector<std::unique_ptr<backend::Backend>> MakeBackends(const backend::Context& context) {
  using config::DataPlane;
  using control::BackendType;
  const DataPlane data_plane = context.options.data_plane;
  const BackendType type = context.conf.type;
  std::vector<std::unique_ptr<backend::Backend>> backends;
  if (type == BackendType::kAlloc) return backends;

  if (type == BackendType::kVxlan && data_plane == DataPlane::kUserspace) {
    auto tunnels = std::make_unique<backend::Userspace>(context);
    auto& userspace = *tunnels;
    backends.push_back(std::move(tunnels));
    // Behind the other devices pods use no routes of the host.
    if (context.options.pod_device.kind == config::PodDevice::Kind::kTun)
      backends.push_back(std::make_unique<backend::HostRoutes>(context, &userspace));
  }
  // A follower runs next to another data plane.
  const bool follower = data_plane != DataPlane::kHns;
  if (!follower || context.options.hns_emulator) {
    if (type == BackendType::kVxlan)
      backends.push_back(std::make_unique<backend::HnsOverlay>(context, follower));
    else
      backends.push_back(std::make_unique<backend::HnsBridge>(context, follower));
  }
  if (type == BackendType::kHostGw && data_plane != DataPlane::kNone)
    backends.push_back(std::make_unique<backend::HostRoutes>(context));
  return backends;
}

}  // namespace weft::node
