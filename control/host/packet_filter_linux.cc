// SPDX-License-Identifier: Apache-2.0
#include <linux/netfilter.h>

#include <algorithm>
#include <array>
#include <utility>

#include "control/host/iptables_linux.h"
#include "control/host/nftables_linux.h"
#include "control/host/packet_filter.h"

namespace weft::host {
namespace {

constexpr NftChain kTable{NFPROTO_INET, "weft", "postrouting"};
// The comments that identify our tables and rules.
constexpr std::string_view kTableComment = "made by weft's flanneld";
constexpr std::string_view kRuleComment = "weft-forward";

NftChain ForwardChain(IpFamily family) {
  return {static_cast<std::uint8_t>(family == IpFamily::kV4 ? NFPROTO_IPV4 : NFPROTO_IPV6),
          "filter", "FORWARD"};
}

std::vector<FilterRule> Of(IpFamily family, const std::vector<FilterRule>& rules) {
  std::vector<FilterRule> chosen;
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(chosen),
               [family](const FilterRule& rule) { return rule.family == family; });
  return chosen;
}

// The result of a Put: its rules, and their form in the kernel.
struct Print {
  std::vector<FilterRule> rules;
  std::vector<std::string> kernel;
};

class LinuxPacketFilter final : public PacketFilter {
 public:
  absl::StatusOr<bool> Has(FilterPart part, const std::vector<FilterRule>& rules) override {
    if (part == FilterPart::kForwardLegacy) return HasLegacyForward(rules, kRuleComment);
    if (absl::Status status = Open(); !status.ok()) return status;
    const absl::StatusOr<std::uint32_t> generation = nft_->Generation();
    if (!generation.ok()) return generation.status();
    // nf_tables has not changed since the last reading, which found the same rules.
    Seen& seen = seen_[part == FilterPart::kMasquerade ? 0 : 1];
    if (seen.generation == *generation && seen.rules == rules) return true;
    const absl::StatusOr<bool> has =
        part == FilterPart::kMasquerade ? HasTable(rules) : HasForward(rules);
    if (has.ok() && *has) seen = {*generation, rules};
    return has;
  }

  absl::Status Put(FilterPart part, const std::vector<FilterRule>& rules) override {
    if (part == FilterPart::kForwardLegacy) return PutLegacyForward(rules, kRuleComment);
    if (absl::Status status = Open(); !status.ok()) return status;
    return part == FilterPart::kMasquerade ? PutTable(rules) : PutForward(rules);
  }

 private:
  struct Seen {
    std::optional<std::uint32_t> generation;
    std::vector<FilterRule> rules;
  };

  // Retried at each use until it succeeds: the module may be loaded later.
  absl::Status Open() {
    if (nft_) return absl::OkStatus();
    absl::StatusOr<NfTables> nft = NfTables::Open();
    if (!nft.ok()) return nft.status();
    nft_.emplace(*std::move(nft));
    return absl::OkStatus();
  }

  // Whether the table exists and is ours. FailedPrecondition: it belongs to another program.
  absl::StatusOr<bool> IsTableOurs() {
    const absl::StatusOr<std::string> comment = nft_->TableComment(kTable);
    if (absl::IsNotFound(comment.status())) return false;
    if (!comment.ok()) return comment.status();
    if (*comment == kTableComment) return true;
    return absl::FailedPreconditionError(
        "nftables' table inet weft was not made by flanneld and is not changed; delete it if no "
        "program needs it (nft delete table inet weft)");
  }

  // Empty: no table of ours.
  absl::StatusOr<std::vector<std::string>> ReadTable() {
    std::vector<std::string> print;
    const absl::StatusOr<bool> ours = IsTableOurs();
    if (!ours.ok()) return ours.status();
    if (!*ours) return print;
    const absl::StatusOr<std::string> hook = nft_->Hook(kTable);
    if (!hook.ok() && !absl::IsNotFound(hook.status())) return hook.status();
    print.push_back(hook.value_or(""));
    const absl::StatusOr<std::vector<NftRule>> rules = nft_->Rules(kTable);
    if (!rules.ok()) return rules.status();
    for (const NftRule& rule : *rules) print.push_back(rule.expressions);
    return print;
  }

