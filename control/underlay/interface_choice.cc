// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/interface_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "re2/re2.h"

namespace weft::underlay {
namespace {

using host::Adapter;
using host::AssignedAddress;
using host::Route;

// An adapter, the address by which it was found, if any, and what found it.
struct Candidate {
  enum class By : std::uint8_t { kAddress, kName, kRoute };
  const Adapter* adapter = nullptr;
  std::optional<IpAddress> matched;
  By by = By::kName;
};

bool IsOfPods(const IpAddress& address, const InterfaceRequest& request) {
  return std::ranges::any_of(request.pod_subnets,
                             [&](const IpPrefix& each) { return each.Contains(address); });
}

// Whether `address` may be taken although no flag names it.
bool IsUsable(const IpAddress& address, const InterfaceRequest& request) {
  return !(request.windows && IsUnset(address)) && !IsOfPods(address, request);
}

bool IsPublic(const IpAddress& address, const InterfaceRequest& request) {
  return IpAddress::Parse(address.is_v4() ? request.public_ip : request.public_ipv6) == address;
}

// Of addresses that are otherwise equal the one of the least value is taken.
int RankOf(const AssignedAddress& assigned, const InterfaceRequest& request) {
  if (IsPublic(assigned.address, request)) return -1;
  if (assigned.address.IsLinkLocal()) return 4;
  if (assigned.deprecated) return 3;
  if (Contains(request.node_ips, assigned.address)) return 0;
  return Contains(request.published, assigned.address) ? 1 : 2;
}

std::string_view FamilyName(IpFamily family) { return family == IpFamily::kV4 ? "IPv4" : "IPv6"; }

// "eth0 (10.0.0.1, fe80::1), lo (127.0.0.1)".
std::string Listing(const std::vector<Adapter>& adapters) {
  return absl::StrJoin(adapters, ", ", [](std::string* out, const Adapter& adapter) {
    absl::StrAppend(out, adapter.name, " (",
                    absl::StrJoin(adapter.addresses, ", ",
                                  [](std::string* text, const AssignedAddress& a) {
                                    text->append(a.address.ToString());
                                  }),
                    ")");
  });
}

// A Windows NIC that a virtual switch has taken keeps its name, and its addresses move to an
// adapter "vEthernet (<name>)"; when the switch goes they move back.
std::string OtherEndOfSwitch(const std::string& name) {
  constexpr std::string_view kBegin = "vEthernet (";
  if (name.starts_with(kBegin) && name.ends_with(")"))
    return name.substr(kBegin.size(), name.size() - kBegin.size() - 1);
  return absl::StrCat(kBegin, name, ")");
}

class Chooser {
 public:
  Chooser(const InterfaceRequest& request, const HostFacts& facts)
      : request_(request), facts_(facts) {}

  ChoiceReasons TakeReasons() {
    return {std::move(taken_by_), std::move(tried_), std::move(named_)};
  }

