// SPDX-License-Identifier: Apache-2.0
// Superframes that a userspace tunnel sends whole (dataplane/ports/tunnel_gso_linux.h), because the
// operator asked for it, and what keeps it from that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vxlan/ip_address.h"
#include "vxlan/vni.h"

namespace weft::dataplane {
class TunnelGso;
}

namespace weft::backend {

// Control thread.
class Superframes {
 public:
  virtual ~Superframes() = default;
  Superframes() = default;
  Superframes(const Superframes&) = delete;
  Superframes& operator=(const Superframes&) = delete;

  // For UdpOptions; null: the host has no such way.
  virtual std::shared_ptr<dataplane::TunnelGso> gso() const = 0;
  // "whole: " and what they bypass, or "cut: " and the reason.
  virtual std::string Way() const = 0;
  // How many were sent whole.
  virtual std::uint64_t Sent() const = 0;
  // Decides again how they are sent, and logs changes. At first, and about every second.
  virtual void Poll() = 0;
  // After a change of routes, links or addresses.
  virtual void RoutesChanged() = 0;
};

// By a device of ours, "weft4.4096" or "weft6.4096", that passes them to `egress_index`, the
// interface for traffic between nodes. Never fails: what is missing is the reason for cutting. Null
// where the system has no such devices.
std::unique_ptr<Superframes> OpenSuperframes(IpFamily family, Vni vni, std::uint32_t egress_index);

}  // namespace weft::backend
