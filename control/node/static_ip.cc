// SPDX-License-Identifier: Apache-2.0
#include "control/node/static_ip.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/log.h"

namespace weft::node {
namespace {

// How long Windows may take to move the settings by itself: 1.8 s was the most that Antrea's
// authors measured, and they wait 6 s.
constexpr auto kMoveTime = std::chrono::seconds(6);
// Until the next attempt where Windows refused one.
constexpr auto kRefusalPause = std::chrono::seconds(30);

std::string Text(const IpAddress& address) { return address.ToString(); }

// "192.168.1.10/24, gateway 192.168.1.1, DNS server 192.168.1.53, metric 5"
std::string Text(const host::StaticIp& settings, const std::vector<IpAddress>& gateways) {
  std::vector<std::string> words;
  for (const host::AssignedAddress& each : settings.addresses) words.push_back(each.ToString());
  for (const IpAddress& each : gateways) words.push_back("gateway " + Text(each));
  for (const IpAddress& each : settings.name_servers) words.push_back("DNS server " + Text(each));
  if (settings.metric) words.push_back(absl::StrCat("metric ", *settings.metric));
  return absl::StrJoin(words, ", ");
}

bool HasAddress(const host::Adapter& adapter) {
  return std::ranges::any_of(adapter.addresses, [](const host::AssignedAddress& each) {
    return each.address.is_v4() && !underlay::IsUnset(each.address);
  });
}

// A NIC on a switch has no IPv4, not even 169.254/16.
bool HasIpv4(const host::Adapter& adapter) {
  return std::ranges::any_of(
      adapter.addresses, [](const host::AssignedAddress& each) { return each.address.is_v4(); });
}

std::vector<IpAddress> GatewaysOf(const underlay::HostFacts& facts, std::uint32_t adapter_index) {
  std::vector<IpAddress> gateways;
  for (const host::Route& route : facts.routes_v4) {
    if (route.destination.length() == 0 && route.adapter_index == adapter_index && route.gateway)
      gateways.push_back(*route.gateway);
  }
  return gateways;
}

// The adapter that took the place of the one of `known`, on the same link; null: none, or it is not
// clear which.
const host::Adapter* SuccessorOf(const ledger::StaticIp& known,
                                 const std::vector<host::Adapter>& adapters) {
  const host::Adapter* successor = nullptr;
  for (const host::Adapter& each : adapters) {
    if (each.mac != known.mac || each.loopback || !each.up || !HasIpv4(each)) continue;
    if (each.index == known.adapter_index) {
      if (HasAddress(each)) return nullptr;  // it has its place still
      continue;
    }
    if (successor != nullptr) return nullptr;
    successor = &each;
  }
  return successor;
}

}  // namespace

// What `adapter` lacks.
struct StaticIpKeeper::Lack {
  const host::Adapter* adapter = nullptr;
  host::StaticIp settings;
  std::vector<IpAddress> gateways;
  bool empty() const { return settings == host::StaticIp() && gateways.empty(); }
};

// Nothing of what the adapter has from DHCP is noted.
void StaticIpKeeper::Note(const underlay::HostFacts& facts, const host::Adapter& underlay) {
  if (!HasAddress(underlay)) return;
  const absl::StatusOr<host::StaticIp> settings = host_.ReadStaticIp(underlay.index);
  if (!settings.ok()) return;
  const auto known = std::ranges::find(*known_, underlay.mac, &ledger::StaticIp::mac);
  if (settings->addresses.empty()) {
    // The same adapter: the administrator chose DHCP.
    if (known != known_->end() && known->adapter_index == underlay.index) known_->erase(known);
    return;
  }
  ledger::StaticIp now{underlay.mac, underlay.index, *settings, GatewaysOf(facts, underlay.index),
                       ""};
  if (known == known_->end())
    known_->push_back(std::move(now));
  else if (known->adapter_index == underlay.index)
    *known = std::move(now);
}

std::optional<StaticIpKeeper::Lack> StaticIpKeeper::LackOf(const underlay::HostFacts& facts,
                                                           const ledger::StaticIp& known) {
  Lack lack;
  lack.adapter = SuccessorOf(known, facts.adapters);
  if (lack.adapter == nullptr) return std::nullopt;
  const absl::StatusOr<host::StaticIp> there = host_.ReadStaticIp(lack.adapter->index);
  if (!there.ok()) return std::nullopt;
  bool has_or_lacks_one = false;  // not another adapter's
  for (const host::AssignedAddress& each : known.settings.addresses) {
    const host::Adapter* const owner = underlay::OwnerOf(each.address, facts.adapters);
    if (owner == nullptr) lack.settings.addresses.push_back(each);
    has_or_lacks_one |= owner == nullptr || owner == lack.adapter;
  }
  if (has_or_lacks_one && GatewaysOf(facts, lack.adapter->index).empty())
    lack.gateways = known.gateways;
  const auto servers = host_.NameServers();
  if (there->name_servers.empty() && servers.ok() &&
      std::ranges::any_of(known.settings.name_servers, [&](const IpAddress& each) {
        return std::ranges::find(*servers, each) == servers->end();
      }))
    lack.settings.name_servers = known.settings.name_servers;
  if (!there->metric) lack.settings.metric = known.settings.metric;
  return lack;
}

absl::Status StaticIpKeeper::Restore(const Lack& lack) {
  if (absl::Status status = host_.PutStaticIp(lack.adapter->index, lack.settings); !status.ok())
    return status;
  for (const IpAddress& gateway : lack.gateways) {
    host::Route route;
    route.destination = *IpPrefix::From(IpAddress::V4(0), 0);
    route.gateway = gateway;
    route.adapter_index = lack.adapter->index;
    const absl::Status status = host_.PutRoutes({route}).front();
    if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  }
  return absl::OkStatus();
}

std::optional<control::TimePoint> StaticIpKeeper::Inspect(const underlay::HostFacts& facts,
                                                          const host::Adapter* underlay,
                                                          control::TimePoint now) {
  if (!known_)
    known_ = ledger_ ? ledger_->RecallStaticIps(keeps_switch_) : std::vector<ledger::StaticIp>();
  if (underlay != nullptr) Note(facts, *underlay);
  bool missing = false;
  std::string refused;
  for (ledger::StaticIp& known : *known_) {
    const std::optional<Lack> lack = LackOf(facts, known);
    if (!lack) continue;
    if (lack->empty()) {
      known.adapter_index = lack->adapter->index;
      continue;
    }
    missing = true;
    if (!missing_since_) missing_since_ = now;
    if (now - *missing_since_ < kMoveTime) continue;
    const std::string what = Text(lack->settings, lack->gateways);
    if (const absl::Status status = Restore(*lack); status.ok()) {
      control::LogInfo(absl::StrCat("set ", what, " on ", lack->adapter->name,
                                    ": Windows lost it when the NIC's virtual switch was made"));
    } else {
      refused = absl::StrCat("the static IP settings ", what, " were lost when the NIC's virtual ",
                             "switch was made, and cannot be set on ", lack->adapter->name, ": ",
                             status.message(), "; set them yourself");
    }
  }
  if (!missing) missing_since_.reset();
  lost_.Set(refused);
  if (ledger_) ledger_->RememberStaticIps(*known_);
  if (!missing) return std::nullopt;
  return now + (refused.empty() ? std::chrono::seconds(1) : kRefusalPause);
}

}  // namespace weft::node
