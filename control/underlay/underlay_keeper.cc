// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/underlay_keeper.h"

#include "absl/strings/str_cat.h"

namespace weft::underlay {
namespace {

using host::Adapter;
using host::AssignedAddress;

std::optional<IpAddress> AddressOf(const std::optional<ChosenFamily>& family) {
  return family ? std::optional(family->address) : std::nullopt;
}

bool HaveSameAddresses(const InterfaceChoice& a, const InterfaceChoice& b) {
  return AddressOf(a.v4) == AddressOf(b.v4) && AddressOf(a.v6) == AddressOf(b.v6);
}

bool HasAddresses(const Adapter* adapter, const InterfaceChoice& choice) {
  const auto has = [&](const std::optional<ChosenFamily>& family) {
    return !family || Find(*adapter, family->address);
  };
  return adapter && has(choice.v4) && has(choice.v6);
}

bool HasLink(const Adapter& adapter) { return adapter.up && adapter.link; }

// The adapter that carries the first address of `choice`: another than its own only where that
// carries it better. Null: none; kube-proxy's device with virtual IPs is down.
const Adapter* HolderOf(const InterfaceChoice& choice, const HostFacts& facts) {
  for (const auto* const family : {&choice.v4, &choice.v6}) {
    if (!*family) continue;
    const Adapter* const holder =
        OwnerOf((*family)->address, facts.adapters, facts.own_devices, choice.index);
    if (holder && (holder->index == choice.index || (holder->up && !holder->loopback)))
      return holder;
  }
  return nullptr;
}

// Where the addresses of `choice` are, or were. Windows may not list a NIC that is bound to a
// switch: the switch's adapter has its MAC. Null: the adapter is missing.
const Adapter* HomeOf(const InterfaceChoice& choice, const HostFacts& facts, bool windows) {
  if (const Adapter* const holder = HolderOf(choice, facts)) return holder;
  const Adapter* home = nullptr;
  for (const Adapter& adapter : facts.adapters) {
    if (adapter.index == choice.index || adapter.name == choice.name) return &adapter;
    if (windows && adapter.mac == choice.mac && adapter.mac != MacAddress()) home = &adapter;
  }
  return home;
}

std::string WaitsText(const InterfaceChoice& current, bool missing, const std::string& lost,
                      const absl::StatusOr<InterfaceChoice>& fresh) {
  std::string text = absl::StrCat(current.name, missing ? " is missing and" : " exists but",
                                  " has lost its address ", lost, ": flanneld waits for ",
                                  missing ? "it" : "an address of it");
  if (!fresh.ok() || fresh->name == current.name) return text;
  if (missing) return absl::StrCat(text, ", for two minutes, and then moves to ", fresh->name);
  return absl::StrCat(text, ", and does not move to ", fresh->name,
                      "; to move the node, restart flanneld or name ", fresh->name,
                      " with --iface");
}

}  // namespace

bool Lasts(bool is, control::Duration duration, control::TimePoint now,
           std::optional<control::TimePoint>& since) {
  if (!is)
    since.reset();
  else if (!since)
    since = now;
  return since && now - *since >= duration;
}

absl::StatusOr<InterfaceChoice> UnderlayKeeper::Keep(const InterfaceRequest& request,
                                                     const HostFacts& facts,
                                                     const InterfaceChoice* current,
                                                     control::TimePoint now) {
  reason_.clear();
  Fresh fresh;
  fresh.choice = ChooseInterface(request, facts, &fresh.reasons);
  if (!fresh.choice.ok()) fresh.reasons.named.clear();
  if (!current) {
    request_ = request;
    adapters_ = facts.adapters;
    return fresh.choice;
  }
  const bool named = !fresh.reasons.named.empty();
  if (first_ && (HaveSameAddresses(*first_, *current) ||
                 (named && HaveSameAddresses(*fresh.choice, *current))))
    first_.reset();
  const Adapter* const home = HomeOf(*current, facts, request.windows);
  const bool gone = !HasAddresses(home, *current);
  if (gone && home && home->index == current->index && !HasLink(*home))
    gone_since_ = now + kLinkless;
  const bool lasts = Lasts(gone, kGone, now, gone_since_);
  const bool missing = Lasts(!home, kMissing, now, missing_since_);
  const Adapter* const former = first_ ? HolderOf(*first_, facts) : nullptr;
  const bool back = Lasts(former && HasAddresses(former, *first_), kBack, now, back_since_);

  // While the address is gone, another one that was named before is no reason: the list of flags or
  // of InternalIPs has it for a start without this one.
  const bool requested = !gone || request != request_;
  if (!gone) {
    request_ = request;
    adapters_ = facts.adapters;
  }
  if (requested && !(first_ && named && HaveSameAddresses(*fresh.choice, *first_)))
    if (auto moved = MoveToNamed(request, facts, *current, fresh)) return *moved;
  // A public address that this host lacks, and no interface is named.
  const bool unowned = !fresh.choice.ok() && !request.names_interface() &&
                       !(request.public_ip.empty() && request.public_ipv6.empty());
  if (!gone && unowned) return fresh.choice.status();
  if (back) {
    reason_ =
        absl::StrCat("its address of before is back for ", kBack / std::chrono::seconds(1), " s");
    return ChoiceOn(*former, request, AddressOf(first_->v4), AddressOf(first_->v6));
  }
  if (missing && fresh.choice.ok()) {
    if (!first_) first_ = *current;
    reason_ = absl::StrCat(current->name, " has been missing for ",
                           kMissing / std::chrono::minutes(1), " minutes");
    return fresh.choice;
  }
  return Follow(request, *current, home, lasts && !unowned, fresh);
}

// To the address that a flag, an annotation or the InternalIP names instead of the present one.
std::optional<InterfaceChoice> UnderlayKeeper::MoveToNamed(const InterfaceRequest& request,
                                                           const HostFacts& facts,
                                                           const InterfaceChoice& current,
                                                           const Fresh& fresh) {
  for (const IpAddress& address : fresh.reasons.named) {
    const IpAddress& mine = current.of(address.family())->address;
    const ChosenFamily& next_half = *fresh.choice->of(address.family());
    const bool is_public = next_half.configured && next_half.public_ip == address;
    const bool by_node = !is_public && Contains(request.node_ips, address);
    if (address == mine || (by_node && Contains(request.node_ips, mine))) continue;
    reason_ = absl::StrCat("requested by ",
                           is_public ? absl::StrCat("the public address ", address.ToString())
                           : by_node ? absl::StrCat("the Node's InternalIP ", address.ToString())
                                     : fresh.reasons.taken_by);
  }
  if (reason_.empty()) return std::nullopt;
  InterfaceChoice next = *fresh.choice;
  const Adapter& adapter = *ByIndex(next.index, facts.adapters);
  // What is not named stays, if that adapter has it.
  for (auto* const family : {&next.v4, &next.v6}) {
    if (!*family || Contains(fresh.reasons.named, (*family)->address)) continue;
    const std::optional<ChosenFamily>& mine = current.of((*family)->address.family());
    if (!Find(adapter, mine->address)) continue;
    if (!(*family)->configured) (*family)->public_ip = mine->address;
    (*family)->address = mine->address;
  }
  return next;
}

// The present addresses on `home`, or those of it that replace them.
absl::StatusOr<InterfaceChoice> UnderlayKeeper::Follow(const InterfaceRequest& request,
                                                       const InterfaceChoice& current,
                                                       const Adapter* home, bool gone,
                                                       const Fresh& fresh) {
  std::optional<IpAddress> v4, v6;
  std::string lost;
  for (const auto* const family : {&current.v4, &current.v6}) {
    if (!*family) continue;
    const IpAddress& address = (*family)->address;
    std::optional<IpAddress>& next = address.is_v4() ? v4 : v6;
    next = address;
    const AssignedAddress* const mine = home ? Find(*home, address) : nullptr;
    if (mine && (!mine->deprecated || Contains(fresh.reasons.named, address))) continue;
    const AssignedAddress* const other =
        home ? BestAddress(*home, address.family(), request) : nullptr;
    const bool usable =
        other && !other->deprecated && !other->address.IsLinkLocal() && HasLink(*home);
    if (usable && (mine || gone)) {
      next = other->address;
      reason_ = absl::StrCat(address.ToString(), mine ? " is deprecated" : " is gone");
    } else if (!mine) {
      lost = address.ToString();
    }
  }
  // A bridge or a switch that took the NIC over has its MAC, and may have got another address. A
  // VLAN's adapter has that MAC, too, but had its address before.
  const auto is_new = [&](const std::optional<ChosenFamily>& family) {
    const Adapter* const before = family ? OwnerOf(family->address, adapters_) : nullptr;
    return !before || before->index == current.index;
  };
  const bool other_end = home && !lost.empty() && fresh.choice.ok() &&
                         fresh.choice->mac == current.mac && current.mac != MacAddress() &&
                         is_new(fresh.choice->v4) && is_new(fresh.choice->v6);
  const bool named_elsewhere = lost.empty() && !reason_.empty() && !fresh.reasons.named.empty();
  if (gone && (other_end || named_elsewhere)) {
    if (other_end) reason_ = absl::StrCat(lost, " is gone");
    return fresh.choice;
  }
  if (!lost.empty()) {
    reason_.clear();
    return absl::UnavailableError(WaitsText(current, !home, lost, fresh.choice));
  }
  return ChoiceOn(*home, request, v4, v6);
}

}  // namespace weft::underlay
