// SPDX-License-Identifier: Apache-2.0
// One family's userspace tunnel: its ports, forwarder, tables, sinks, and the thread that moves its
// packets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "control/host/host.h"
#include "control/lease/sink.h"
#include "control/node/setup.h"
#include "control/sinks/host_route_sink.h"

namespace weft::node {

// Control thread, but for the worker's own. Members end in the reverse order of their beginning:
// the thread is joined first, the device goes last.
class Tunnel {
 public:
  // Takes the UDP port before it makes the device, so that a second daemon leaves nothing behind;
  // then device up, address, thread. `host` and `journal`, which may be null, outlive the tunnel.
  // `on_broken` is called on the worker's thread if that ends by itself.
  static absl::StatusOr<std::unique_ptr<Tunnel>> Open(
      const TunnelConfig& config, host::Host& host, control::RouteJournal* journal,
      std::function<void(const absl::Status&)> on_broken);
  // Joins the thread and takes the device away.
  ~Tunnel();
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  const TunnelConfig& config() const { return config_; }
  // The data plane's table first: a route must not lead into a tunnel that does not know the peer
  // yet.
  std::vector<lease::Sink*> sinks() const;
  control::HostRouteSink& route_sink() const;
  // Whether `adapters` still show the device as Open left it.
  bool IsIntact(const std::vector<host::Adapter>& adapters) const;

  admin::TunnelStatus ReadStatus() const;
  // One row for each peer that has a slot.
  void AppendPeers(std::vector<admin::PeerStatus>& out) const;

 private:
  struct Parts;
  explicit Tunnel(const TunnelConfig& config);

  TunnelConfig config_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace weft::node