  absl::StatusOr<InterfaceChoice> Run() {
    for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      const std::string& text = family == IpFamily::kV4 ? request_.public_ip : request_.public_ipv6;
      if (text.empty()) continue;
      const std::optional<IpAddress> address = IpAddress::Parse(text);
      if (!address || address->family() != family) {
        return absl::InvalidArgumentError(
            absl::StrCat("the public address \"", text, "\" is not an ", FamilyName(family),
                         " address; correct --public-ip", family == IpFamily::kV4 ? "" : "v6",
                         " or the node's node-public-ip annotation"));
      }
      (family == IpFamily::kV4 ? public_v4_ : public_v6_) = address;
    }
    if (!request_.names_interface()) return Unnamed();
    for (const std::string& name : request_.iface)
      if (auto choice = Try(absl::StrCat("--iface=", name), ByAddressOrName(name))) return *choice;
    for (const std::string& pattern : request_.iface_regex) {
      const RE2 expression(pattern, RE2::Quiet);
      if (!expression.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--iface-regex=", pattern,
                         " is not a regular expression of RE2: ", expression.error()));
      }
      if (auto choice = Try(absl::StrCat("--iface-regex=", pattern),
                            pattern.empty() ? ByDefaultRoute() : ByExpression(expression)))
        return *choice;
    }
    if (!request_.iface_can_reach.empty()) {
      const std::optional<IpAddress> target = IpAddress::Parse(request_.iface_can_reach);
      if (!target) {
        return absl::InvalidArgumentError(
            absl::StrCat("--iface-can-reach=", request_.iface_can_reach, " is not an IP address"));
      }
      if (auto choice =
              Try(absl::StrCat("--iface-can-reach=", request_.iface_can_reach), ByReach(*target))) {
        return *choice;
      }
    }
    return NothingFits();
  }

 private:
  absl::StatusOr<InterfaceChoice> Unnamed() {
    if (public_v4_ || public_v6_) {
      const IpAddress& address = public_v4_ ? *public_v4_ : *public_v6_;
      if (auto choice =
              Try(absl::StrCat("the public address ", address.ToString()), ByAddress(address)))
        return *choice;
      tried_.back().append(
          "; if it is translated on the way (NAT), name the interface with --iface");
      return NothingFits();
    }
    for (const IpAddress& ip : request_.node_ips) {
      const Adapter* const owner = OwnerOf(ip, facts_.adapters, facts_.own_devices);
      const bool required = ip.is_v4() ? request_.require_v4 : request_.require_v6;
      if (!required || !owner || owner->loopback || ip.IsLinkLocal() ||
          Find(*owner, ip)->deprecated || !IsUsable(ip, request_) ||
          !WhyNoUnderlay(*owner, request_, facts_).empty())
        continue;
      if (auto choice = Try(absl::StrCat("the Node's InternalIP ", ip.ToString()), ByAddress(ip)))
        return *choice;
    }
    if (auto choice = Try("the default route", ByDefaultRoute())) return *choice;
    return NothingFits();
  }

  absl::StatusOr<Candidate> ByAddress(const IpAddress& address) const {
    const Adapter* owner = OwnerOf(address, facts_.adapters, facts_.own_devices);
    if (!owner) return absl::NotFoundError("no adapter has that address");
    return Candidate{owner, address, Candidate::By::kAddress};
  }

  // As upstream, an empty text names the default route's.
  absl::StatusOr<Candidate> ByAddressOrName(const std::string& text) const {
    if (text.empty()) return ByDefaultRoute();
    if (const std::optional<IpAddress> address = IpAddress::Parse(text)) return ByAddress(*address);
    const Adapter* named = ByName(text);
    if (!named || !HasAddresses(*named)) {
      if (const Adapter* other = OtherEnd(text, named)) return Candidate{other, {}};
    }
    if (named) return Candidate{named, {}};
    return absl::NotFoundError("no adapter has that name");
  }

  // The other end of a virtual switch, if it has the addresses; or null. Pods' and machines'
  // adapters may have its name, too, but not the MAC.
  const Adapter* OtherEnd(const std::string& name, const Adapter* named) const {
    const Adapter* other = ByName(OtherEndOfSwitch(name));
    if (other && !HasAddresses(*other)) other = nullptr;
    if (!named || !request_.windows || named->mac == MacAddress() ||
        (other && other->mac == named->mac))
      return other;
    const auto found = std::ranges::find_if(facts_.adapters, [&](const Adapter& a) {
      return a.mac == named->mac && a.index != named->index && HasAddresses(a);
    });
    return found == facts_.adapters.end() ? other : &*found;
  }

  const Adapter* ByName(const std::string& name) const {
    const auto found = std::ranges::find(facts_.adapters, name, &Adapter::name);
    return found == facts_.adapters.end() ? nullptr : &*found;
  }
  bool HasAddresses(const Adapter& adapter) const {
    return (!request_.require_v4 || BestAddress(adapter, IpFamily::kV4, request_)) &&
           (!request_.require_v6 || BestAddress(adapter, IpFamily::kV6, request_));
  }
  std::optional<IpAddress> Usable(const std::optional<IpAddress>& address) const {
    return address && IsUsable(*address, request_) ? address : std::nullopt;
  }

  absl::StatusOr<Candidate> ByExpression(const RE2& expression) const {
    const IpFamily family = request_.require_v4 ? IpFamily::kV4 : IpFamily::kV6;
    Candidate first;
    int rank = 3;
    for (const Adapter& adapter : facts_.adapters) {
      if (!WhyNoUnderlay(adapter, request_, facts_).empty()) continue;
      for (const AssignedAddress& assigned : adapter.addresses) {
        const int own_rank = std::min(RankOf(assigned, request_), 2);
        if (own_rank >= rank || assigned.address.family() != family || !Usable(assigned.address) ||
            !RE2::PartialMatch(assigned.address.ToString(), expression))
          continue;
        first = {&adapter, assigned.address};
        rank = own_rank;
      }
    }
    if (first.adapter) return first;
    const Adapter* without = nullptr;
    for (const Adapter& adapter : facts_.adapters) {
      if (!RE2::PartialMatch(adapter.name, expression)) continue;
      if (HasAddresses(adapter)) return Candidate{&adapter, {}};
      if (const Adapter* other = OtherEnd(adapter.name, &adapter)) return Candidate{other, {}};
      if (!without) without = &adapter;
    }
    if (without) return Candidate{without, {}};
    return absl::NotFoundError("matches neither an address nor a name of an adapter");
  }

  absl::StatusOr<Candidate> ByReach(const IpAddress& target) const {
    const absl::StatusOr<Route> route = facts_.route_to(target);
    if (!route.ok()) return route.status();
    const Adapter* adapter = ByIndex(route->adapter_index, facts_.adapters);
    if (!adapter)
      return absl::NotFoundError(
          absl::StrCat("the route leads to the unknown adapter ", route->adapter_index));
    return Candidate{adapter, Usable(route->source), Candidate::By::kRoute};
  }

  absl::StatusOr<Candidate> ByDefaultRoute() const {
    const Route* best = nullptr;
    std::string passed_over;
    for (const Route& route : request_.require_v4 ? facts_.routes_v4 : facts_.routes_v6) {
      const Adapter* const adapter = ByIndex(route.adapter_index, facts_.adapters);
      if (route.destination.length() != 0 || route.kind != host::RouteKind::kPlain || !adapter)
        continue;
      if (const std::string_view reason = WhyNoUnderlay(*adapter, request_, facts_);
          !reason.empty()) {
        absl::StrAppend(&passed_over, passed_over.empty() ? " but that of " : ", and that of ",
                        adapter->name, " (", reason, ")");
        continue;
      }
      if (!best || host::PrecedenceOf(route) < host::PrecedenceOf(*best) ||
          (host::PrecedenceOf(route) == host::PrecedenceOf(*best) && HasPublished(route) &&
           !HasPublished(*best)))
        best = &route;
    }
    if (!best) {
      return absl::NotFoundError(
          absl::StrCat("this host has none", passed_over, "; name the interface with --iface"));
    }
    return Candidate{ByIndex(best->adapter_index, facts_.adapters), Usable(best->source),
                     Candidate::By::kRoute};
  }

  // Whether its adapter has an address that the Node has published.
  bool HasPublished(const Route& route) const {
    const Adapter* const adapter = ByIndex(route.adapter_index, facts_.adapters);
    return std::ranges::any_of(request_.published,
                               [&](const IpAddress& ip) { return Find(*adapter, ip) != nullptr; });
  }

  // The choice that `candidate` makes, or a note why it makes none.
  std::optional<absl::StatusOr<InterfaceChoice>> Try(std::string_view what,
                                                     const absl::StatusOr<Candidate>& candidate) {
    absl::StatusOr<InterfaceChoice> choice =
        candidate.ok() ? ChoiceOf(*candidate) : absl::StatusOr<InterfaceChoice>(candidate.status());
    if (choice.ok()) {
      taken_by_ = what;
      return choice;
    }
    // A link without MTU is a broken driver, not a reason to try the next candidate.
    if (choice.status().code() == absl::StatusCode::kFailedPrecondition) return choice;
    tried_.push_back(absl::StrCat(what, ": ", choice.status().message()));
    return std::nullopt;
  }

  absl::StatusOr<InterfaceChoice> ChoiceOf(const Candidate& candidate) {
    const Adapter& adapter = *candidate.adapter;
    std::optional<IpAddress> v4, v6;
    named_.clear();
    for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      if (!(family == IpFamily::kV4 ? request_.require_v4 : request_.require_v6)) continue;
      std::optional<IpAddress>& address = family == IpFamily::kV4 ? v4 : v6;
      const bool matches = candidate.matched && candidate.matched->family() == family;
      const AssignedAddress* const best =
          matches ? nullptr : BestAddress(adapter, family, request_);
      if (!matches && !best) {
        const std::string_view why = WhyNoUnderlay(adapter, request_, facts_);
        return absl::NotFoundError(
            absl::StrCat("adapter ", adapter.name, " has no ", FamilyName(family), " address",
                         why.empty() ? "" : absl::StrCat(" for traffic between nodes: ", why)));
      }
      address = matches ? *candidate.matched : best->address;
      using By = Candidate::By;
      if ((matches && candidate.by == By::kAddress) ||
          (candidate.by != By::kRoute &&
           (Contains(request_.node_ips, *address) || IsPublic(*address, request_))))
        named_.push_back(*address);
    }
    return ChoiceOn(adapter, request_, v4, v6);
  }

  absl::Status NothingFits() const {
    return absl::NotFoundError(
        absl::StrCat("no adapter fits for the traffic between nodes: ", absl::StrJoin(tried_, "; "),
                     ". Adapters here: ", Listing(facts_.adapters),
                     "; flanneld waits for one that fits; correct --iface if none will"));
  }

  const InterfaceRequest& request_;
  const HostFacts& facts_;
  std::optional<IpAddress> public_v4_, public_v6_;
  std::string taken_by_;
  std::vector<std::string> tried_;
  std::vector<IpAddress> named_;
};

}  // namespace

