// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/network_now.h"

#include <utility>

#include "control/file_io.h"

namespace weft::daemon {

NetworkNow::NetworkNow(std::string path, const control::NetConf& running)
    : path_(std::move(path)), v4_(running.network), v6_(running.ipv6_network) {}

void NetworkNow::Look() {
  const auto stamp = control::StampOf(control::PathOf(path_));
  if (!stamp.ok()) return;
  const bool same = stamp_ == *stamp;
  if (same && settled_) return;
  settled_ = same;
  stamp_ = *stamp;
  const absl::StatusOr<control::NetConf> now = control::LoadNetConf(path_, {});
  if (!now.ok()) return;
  if (now->network) v4_ = now->network;
  if (now->ipv6_network) v6_ = now->ipv6_network;
}

}  // namespace weft::daemon
