// SPDX-License-Identifier: Apache-2.0
// Whether a userspace tunnel sends superframes whole (dataplane/ports/tunnel_gso_linux.h) or cuts
// them, and why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "control/config/options.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/vni.h"

namespace weft::dataplane {
class TunnelGso;
}

namespace weft::backend {

struct SuperframesConfig {
  config::Superframes mode = config::Superframes::kAuto;
  IpFamily family = IpFamily::kV4;
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;
  IpAddress source;    // of outer packets; unspecified: not known
  std::string egress;  // the interface for traffic between nodes
  std::uint32_t egress_index = 0;
  IpPrefix network;  // the pods'
};

// Control thread, except where noted. Watches the host's rules on a thread of its own, which the
// destructor joins.
class Superframes {
 public:
  virtual ~Superframes() = default;
  Superframes() = default;
  Superframes(const Superframes&) = delete;
  Superframes& operator=(const Superframes&) = delete;

  // For UdpOptions; null: superframes are always cut.
  virtual std::shared_ptr<dataplane::TunnelGso> gso() const = 0;
  // Why superframes are cut now; empty: they are sent whole. Any thread.
  virtual std::string Obstacle() const = 0;
  // How many were sent whole. Any thread.
  virtual std::uint64_t Sent() const = 0;
  // About every second: logs changes.
  virtual void Poll() = 0;
  // False: the device was changed or is gone.
  virtual bool IsIntact() const = 0;
};

// The name of the device: "weft4.4096", "weft6.4096".
std::string SuperframeDevice(IpFamily family, Vni vni);

// Never fails: what is missing is the obstacle, logged once. Null where the system has no such way.
std::unique_ptr<Superframes> OpenSuperframes(const SuperframesConfig& config);

}  // namespace weft::backend
