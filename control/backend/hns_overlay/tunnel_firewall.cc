// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/tunnel_firewall.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "vxlan/vni.h"

namespace weft::backend {
namespace {

// Between attempts to create the rule, and between readings of one that exists.
constexpr control::Duration kFirstPause = std::chrono::seconds(1);
constexpr control::Duration kLongestPause = std::chrono::seconds(30);
constexpr control::Duration kRulePause = std::chrono::minutes(5);

}  // namespace

std::string FirewallRuleName(std::uint16_t port) {
  return port == kVxlanPort ? host::kOverlayFirewallRule
                            : absl::StrCat("OverlayTraffic", port, "UDP");
}

// A rule that another program made is used as it is.
absl::Status TunnelFirewall::Create(const std::string& rule, std::uint16_t port) {
  const absl::StatusOr<bool> exists = host_.HasFirewallRule(rule);
  if (!exists.ok()) return exists.status();
  const ledger::FirewallRule entry{rule, port, /*adopted=*/*exists};
  bool ours = false;
  if (ledger_) {
    ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
      const ledger::FirewallRule* const known = ledger.Find(entry);
      ours = known != nullptr && !known->adopted;
      if (!entry.adopted) return ledger.Intend({entry});
      if (known != nullptr) return std::nullopt;
      return ledger.Confirm(entry);
    });
  }
  absl::Status status = host_.AllowUdpIn(rule, port);
  if (*exists && ours && absl::IsFailedPrecondition(status)) {
    control::LogWarning(absl::StrCat(status.message(), "; flanneld made it, and makes it again"));
    if (absl::Status removed = host_.RemoveFirewallRule(rule); !removed.ok()) return removed;
    status = host_.AllowUdpIn(rule, port);
  }
  if (status.ok() || *exists || !ledger_) return status;
  // A call that failed may still have created it.
  if (const absl::StatusOr<bool> made = host_.HasFirewallRule(rule); made.ok() && !*made)
    ledger_->Use([&](ledger::Ledger& ledger) { return ledger.Forget({entry}); });
  return status;
}

// Only those that the ledger records as made by us, also by an earlier process.
absl::Status TunnelFirewall::RemoveFormer(const std::string& rule) {
  if (!ledger_) return absl::OkStatus();
  std::vector<ledger::FirewallRule> former;
  ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
    former = ledger.All<ledger::FirewallRule>();
    return std::nullopt;
  });
  for (const ledger::FirewallRule& each : former) {
    if (each.adopted || each.name == rule) continue;
    if (absl::Status status = host_.RemoveFirewallRule(each.name); !status.ok()) return status;
    control::LogInfo(
        absl::StrCat("removed the firewall rule ", each.name, " of the former port ", each.port));
    ledger_->Use([&](ledger::Ledger& ledger) { return ledger.Forget({each}); });
  }
  return absl::OkStatus();
}

void TunnelFirewall::Allow(std::uint16_t port, control::TimePoint now) {
  if (allowed_ == port && now < again_) return;
  if (allowed_ != port) pause_ = kFirstPause;
  allowed_ = port;
  const std::string rule = FirewallRuleName(port);
  const absl::Status status = Create(rule, port);
  const absl::Status former = status.ok() ? RemoveFormer(rule) : absl::OkStatus();
  const bool allowed = status.ok() || absl::IsUnimplemented(status);
  const bool done = allowed && former.ok();
  // An existing rule is checked too: a group policy or another program may remove it.
  again_ = now + (done ? kRulePause : pause_);
  pause_ = done ? kFirstPause : std::min(2 * pause_, kLongestPause);
  condition_.Set(!former.ok() ? absl::StrCat("a rule of a former port remains: ", former.message(),
                                             "; flanneld tries again")
                 : allowed    ? ""
                              : absl::StrCat("peers may not reach this node: ", status.message(),
                                             "; flanneld tries again; else allow inbound UDP port ",
                                             port, " yourself"),
                 now);
}

}  // namespace weft::backend
