// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/tunnel_firewall.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "vxlan/vni.h"

namespace weft::backend {
namespace {

// Between tries to create the rule, and between readings of one that exists.
constexpr control::Duration kFirstPause = std::chrono::seconds(1);
constexpr control::Duration kLongestPause = std::chrono::seconds(30);
constexpr control::Duration kRulePause = std::chrono::minutes(5);

}  // namespace

// Recorded before it is created. One that was there before is used as it is, and recorded so.
absl::Status TunnelFirewall::Create(const std::string& rule, std::uint16_t port) {
  const absl::StatusOr<bool> there = host_.HasFirewallRule(rule);
  if (!there.ok()) return there.status();
  const auto enter = [&](bool adopted) {
    if (!ledger_) return;
    ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
      if (adopted && ledger.Find(ledger::kFirewallRule, rule)) return std::nullopt;
      return ledger.Put({std::string(ledger::kFirewallRule), rule, absl::StrCat(port), adopted});
    });
  };
  enter(/*adopted=*/*there);
  absl::Status status = host_.AllowUdpIn(rule, port);
  if (status.ok() || *there || !ledger_) return status;
  // A call that failed may have created it all the same.
  if (const absl::StatusOr<bool> made = host_.HasFirewallRule(rule); made.ok() && !*made) {
    ledger_->Use(
        [&](ledger::Ledger& ledger) { return ledger.Remove(ledger::kFirewallRule, rule); });
  }
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
  // Also a rule that exists: a group policy or another program may remove it.
  again_ = now + (done ? kRulePause : pause_);
  pause_ = done ? kFirstPause : std::min(2 * pause_, kLongestPause);
  condition_.Set(done ? ""
                      : absl::StrCat("peers may not reach this node: ", status.message(),
                                     "; tried again; else let UDP to port ", port, " in yourself"),
                 now);
}

}  // namespace weft::backend
