// SPDX-License-Identifier: Apache-2.0
// Changes as the kernel's multicast groups of rtnetlink(7) tell them.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::host {

// A thread that waits for the kernel. Of routes only default ones count: those of the pods are ours
// or others', come by the thousand, and are read at every resync.
class NetlinkWatch final : public Watch {
 public:
  static absl::StatusOr<std::unique_ptr<Watch>> Open(std::function<void()> changed);
  ~NetlinkWatch() override;

 private:
  NetlinkWatch(int socket, int stop, std::function<void()> changed);
  void Run() const;

  int socket_, stop_;  // netlink; eventfd
  std::function<void()> changed_;
  std::thread thread_;
};

}  // namespace weft::host