const Adapter* ByIndex(std::uint32_t index, const std::vector<Adapter>& adapters) {
  const auto found = std::ranges::find(adapters, index, &Adapter::index);
  return found == adapters.end() ? nullptr : &*found;
}

bool Contains(const std::vector<IpAddress>& addresses, const IpAddress& address) {
  return std::ranges::find(addresses, address) != addresses.end();
}

const AssignedAddress* Find(const Adapter& adapter, const IpAddress& address) {
  const auto found = std::ranges::find(adapter.addresses, address, &AssignedAddress::address);
  return found == adapter.addresses.end() ? nullptr : &*found;
}

const Adapter* OwnerOf(const IpAddress& address, const std::vector<Adapter>& adapters,
                       const std::vector<std::string>& except, std::uint32_t preferred) {
  const Adapter* owner = nullptr;
  int least = 0;
  for (const Adapter& adapter : adapters) {
    const AssignedAddress* const assigned = Find(adapter, address);
    if (!assigned || std::ranges::find(except, adapter.name) != except.end()) continue;
    const bool is_preferred = adapter.index == preferred;
    const int rank = (adapter.loopback ? 8 : 0) + (adapter.up || is_preferred ? 0 : 4) +
                     (assigned->prefix_length == address.bits() ? 2 : 0) + (is_preferred ? 0 : 1);
    if (owner && rank >= least) continue;
    owner = &adapter;
    least = rank;
  }
  return owner;
}

