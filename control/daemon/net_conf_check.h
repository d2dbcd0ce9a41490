// SPDX-License-Identifier: Apache-2.0
// Whether net-conf as read at start still matches its file and the cluster.
#pragma once

#include <optional>
#include <string>

#include "control/condition.h"
#include "control/lease/lease_table.h"
#include "control/net_conf.h"

namespace weft::daemon {

// One thread (control).
class NetConfFile {
 public:
  // `running` was read from the file at `path` (UTF-8) and outlives this.
  NetConfFile(std::string path, const control::NetConf& running)
      : path_(std::move(path)),
        running_(running),
        v4_(running.network),
        v6_(running.ipv6_network) {}

  // Reads the file.
  void Poll();
  // Network as last read from the file; the running one where the file had none. While a cluster's
  // Network is widened, the file of each node changes before its flanneld is restarted, and peers
  // of the wider Network have to be reached.
  const std::optional<IpPrefix>& network_of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4_ : v6_;
  }
  // File, place, cause, what stays in force and the next step; empty while the file matches the
  // running configuration.
  const control::Condition& condition() const { return condition_; }

 private:
  std::string Read();

  const std::string path_;
  const control::NetConf& running_;
  std::optional<IpPrefix> v4_, v6_;
  control::Condition condition_;
};

// A sentence when every other node that published a VNI published another one than net-conf's; else
// empty. `in_sync`: the table has received all nodes; before that, the result is empty.
std::string VniCondition(const control::NetConf& conf, const lease::LeaseTable& table,
                         bool in_sync);

}  // namespace weft::daemon