  absl::StatusOr<bool> HasTable(const std::vector<FilterRule>& rules) {
    const absl::StatusOr<std::vector<std::string>> print = ReadTable();
    if (rules.empty()) {
      // A table of another program must not be deleted either.
      if (absl::IsFailedPrecondition(print.status())) return true;
      if (!print.ok()) return print.status();
      return print->empty();
    }
    if (!print.ok()) return print.status();
    return rules == table_.rules && *print == table_.kernel;
  }

  absl::Status PutTable(const std::vector<FilterRule>& rules) {
    table_ = {};
    const absl::StatusOr<bool> ours = IsTableOurs();
    if (!ours.ok()) return ours.status();
    if (rules.empty() && !*ours) return absl::OkStatus();
    NftBatch batch;
    if (*ours) batch.DeleteTable(kTable);
    if (!rules.empty()) {
      batch.AddTable(kTable, kTableComment);
      batch.AddPostroutingChain(kTable);
      for (const FilterRule& rule : rules) batch.AddRule(kTable, rule, "");
    }
    if (absl::Status status = nft_->Commit(std::move(batch)); !status.ok()) return status;
    absl::StatusOr<std::vector<std::string>> print = ReadTable();
    if (!print.ok()) return print.status();
    // One entry for the hook and one for each rule; otherwise another program changed the table.
    if (print->size() == (rules.empty() ? 0 : rules.size() + 1))
      table_ = {rules, *std::move(print)};
    return absl::OkStatus();
  }

  // Our rules in the chain; empty: there is no such chain.
  absl::StatusOr<std::optional<std::vector<NftRule>>> ReadForward(IpFamily family) {
    const NftChain chain = ForwardChain(family);
    const absl::StatusOr<std::string> hook = nft_->Hook(chain);
    if (absl::IsNotFound(hook.status())) return std::nullopt;
    if (!hook.ok()) return hook.status();
    absl::StatusOr<std::vector<NftRule>> rules = nft_->Rules(chain);
    if (!rules.ok()) return rules.status();
    std::erase_if(*rules, [](const NftRule& rule) { return rule.comment != kRuleComment; });
    return *std::move(rules);
  }

  static std::vector<std::string> Expressions(const std::vector<NftRule>& rules) {
    std::vector<std::string> expressions;
    expressions.reserve(rules.size());
    for (const NftRule& rule : rules) expressions.push_back(rule.expressions);
    return expressions;
  }

  absl::StatusOr<bool> HasForward(const std::vector<FilterRule>& rules) {
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      const auto there = ReadForward(family);
      if (!there.ok()) return there.status();
      if (!*there) continue;
      const std::vector<FilterRule> desired = Of(family, rules);
      const Print& put = forward_[family == IpFamily::kV4 ? 0 : 1];
      if (desired.empty() ? !(*there)->empty()
                          : desired != put.rules || Expressions(**there) != put.kernel)
        return false;
    }
    return true;
  }

  // Rules in sync are not touched, and one family's error does not stop the other.
  absl::Status PutForward(const std::vector<FilterRule>& rules) {
    absl::Status first;
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6})
      first.Update(PutForward(family, Of(family, rules)));
    return first;
  }

  absl::Status PutForward(IpFamily family, const std::vector<FilterRule>& desired) {
    const NftChain chain = ForwardChain(family);
    Print& put = forward_[family == IpFamily::kV4 ? 0 : 1];
    auto there = ReadForward(family);
    if (!there.ok()) return there.status();
    if (*there && desired == put.rules && Expressions(**there) == put.kernel)
      return absl::OkStatus();
    put = {};
    if (!*there || ((*there)->empty() && desired.empty())) return absl::OkStatus();
    NftBatch batch;
    for (const NftRule& rule : **there) batch.DeleteRule(chain, rule.handle);
    for (const FilterRule& rule : desired) batch.AddRule(chain, rule, kRuleComment);
    if (absl::Status status = nft_->Commit(std::move(batch)); !status.ok()) return status;
    there = ReadForward(family);
    if (!there.ok()) return there.status();
    if (*there && (*there)->size() == desired.size()) put = {desired, Expressions(**there)};
    return absl::OkStatus();
  }

  std::optional<NfTables> nft_;
  std::array<Seen, 2> seen_;
  Print table_;
  std::array<Print, 2> forward_;
};

}  // namespace

std::unique_ptr<PacketFilter> OpenPacketFilter() { return std::make_unique<LinuxPacketFilter>(); }

}  // namespace weft::host