bool IsUnset(const IpAddress& address) { return address.is_v4() && address.IsLinkLocal(); }

const AssignedAddress* BestAddress(const Adapter& adapter, IpFamily family,
                                   const InterfaceRequest& request) {
  const AssignedAddress* best = nullptr;
  for (const AssignedAddress& assigned : adapter.addresses) {
    if (assigned.address.family() != family || !IsUsable(assigned.address, request)) continue;
    if (!best || RankOf(assigned, request) < RankOf(*best, request)) best = &assigned;
  }
  return best;
}

absl::StatusOr<InterfaceChoice> ChoiceOn(const Adapter& adapter, const InterfaceRequest& request,
                                         const std::optional<IpAddress>& v4,
                                         const std::optional<IpAddress>& v6) {
  // A loopback's MTU exceeds what an IP packet can have.
  constexpr std::uint32_t kMost = InnerMtu::kMax + EncapsulationOverhead(IpFamily::kV4);
  const std::optional<OuterMtu> mtu = OuterMtu::From(std::min(adapter.mtu, kMost));
  if (!mtu) {
    return absl::FailedPreconditionError(
        absl::StrCat("adapter ", adapter.name, " has the MTU ", adapter.mtu,
                     ", which leaves no room for an encapsulated packet; set its MTU, or choose "
                     "another with --iface"));
  }
  const auto chosen = [](const IpAddress& address, const std::string& configured) {
    const std::optional<IpAddress> public_ip = IpAddress::Parse(configured);
    return ChosenFamily{address, public_ip.value_or(address), public_ip.has_value()};
  };
  InterfaceChoice choice{adapter.index, adapter.name, *mtu, {}, {}, adapter.mac};
  if (v4) choice.v4 = chosen(*v4, request.public_ip);
  if (v6) choice.v6 = chosen(*v6, request.public_ipv6);
  return choice;
}

