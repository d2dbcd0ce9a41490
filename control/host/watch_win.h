// SPDX-License-Identifier: Apache-2.0
// Changes reported by IP Helper, on threads of the system.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

class MibWatch final : public Watch {
 public:
  // Wine accepts the registration but reports nothing: a caller must poll as well.
  static absl::StatusOr<std::unique_ptr<Watch>> Open(const IpHelper& helper,
                                                     std::function<void()> changed);
  ~MibWatch() override;

 private:
  explicit MibWatch(const IpHelper& helper, std::function<void()> changed)
      : helper_(helper), changed_(std::move(changed)) {}

  static void WINAPI OnInterface(PVOID context, PMIB_IPINTERFACE_ROW row,
                                 MIB_NOTIFICATION_TYPE type);
  static void WINAPI OnAddress(PVOID context, PMIB_UNICASTIPADDRESS_ROW row,
                               MIB_NOTIFICATION_TYPE type);
  static void WINAPI OnRoute(PVOID context, PMIB_IPFORWARD_ROW2 row, MIB_NOTIFICATION_TYPE type);

  const IpHelper helper_;
  const std::function<void()> changed_;
  std::vector<HANDLE> handles_;
};

// Reports every route, including our own changes: Windows does not report who made a change.
class MibRouteWatch final : public Watch {
 public:
  static absl::StatusOr<std::unique_ptr<Watch>> Open(
      const IpHelper& helper, std::function<void(const RouteChanges&)> changed);
  ~MibRouteWatch() override;

 private:
  MibRouteWatch(const IpHelper& helper, std::function<void(const RouteChanges&)> changed)
      : helper_(helper), changed_(std::move(changed)) {}

  static void WINAPI OnRoute(PVOID context, PMIB_IPFORWARD_ROW2 row, MIB_NOTIFICATION_TYPE type);

  const IpHelper helper_;
  const std::function<void(const RouteChanges&)> changed_;
  HANDLE handle_ = nullptr;
};

}  // namespace weft::host
