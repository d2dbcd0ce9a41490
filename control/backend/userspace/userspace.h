// SPDX-License-Identifier: Apache-2.0
// flanneld moves the packets itself: a tunnel for each family. host_routes has the routes into
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/backend/backend.h"
#include "control/backend/tunnel_firewall.h"
#include "control/backend/userspace/tunnel.h"
#include "control/sinks/host_route_sink.h"

namespace weft::backend {

// v4 before v6. Pure.
std::vector<TunnelConfig> TunnelConfigs(const NodePlan& plan, const config::Options& options,
                                        const control::NetConf& conf);

class Userspace final : public Backend {
 public:
  explicit Userspace(const Context& context)
      : context_(context), firewall_(context.host, context.ledger) {}
  ~Userspace() override { Close(); }

  // The device of the family's tunnel; empty: it is not open.
  std::optional<control::HostRouteConfig::Device> DeviceOf(IpFamily family) const;

  absl::Status Configure(const NodePlan& plan, const underlay::HostFacts& host) override;
  void Inspect(const underlay::HostFacts& host) override;
  absl::Status Open() override;
  bool IsComplete() const override { return tunnels_.size() == configs_.size(); }
  void Close() override;
  void CloseDevice(const std::string& device) override;
  std::string TunnelsText(bool up) const override;
  void OnRoutes() override;
  void Poll(control::TimePoint now) override;
  void AppendConditions(std::vector<NamedCondition>& out) const override;
  void AppendChecks(std::vector<admin::Check>& out) const override;
  void FillStatus(admin::Status& status) const override;
  void AddMetrics(metrics::Exposition& exposition) const override;

 private:
  void OpenTrace();
  absl::Status OpenTunnel(const TunnelConfig& config);
  std::shared_ptr<dataplane::Counters>& CountersOf(IpFamily family);
  void SumKernelCounts(const Tunnel& tunnel) const;

  const Context& context_;
  std::string underlay_;  // its name
  std::vector<TunnelConfig> configs_;
  std::vector<std::unique_ptr<Tunnel>> tunnels_;  // after Inspect each has one of `configs_`
  // By family: they outlive the tunnels, so that they never decrease. Null: there was no tunnel.
  std::shared_ptr<dataplane::Counters> v4_counters_, v6_counters_;
  // Likewise, by family and name: counts of the kernel and the ports, as SumKernelCounts saw them:
  // of this tunnel, and of those before it.
  struct KernelSum {
    std::uint64_t now = 0, before = 0;
  };
  mutable std::map<std::pair<std::string, std::string>, KernelSum> kernel_sums_;
  std::shared_ptr<dataplane::TraceFile> trace_;  // null: none is written
  control::Condition trace_condition_;
  TunnelFirewall firewall_;  // Windows
  bool said_without_hns_ = false;
  std::set<std::string> replaced_devices_;  // upstream's, each deleted once
};

}  // namespace weft::backend
