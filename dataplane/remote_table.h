// SPDX-License-Identifier: Apache-2.0
// Maps inner destinations to VTEPs: longest prefix match over the leases, read without locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dataplane/peer_table.h"
#include "dataplane/remote_snapshot.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"
#include "vxlan/vni.h"

namespace weft::dataplane {

// This node's fields of every outer header.
struct LocalVtep {
  IpAddress outer_source;  // our provider address (may be unspecified for datagram wires: the
                           // kernel chooses)
  MacAddress mac;          // our published VTEP MAC: inner source
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;  // UDP destination port
  bool udp_checksum = true;         // of outer IPv4; IPv6 always has it
};

// A lease, as far as the data plane needs it.
struct RemoteSpec {
  std::string peer;  // node name: counters and path MTU follow it across changes of the rest
  IpPrefix subnet;   // inner destinations behind it
  IpAddress vtep;    // outer destination: the lease's public IP
  MacAddress mac;    // inner destination MAC: the lease's VTEP MAC
  friend bool operator==(const RemoteSpec&, const RemoteSpec&) = default;
};

// Written by one control thread, read by any number of workers. A change copies the pages that it
// modifies and publishes a new root; a reader does one acquire load a batch (`version`) and fetches
// the new snapshot only if that changed. The writer frees pages that only older snapshots use, at a
// later change, once the last reader has released them.
class RemoteTable {
 public:
  RemoteTable(const LocalVtep& local, PeerTable& peers);
  ~RemoteTable();
  RemoteTable(const RemoteTable&) = delete;
  RemoteTable& operator=(const RemoteTable&) = delete;

  // Makes the table contain exactly `all`, changing only what differs. Of several with one subnet
  // the last is used.
  void Resync(std::span<const RemoteSpec> all);
  // Adds or replaces by subnet, then removes subnets. A subnet in both is removed. One publication,
  // none if nothing differs.
  void Update(std::span<const RemoteSpec> changed, std::span<const IpPrefix> removed);

  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const RemoteSnapshot> snapshot() const;  // any thread
  std::size_t size() const;                                // control thread
  // Number of older states that readers may still use. Control thread.
  std::size_t retired_states() const;

 private:
  struct Impl;

  std::uint32_t Set(const RemoteSpec& spec);  // its remote's index
  void Remove(const IpPrefix& subnet);
  void GiveUpPeer(const std::string& name);
  std::uint32_t NewRemote();
  void GiveUpRemote(std::uint32_t index);
  void InsertPrefix(const IpPrefix& subnet, std::uint32_t index);
  void ReplacePrefix(const IpPrefix& subnet, std::uint32_t old, std::uint32_t index);
  void ErasePrefix(const IpPrefix& subnet, std::uint32_t index);
  void LinkVtep(std::uint32_t index);
  void UnlinkVtep(std::uint32_t index);
  std::uint32_t& WritableNext(std::uint32_t index);
  void Publish();
  void Reclaim();

  std::unique_ptr<Impl> impl_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace weft::dataplane
