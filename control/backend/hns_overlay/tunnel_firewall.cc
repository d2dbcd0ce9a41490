// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/tunnel_firewall.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "vxlan/vni.h"

namespace weft::backend {
namespace {

// Between attempts to create the rule, and between readings of one that exists.
constexpr control::Duration kFirstPause = std::chrono::seconds(1);
constexpr control::Duration kLongestPause = std::chrono::seconds(30);
constexpr control::Duration kRulePause = std::chrono::minutes(5);

}  // namespace

// A rule that exists already is used as it is.
absl::Status TunnelFirewall::Create(const std::string& rule, std::uint16_t port) {
  const absl::StatusOr<bool> exists = host_.HasFirewallRule(rule);
  if (!exists.ok()) return exists.status();
  const ledger::FirewallRule entry{rule, port, /*adopted=*/*exists};
  if (ledger_) {
    ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
      if (!entry.adopted) return ledger.Intend({entry});
      if (ledger.Find(entry) != nullptr) return std::nullopt;
      return ledger.Confirm(entry);
    });
  }
  absl::Status status = host_.AllowUdpIn(rule, port);
  if (status.ok() || *exists || !ledger_) return status;
  // A call that failed may still have created it.
  if (const absl::StatusOr<bool> made = host_.HasFirewallRule(rule); made.ok() && !*made)
    ledger_->Use([&](ledger::Ledger& ledger) { return ledger.Forget({entry}); });
  return status;
}

void TunnelFirewall::Allow(std::uint16_t port, control::TimePoint now) {
  if (allowed_ == port && now < again_) return;
  if (allowed_ != port) pause_ = kFirstPause;
  allowed_ = port;
  const std::string rule =
      port == kVxlanPort ? host::kOverlayFirewallRule : absl::StrCat("OverlayTraffic", port, "UDP");
  const absl::Status status = Create(rule, port);
  const bool done = status.ok() || absl::IsUnimplemented(status);
  // An existing rule is checked too: a group policy or another program may remove it.
  again_ = now + (done ? kRulePause : pause_);
  pause_ = done ? kFirstPause : std::min(2 * pause_, kLongestPause);
  condition_.Set(done ? ""
                      : absl::StrCat("peers may not reach this node: ", status.message(),
                                     "; flanneld tries again; else allow inbound UDP port ", port,
                                     " yourself"),
                 now);
}

}  // namespace weft::backend
