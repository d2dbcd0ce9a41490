// SPDX-License-Identifier: Apache-2.0
// One family's userspace tunnel: its tables, sink, and the threads that move its packets, each with
// its ports and forwarder. Routes into it are a HostRouteSink's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "control/clock.h"
#include "control/config/options.h"
#include "control/host/host.h"
#include "control/lease/sink.h"
#include "dataplane/counters.h"
#include "dataplane/forwarder.h"
#include "dataplane/ports/trace_port.h"
#include "dataplane/worker.h"

namespace weft::backend {

// Outer and inner packets are of one family, as upstream has it.
struct TunnelConfig {
  IpFamily family = IpFamily::kV4;
  config::PodDevice pod_device{};
  std::string device;  // "flannel.4096", "flannel-v6.4096"; with kPcap the pods' adapter
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;  // UDP
  IpPrefix subnet;  // our PodCIDR; with kTun its base is the device's address, as a /32 or /128
  MacAddress vtep_mac;
  IpAddress bind_address;       // the source of outer packets
  bool receive_on_all = false;  // on every local address; else on bind_address
  OuterMtu link_mtu = *OuterMtu::From(1500);
  InnerMtu mtu = *InnerMtu::From(1450);      // of the device
  InnerMtu pod_mtu = *InnerMtu::From(1450);  // subnet.env's: the least of all devices'
  bool udp_checksum = true;                  // of outer IPv4; IPv6 always has it
  dataplane::PeerCheck peer_check = dataplane::PeerCheck::kLease;
  dataplane::BusyPoll busy_poll{};
  // Index of the interface by which superframes are sent whole; 0: they are cut.
  std::uint32_t whole_egress = 0;
  int workers = 1;
  // Of pods that send Ethernet frames: the address in FLANNEL_SUBNET.
  IpAddress gateway() const { return subnet.base().Next(); }
  friend bool operator==(const TunnelConfig&, const TunnelConfig&) = default;
};

// Control thread, except for the workers' own. Members are destroyed in reverse order: the threads
// are joined first, the device is removed last.
class Tunnel {
 public:
  // `trace`: where to write its packets; null: nowhere.
  // Binds the UDP port before it creates the device, so that a second daemon leaves nothing behind;
  // then device up, address (kTun), threads. An adapter of kPcap stays as it is. `on_broken` is
  // called on a worker's thread if that ends by itself.
  static absl::StatusOr<std::unique_ptr<Tunnel>> Open(
      const TunnelConfig& config, host::Host& host, std::shared_ptr<dataplane::Counters> counters,
      std::shared_ptr<dataplane::TraceFile> trace,
      std::function<void(const absl::Status&)> on_broken);
  // Joins the threads and removes our device.
  ~Tunnel();
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  const TunnelConfig& config() const { return config_; }
  std::uint32_t adapter_index() const;
  lease::Sink& sink() const;
  // About every second.
  void Poll(control::TimePoint now);
  // After a change of routes, links or addresses.
  void RoutesChanged();
  // Whether `adapters` still have the device as Open configured it.
  bool IsIntact(const std::vector<host::Adapter>& adapters) const;

  admin::TunnelStatus ReadStatus() const;
  // One row for each peer that has a slot.
  void AppendPeers(std::vector<admin::PeerStatus>& out, control::TimePoint now) const;
  // ICMP errors about packets to peers, by their address.
  std::map<IpAddress, admin::IcmpErrors> IcmpErrors() const;

 private:
  struct Parts;
  explicit Tunnel(const TunnelConfig& config);

  TunnelConfig config_;
  std::unique_ptr<Parts> parts_;
  control::TimePoint next_note_{};  // of what peers sent
};

}  // namespace weft::backend
