// SPDX-License-Identifier: Apache-2.0
// Routes of this host to peers, a sink for each family: into a tunnel, by the peer's own address
// (host-gw), or each peer by one of the two (DirectRouting).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/backend/backend.h"
#include "control/sinks/host_route_sink.h"

namespace weft::backend {

class Userspace;

// v4 before v6, tunnels left out. `into_tunnels`: of vxlan. Pure.
std::vector<control::HostRouteConfig> HostRouteConfigs(const NodePlan& plan,
                                                       const control::NetConf& conf,
                                                       bool into_tunnels);

class HostRoutes final : public Backend {
 public:
  // `tunnels` is opened before this and outlives it; null: host-gw.
  explicit HostRoutes(const Context& context, const Userspace* tunnels = nullptr)
      : context_(context), tunnels_(tunnels) {}
  ~HostRoutes() override { Close(); }

  absl::Status Configure(const NodePlan& plan, const underlay::HostFacts& host) override;
  void Inspect(const underlay::HostFacts& host) override;
  absl::Status Open() override;
  bool IsComplete() const override { return sinks_.size() == configs_.size(); }
  void Close() override;
  void CloseDevice(const std::string& device) override;
  bool IsConcernedBy(const host::RouteChanges& changes) const override;
  void RecheckRoutes(bool all) override;
  std::string TunnelsText(bool up) const override;
  void FillStatus(admin::Status& status) const override;

 private:
  struct Opened {
    control::HostRouteConfig config;
    std::unique_ptr<control::HostRouteSink> sink;
  };
  // With its tunnel as it is now.
  control::HostRouteConfig WithTunnel(const control::HostRouteConfig& config) const;
  template <typename Stale>
  void CloseIf(const Stale& stale);

  const Context& context_;
  const Userspace* const tunnels_;
  std::uint32_t underlay_ = 0;  // its index
  std::vector<control::HostRouteConfig> configs_;
  std::vector<Opened> sinks_;  // after Inspect each has one of `configs_`
  std::vector<host::AssignedAddress> underlay_addresses_;
};

}  // namespace weft::backend