std::string Text(const InterfaceChoice& choice) {
  std::string text = choice.name;
  for (const auto* const family : {&choice.v4, &choice.v6}) {
    if (!*family) continue;
    const ChosenFamily& chosen = **family;
    absl::StrAppend(&text, ", ", chosen.address.ToString());
    if (chosen.public_ip != chosen.address)
      absl::StrAppend(&text, " (published as ", chosen.public_ip.ToString(), ")");
  }
  return text;
}

absl::StatusOr<InterfaceChoice> ChooseInterface(const InterfaceRequest& request,
                                                const HostFacts& facts, ChoiceReasons* reasons) {
  Chooser chooser(request, facts);
  absl::StatusOr<InterfaceChoice> choice = chooser.Run();
  if (reasons) *reasons = chooser.TakeReasons();
  return choice;
}

std::string_view WhyNoUnderlay(const Adapter& adapter, const InterfaceRequest& request,
                               const HostFacts& facts) {
  if (std::ranges::find(facts.own_devices, adapter.name) != facts.own_devices.end())
    return "it is flanneld's own";
  const IpFamily family = request.require_v4 ? IpFamily::kV4 : IpFamily::kV6;
  const auto is_of_pods = [&](const AssignedAddress& assigned) {
    return assigned.address.family() == family && IsOfPods(assigned.address, request);
  };
  if (!BestAddress(adapter, family, request) && std::ranges::any_of(adapter.addresses, is_of_pods))
    return "its address is in this node's podCIDR";
  return request.windows ? ReasonAgainst(adapter, facts.adapters) : "";
}

std::string_view ReasonAgainst(const Adapter& adapter, const std::vector<Adapter>& adapters) {
  if (adapter.wireless) return "it is wireless";
  // What HNS and Hyper-V call the switches that they make for containers, services, machines and
  // WSL. HNS was also seen to call a switch with a NIC "vEthernet (nat) 2"; such an adapter has the
  // NIC's MAC.
  if (adapter.name != "vEthernet (nat)" && adapter.name != "vEthernet (Default Switch)" &&
      adapter.name != "vEthernet (HNS Internal NIC)" && !adapter.name.starts_with("vEthernet (WSL"))
    return "";
  const bool has_nic = std::any_of(adapters.begin(), adapters.end(), [&](const Adapter& other) {
    return other.mac == adapter.mac && other.index != adapter.index && other.mac != MacAddress();
  });
  return has_nic ? "" : "its switch has no NIC";
}

absl::StatusOr<HostFacts> ReadHostFacts(host::Host& host, std::vector<std::string> own_devices) {
  absl::StatusOr<std::vector<Adapter>> adapters = host.Adapters();
  if (!adapters.ok()) return adapters.status();
  absl::StatusOr<std::vector<Route>> v4 = host.Routes(IpFamily::kV4);
  if (!v4.ok()) return v4.status();
  absl::StatusOr<std::vector<Route>> v6 = host.Routes(IpFamily::kV6);
  if (!v6.ok()) return v6.status();
  return HostFacts{*std::move(adapters), *std::move(v4), *std::move(v6),
                   [&host](const IpAddress& destination) { return host.RouteTo(destination); },
                   std::move(own_devices)};
}

}  // namespace weft::underlay
