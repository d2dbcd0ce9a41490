// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/simple_host.h"

#include <algorithm>

namespace weft::hns::emulator {
namespace {

std::optional<PhysicalAdapter> Found(const SimpleHost::Adapter& adapter) {
  return PhysicalAdapter{adapter.name, adapter.usable, adapter.is_virtual};
}

}  // namespace

SimpleHost::SimpleHost(const IpAddress& address) { Add({"Ethernet", {address}, true}); }

void SimpleHost::Add(Adapter adapter) {
  const std::lock_guard lock(mutex_);
  adapters_.push_back(std::move(adapter));
}

void SimpleHost::Remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(adapters_, [&](const Adapter& adapter) { return adapter.name == name; });
}

void SimpleHost::SetAddresses(std::string_view name, std::vector<IpAddress> addresses) {
  const std::lock_guard lock(mutex_);
  for (auto& adapter : adapters_) {
    if (adapter.name == name) adapter.addresses = addresses;
  }
}

bool SimpleHost::HasSwitch(std::string_view adapter) {
  const std::lock_guard lock(mutex_);
  return switches_.contains(adapter);
}

int SimpleHost::switches_made() {
  const std::lock_guard lock(mutex_);
  return switches_made_;
}

std::vector<HostEndpoint> SimpleHost::endpoints() {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

std::optional<PhysicalAdapter> SimpleHost::FindByName(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& adapter : adapters_) {
    if (adapter.name == name) return Found(adapter);
  }
  return std::nullopt;
}

std::optional<PhysicalAdapter> SimpleHost::FindByAddress(const IpAddress& address) {
  const std::lock_guard lock(mutex_);
  for (const auto& adapter : adapters_) {
    if (std::ranges::find(adapter.addresses, address) != adapter.addresses.end()) {
      return Found(adapter);
    }
  }
  return std::nullopt;
}

std::optional<PhysicalAdapter> SimpleHost::FindDefault() {
  const std::lock_guard lock(mutex_);
  for (const auto& adapter : adapters_) {
    if (adapter.usable && !adapter.is_virtual) return Found(adapter);
  }
  return std::nullopt;
}

std::vector<PhysicalAdapter> SimpleHost::UsableAdapters() {
  const std::lock_guard lock(mutex_);
  std::vector<PhysicalAdapter> usable;
  for (const auto& adapter : adapters_) {
    if (adapter.usable && !adapter.is_virtual) usable.push_back(*Found(adapter));
  }
  return usable;
}

std::vector<IpAddress> SimpleHost::AddressesOf(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& adapter : adapters_) {
    if (adapter.name == name) return adapter.addresses;
  }
  return {};
}

void SimpleHost::AttachSwitch(std::string_view adapter, const std::string&, const SwitchTiming&) {
  const std::lock_guard lock(mutex_);
  switches_.emplace(adapter);
  ++switches_made_;
}

void SimpleHost::DetachSwitch(std::string_view adapter, const SwitchTiming&) {
  const std::lock_guard lock(mutex_);
  const auto found = switches_.find(adapter);
  if (found != switches_.end()) switches_.erase(found);
}

void SimpleHost::AttachEndpoint(const HostEndpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  endpoints_.push_back(endpoint);
}

void SimpleHost::DetachEndpoint(const Guid& endpoint) {
  const std::lock_guard lock(mutex_);
  std::erase_if(endpoints_, [&](const HostEndpoint& e) { return e.id == endpoint; });
}

}  // namespace weft::hns::emulator
