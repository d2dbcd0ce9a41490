// SPDX-License-Identifier: Apache-2.0
#include "control/node/pod_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/log.h"

namespace weft::node {
namespace {

using host::FilterPart;

constexpr auto kQuiet = std::chrono::minutes(5);  // after which losses are counted from zero
constexpr auto kLongestFilterPause = std::chrono::seconds(60);
constexpr int kFight = 3;  // losses
constexpr int kBlind = 3;  // readings

std::chrono::seconds PauseAfter(int times) {
  return std::min<std::chrono::seconds>(kLongestFilterPause,
                                        std::chrono::seconds(1 << std::min(times - 1, 6)));
}

bool MayPassSoon(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

PodRules::PodRules(std::shared_ptr<host::PacketFilter> filter,
                   std::shared_ptr<ledger::NodeLedger> ledger, std::chrono::seconds legacy_period)
    : filter_(std::move(filter)),
      ledger_(std::move(ledger)),
      legacy_period_(std::max(legacy_period, std::chrono::seconds(1))),
      masquerade_{FilterPart::kMasquerade,
                  "nftables' table inet weft for masquerading (--ip-masq)"},
      forward_{FilterPart::kForward,
               "the rules that accept pods in nftables' chain FORWARD (--iptables-forward-rules)"},
      legacy_{FilterPart::kForwardLegacy,
              "the rules that accept pods in iptables-legacy's chain FORWARD "
              "(--iptables-forward-rules)"} {}

void PodRules::SetDesired(const Desired& desired, Clock::time_point now) {
  const auto set = [&](Part& part, const std::vector<host::FilterRule>& rules) {
    if (has_desired_ && part.rules == rules) return;
    part.rules = rules;
    part.in_place = false;
    part.losses = part.failures = part.blind = 0;
    part.next_poll = part.next_put = now;
  };
  set(masquerade_, desired.masquerade);
  set(forward_, desired.forward);
  set(legacy_, desired.forward);
  has_desired_ = true;
  Poll(now);
}

void PodRules::Poll(Clock::time_point now) {
  if (!filter_ || !has_desired_) return;
  for (Part* part : {&masquerade_, &forward_, &legacy_}) {
    // Removed and not desired: nothing to read.
    if (now < part->next_poll || (part->in_place && part->rules.empty())) continue;
    Inspect(*part, now);
    const bool soon = part->blind > 0 && part->blind < kBlind;
    if (part == &legacy_ && !soon) part->next_poll = now + legacy_period_;
  }
  masquerade_condition_.Set(masquerade_.condition);
  forward_condition_.Set(forward_.condition.empty() ? legacy_.condition : forward_.condition);
}

void PodRules::Inspect(Part& part, Clock::time_point now) {
  const absl::StatusOr<bool> has = filter_->Has(part.part, part.rules);
  if (!has.ok()) {
    part.blind = MayPassSoon(has.status()) ? part.blind + 1 : kBlind;
    if (part.in_place && part.blind < kBlind) return;
    // Unreadable: the last known state counts. Where nothing is desired, nothing is missing. Which
    // legacy tables there are only root may read: that is said once, since nothing here ends it.
    const bool unknown = &part == &legacy_ && absl::IsPermissionDenied(has.status());
    if (unknown && !part.rules.empty() && !std::exchange(said_unknown_, true))
      control::LogWarning(has.status().message());
    part.condition = part.rules.empty() || unknown ? "" : std::string(has.status().message());
    return;
  }
  part.blind = 0;
  if (part.losses > 0 && now - part.lost >= kQuiet) part.losses = 0;
  if (*has) {
    if (part.losses < kFight) part.condition.clear();
    part.in_place = true;
    return;
  }
  if (part.in_place) {
    ++part.losses;
    part.lost = now;
    control::LogWarning(absl::StrCat("another program removed or changed ", part.title));
    if (part.losses >= kFight) {
      part.condition = absl::StrCat("another program removes or changes ", part.title,
                                    " repeatedly; flanneld restores it after a pause; "
                                    "find that program (nft monitor)");
    }
  }
  part.in_place = false;
  if (now >= part.next_put) Put(part, now);
}

void PodRules::Put(Part& part, Clock::time_point now) {
  part.next_put = now + PauseAfter(std::max(part.losses, part.failures + 1));
  if (!part.rules.empty()) Record(part, true);
  const absl::Status status = filter_->Put(part.part, part.rules);
  if (!status.ok()) {
    ++part.failures;
    part.condition = absl::StrCat(
        part.title,
        part.rules.empty() ? " cannot be removed: " : " cannot be installed: ", status.message());
    return;
  }
  part.failures = 0;
  if (part.losses < kFight) part.condition.clear();
  part.in_place = true;
  const std::string line = absl::StrCat(part.rules.empty() ? "removed " : "installed ", part.title);
  if (limit_.Allows(line, now) || part.losses == 0) control::LogInfo(line);
  if (part.rules.empty()) Record(part, false);
}

void PodRules::Record(const Part& part, bool made) {
  if (!ledger_) return;
  ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
    const ledger::FilterRules entry{part.part};
    const bool entered = ledger.Find(entry) != nullptr;
    if (entered == made) return std::nullopt;
    return made ? ledger.Intend({entry}) : ledger.Forget({entry});
  });
}

}  // namespace weft::node
