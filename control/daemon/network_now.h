// SPDX-License-Identifier: Apache-2.0
// Network as net-conf.json has it now. While a cluster's Network is widened, the file of each node
// changes before its flanneld is started again, and peers of the wider one have to be reached.
#pragma once

#include <optional>
#include <string>

#include "control/net_conf.h"
#include "control/sources/file_stamp.h"

namespace weft::daemon {

// One thread (control).
class NetworkNow {
 public:
  // `running` was read from the file at `path` (UTF-8).
  NetworkNow(std::string path, const control::NetConf& running);

  // Reads the file if it is another one than last time. While it cannot be read, or names no
  // Network of a family, what it said before stays.
  void Look();
  const std::optional<IpPrefix>& of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4_ : v6_;
  }

 private:
  const std::string path_;
  std::optional<IpPrefix> v4_, v6_;
  std::optional<control::FileStamp> stamp_;
  bool settled_ = false;  // read twice under one stamp: the writer may have come after the first
};

}  // namespace weft::daemon
