// SPDX-License-Identifier: Apache-2.0
// Changes reported by the kernel's rtnetlink(7) multicast groups.
#pragma once

#include <libmnl/libmnl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::host {

// A thread that waits for messages of the kernel.
class NetlinkWatch final : public Watch {
 public:
  // Both functions ignore changes made through the socket of `own_port`. Open reports only default
  // routes, because pods' routes change by the thousand.
  static absl::StatusOr<std::unique_ptr<Watch>> Open(std::function<void()> changed,
                                                     std::uint32_t own_port);
  // Reports every route of the main table.
  static absl::StatusOr<std::unique_ptr<Watch>> OpenRoutes(
      std::function<void(const RouteChanges&)> changed, std::uint32_t own_port);
  ~NetlinkWatch() override;

 private:
  struct Handler {
    std::function<void(const nlmsghdr&)> each;
    // Called when all pending messages were read; `lost`: some did not fit the buffer.
    std::function<void(bool lost)> done;
  };
  static absl::StatusOr<std::unique_ptr<Watch>> OpenWith(Handler handler, std::uint32_t own_port);

  NetlinkWatch(int socket, int stop, Handler handler);
  void Run() const;

  int socket_, stop_;  // netlink; eventfd
  Handler handler_;
  std::thread thread_;
};

}  // namespace weft::host
