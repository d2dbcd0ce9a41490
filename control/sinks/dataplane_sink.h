// SPDX-License-Identifier: Apache-2.0
// Leases into the userspace data plane's remote table.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "control/lease/sink.h"
#include "dataplane/remote_table.h"

namespace weft::control {

// `table` outlives the sink, and only the sink writes it, so all its entries are ours. The table
// compares by value and cannot fail; a peer whose public IP is not of the table's outer family
// cannot be reached through it and stays pending.
class DataplaneSink final : public lease::Sink {
 public:
  // `outer`: the address family of outer packets; empty: both. `name` as status shows it:
  // "dataplane".
  explicit DataplaneSink(dataplane::RemoteTable& table,
                         std::optional<IpFamily> outer = std::nullopt,
                         std::string name = "dataplane");

  std::string name() const override { return name_; }
  std::string_view kind() const override { return "tunnel"; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override;
  lease::SinkReport Update(const lease::PeerChanges& changes) override;
  lease::SinkReport Retry() override { return Report(); }

 private:
  bool Reachable(const lease::Peer& peer) const;
  lease::SinkReport Report() const;

  dataplane::RemoteTable& table_;
  std::optional<IpFamily> outer_;
  std::string name_;
  std::map<IpPrefix, lease::Peer> unreachable_;  // without an outer address of our family
};

}  // namespace weft::control
