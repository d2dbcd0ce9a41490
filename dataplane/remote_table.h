// SPDX-License-Identifier: Apache-2.0
// Which VTEP an inner destination lies behind: longest prefix match over the leases, read without locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/peer_table.h"
#include "vxlan/encapsulation.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

// What this node puts into every outer header.
struct LocalVtep {
  IpAddress outer_source;   // our provider address (may be unspecified for datagram wires: the kernel chooses)
  MacAddress mac;           // our published VTEP MAC: inner source
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;  // UDP destination port
  bool udp_checksum = true;
};

// A lease as the data plane sees it.
struct RemoteSpec {
  std::string peer;        // node name: counters and path MTU follow it across changes of the rest
  IpPrefix subnet;         // inner destinations behind it
  IpAddress vtep;          // outer destination: the lease's public IP
  MacAddress mac;          // inner destination MAC: the lease's VTEP MAC
  friend bool operator==(const RemoteSpec&, const RemoteSpec&) = default;
};

// What the packet path reads of one remote. Immutable once published.
struct Remote {
  EncapsulationTemplate encapsulation;
  PeerId peer;
  MacAddress mac;
  IpAddress vtep;
};

// One published state of the table. Immutable; readers keep it alive by shared_ptr, taken once and refreshed between batches.
class RemoteSnapshot;

// Written by one control thread, read by any number of workers. A change copies the pages that it touches and publishes a new
// root; a reader does one acquire load a batch (`version`) and takes the new snapshot only when that moved.
class RemoteTable {
 public:
  RemoteTable(const LocalVtep& local, PeerTable& peers);
  ~RemoteTable();
  RemoteTable(const RemoteTable&) = delete;
  RemoteTable& operator=(const RemoteTable&) = delete;

  // Makes the table hold exactly `all`, changing only what differs. Subnets must be distinct.
  void Resync(std::span<const RemoteSpec> all);
  // Adds or replaces by subnet, then removes subnets. A subnet in both is removed.
  void Update(std::span<const RemoteSpec> changed, std::span<const IpPrefix> removed);

  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const RemoteSnapshot> snapshot() const;  // any thread
  std::size_t size() const;                                // control thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace weft::dataplane
