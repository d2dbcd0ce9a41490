// SPDX-License-Identifier: Apache-2.0
// Keeps the underlay that was chosen at the start, as upstream does, and moves it only where it
// must move. Traffic between nodes stays at its address, on whichever adapter has that (a virtual
// switch, a bond and a bridge take a NIC's addresses over).
//
//   a flag, an annotation or the InternalIP names another one   to that one, at once
//   its address is deprecated, and its adapter has another      to that one, at once
//   its address is gone, and its adapter has another            to that one, after kGone
//   its adapter is missing                                      to a new choice, after kMissing
//   then the address of before is back                          to that one, after kBack
//   routes, further addresses, expressions, links               never
//
// Link-local addresses are no others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/clock.h"
#include "control/underlay/interface_choice.h"

namespace weft::underlay {

// Whether `is` holds since `duration`, or longer. `since`: kept by the caller from call to call.
bool Lasts(bool is, control::Duration duration, control::TimePoint now,
           std::optional<control::TimePoint>& since);

// One thread.
class UnderlayKeeper {
 public:
  static constexpr control::Duration kGone = std::chrono::seconds(2);  // HNS, DHCP: it comes back
  // Longer after it had no link: a DHCP client that gave the address up requests it again.
  static constexpr control::Duration kLinkless = std::chrono::seconds(8);
  static constexpr control::Duration kMissing = std::chrono::minutes(2);
  static constexpr control::Duration kBack = std::chrono::seconds(60);

  // `current`: in use, as an earlier call returned it; null: none, and ChooseInterface decides.
  // Returns it as its adapter is now, or what the node moves to. Unavailable: its address is gone,
  // and the node waits; call again within seconds. Other errors are ChooseInterface's, of an
  // annotation or of the adapter.
  absl::StatusOr<InterfaceChoice> Keep(const InterfaceRequest& request, const HostFacts& facts,
                                       const InterfaceChoice* current, control::TimePoint now);

  // Why the last result has other addresses than `current`; empty: it has not.
  const std::string& reason() const { return reason_; }

 private:
  // What a start would choose now.
  struct Fresh {
    absl::StatusOr<InterfaceChoice> choice;
    ChoiceReasons reasons;
  };
  std::optional<InterfaceChoice> MoveToNamed(const InterfaceRequest& request,
                                             const HostFacts& facts, const InterfaceChoice& current,
                                             const Fresh& fresh);
  absl::StatusOr<InterfaceChoice> Follow(const InterfaceRequest& request,
                                         const InterfaceChoice& current, const host::Adapter* home,
                                         bool gone, const Fresh& fresh);

  InterfaceRequest request_;              // of the last call that found the address
  std::vector<host::Adapter> adapters_;   // the same
  std::optional<InterfaceChoice> first_;  // before its adapter was missing
  std::optional<control::TimePoint> gone_since_, missing_since_, back_since_;
  std::string reason_;
};

}  // namespace weft::underlay
