// SPDX-License-Identifier: Apache-2.0
#include "control/host/watch_win.h"

#include <optional>
#include <utility>

#include "control/host/routes_win.h"

namespace weft::host {

absl::StatusOr<std::unique_ptr<Watch>> MibWatch::Open(const IpHelper& helper,
                                                      std::function<void()> changed) {
  if (!helper.notify_interface || !helper.notify_address || !helper.notify_route ||
      !helper.cancel_notify)
    return NotHere("listen to changes of adapters, addresses and routes");
  std::unique_ptr<MibWatch> watch(new MibWatch(helper, std::move(changed)));
  const auto add = [&](auto* notify, auto* callback) {
    HANDLE handle = nullptr;
    const DWORD code = notify(AF_UNSPEC, callback, watch.get(), FALSE, &handle);
    if (code == NO_ERROR && handle) watch->handles_.push_back(handle);
    return code;
  };
  DWORD code = add(helper.notify_interface, &MibWatch::OnInterface);
  if (code == NO_ERROR) code = add(helper.notify_address, &MibWatch::OnAddress);
  if (code == NO_ERROR) code = add(helper.notify_route, &MibWatch::OnRoute);
  if (code != NO_ERROR) return Failure("listen to changes of adapters, addresses, routes", code);
  return watch;
}

// The cancel waits for callbacks in progress.
MibWatch::~MibWatch() {
  for (const HANDLE handle : handles_) helper_.cancel_notify(handle);
}

void WINAPI MibWatch::OnInterface(PVOID context, PMIB_IPINTERFACE_ROW, MIB_NOTIFICATION_TYPE) {
  static_cast<MibWatch*>(context)->changed_();
}

void WINAPI MibWatch::OnAddress(PVOID context, PMIB_UNICASTIPADDRESS_ROW, MIB_NOTIFICATION_TYPE) {
  static_cast<MibWatch*>(context)->changed_();
}

void WINAPI MibWatch::OnRoute(PVOID context, PMIB_IPFORWARD_ROW2 row, MIB_NOTIFICATION_TYPE) {
  if (!row || row->DestinationPrefix.PrefixLength == 0) static_cast<MibWatch*>(context)->changed_();
}

absl::StatusOr<std::unique_ptr<Watch>> MibRouteWatch::Open(
    const IpHelper& helper, std::function<void(const RouteChanges&)> changed) {
  constexpr char kWhat[] = "listen to changes of routes";
  if (!helper.notify_route || !helper.cancel_notify) return NotHere(kWhat);
  std::unique_ptr<MibRouteWatch> watch(new MibRouteWatch(helper, std::move(changed)));
  HANDLE handle = nullptr;
  const DWORD code =
      helper.notify_route(AF_UNSPEC, &MibRouteWatch::OnRoute, watch.get(), FALSE, &handle);
  if (code != NO_ERROR) return Failure(kWhat, code);
  watch->handle_ = handle;
  return watch;
}

// The cancel waits for a callback in progress.
MibRouteWatch::~MibRouteWatch() {
  if (handle_) helper_.cancel_notify(handle_);
}

void WINAPI MibRouteWatch::OnRoute(PVOID context, PMIB_IPFORWARD_ROW2 row,
                                   MIB_NOTIFICATION_TYPE type) {
  const std::optional<Route> route = row ? RouteOfRow(*row) : std::nullopt;
  RouteChanges changes;
  if (route) changes.push_back({*route, type == MibDeleteInstance, false});
  static_cast<MibRouteWatch*>(context)->changed_(changes);
}

}  // namespace weft::host
