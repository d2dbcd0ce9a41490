// SPDX-License-Identifier: Apache-2.0
// One host route for each peer, into our own tunnel device: `S/n via S.0 dev flannel.N onlink`, as
// upstream's Linux device has (upstream v0.28.9).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "control/host/host.h"
#include "control/lease/difference_tracker.h"
#include "control/lease/sink.h"

namespace weft::control {

// As above, for `subnet` and the device with this index.
host::Route DeviceRoute(const IpPrefix& subnet, std::uint32_t adapter_index);

// `host` outlives the sink. The device is ours, so every route on it of the above shape is ours;
// routes of another shape (the kernel's own, an administrator's) are left alone. Peers of the other
// family are ignored. After an Update each route's own status from the system is believed; a Resync
// reads back.
class DeviceRouteSink final : public lease::Sink {
 public:
  // `device` as messages name it: "flannel.4096".
  DeviceRouteSink(host::Host& host, std::uint32_t adapter_index, std::string device,
                  IpFamily family);

  std::string name() const override;
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override;

 private:
  // The metric and source address that the system fills in are not ours to compare.
  struct SameRoute {
    bool operator()(const host::Route& desired, const host::Route& actual) const;
  };

  using Routes = lease::DifferenceTracker<IpPrefix, host::Route, SameRoute>;

  host::Route RouteFor(const IpPrefix& subnet) const;
  bool ReadBack();
  void Apply();
  lease::SinkReport ReadApplyAndVerify();
  void Fail(const host::Route& route, const absl::Status& status);
  lease::SinkReport Report() const;

  host::Host& host_;
  std::uint32_t adapter_index_;
  std::string device_;
  IpFamily family_;
  Routes routes_;
  std::string unread_;  // why the device's routes could not be read; while not empty nothing is
                        // known to be in place
  std::map<IpPrefix, std::string> failures_;  // of the last attempt, as Report tells them
};

}  // namespace weft::control
