// SPDX-License-Identifier: Apache-2.0
#include "control/backend/tunnel_firewall.h"

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
absl::Status TunnelFirewall::Create(const host::FirewallRule& rule, bool is_check) {
  const absl::StatusOr<host::RuleOwner> owner = host_.FindFirewallRule(rule.name);
  if (!owner.ok()) return owner.status();
  const ledger::FirewallRule entry{rule.name, rule.port,
                                   /*adopted=*/*owner == host::RuleOwner::kOther};
  if (ledger_) {
    ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
      const ledger::FirewallRule* const known = ledger.Find(entry);
      if (known != nullptr && known->adopted == entry.adopted) return std::nullopt;
      return entry.adopted ? ledger.Confirm(entry) : ledger.Intend({entry});
    });
  }
  const absl::StatusOr<std::string> corrected = host_.AllowUdpIn(rule);
  if (corrected.ok() && !corrected->empty() && is_check)
    control::LogWarning(absl::StrCat("the firewall rule ", rule.name, " was altered: ", *corrected,
                                     "; flanneld made it, and corrected it"));
  if (corrected.ok() || *owner != host::RuleOwner::kNone || !ledger_) return corrected.status();
  // A call that failed may still have created it.
  if (const auto made = host_.FindFirewallRule(rule.name);
      made.ok() && *made != host::RuleOwner::kOurs)
    ledger_->Use([&](ledger::Ledger& ledger) { return ledger.Forget({entry}); });
  return corrected.status();
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
    control::LogInfo(absl::StrCat("removed the firewall rule ", each.name, " for UDP port ",
                                  each.port, ", which nothing needs now"));
    ledger_->Use([&](ledger::Ledger& ledger) { return ledger.Forget({each}); });
  }
  return absl::OkStatus();
}

void TunnelFirewall::Allow(std::uint16_t port, const FirewallSources& sources,
                           control::TimePoint now) {
  const host::FirewallRule rule{FirewallRuleName(port), port, sources.prefixes};
  const bool is_same = desired_ == rule && refusal_ == sources.refusal;
  if (is_same && now < again_) return;
  if (!is_same) pause_ = kFirstPause;
  desired_ = rule;
  refusal_ = sources.refusal;
  const bool needed = !rule.sources || !rule.sources->empty();
  const absl::Status status = needed ? Create(rule, /*is_check=*/made_ == rule) : absl::OkStatus();
  if (status.ok()) made_ = rule;
  // AlreadyExists: another program's rule allows more.
  const bool allowed =
      status.ok() || absl::IsAlreadyExists(status) || absl::IsUnimplemented(status);
  const absl::Status former = allowed ? RemoveFormer(needed ? rule.name : "") : absl::OkStatus();
  const bool done = allowed && former.ok();
  // It filters nothing then: there is nothing to allow, and nothing is kept out.
  const bool down = absl::IsUnavailable(status) || absl::IsUnavailable(former);
  const std::string_view cause = allowed ? former.message() : status.message();
  // An existing rule is checked too: a group policy or another program may remove it.
  again_ = now + (done ? kRulePause : pause_);
  pause_ = done ? kFirstPause : std::min(2 * pause_, kLongestPause);
  down_.Set(down ? absl::StrCat(cause, "; once it runs, flanneld makes its rule") : "", now);
  std::string text = sources.refusal;
  if (down && rule.sources)
    text = absl::StrCat("--firewall-sources=peers has no effect: ", cause,
                        "; start it, or leave the flag out");
  else if (!former.ok() && !down)
    text = absl::StrCat("a rule that is not needed remains: ", former.message(),
                        "; flanneld tries again");
  else if (absl::IsAlreadyExists(status))
    text = absl::StrCat("--firewall-sources=peers has no effect: ", status.message(),
                        "; remove that rule, and flanneld makes its own");
  else if (!allowed && !down)
    text = absl::StrCat("peers may not reach this node: ", status.message(),
                        "; flanneld tries again; else allow inbound UDP port ", port, " yourself");
  condition_.Set(text, now);
}

}  // namespace weft::backend
