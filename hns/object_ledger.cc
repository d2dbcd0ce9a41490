// SPDX-License-Identifier: Apache-2.0
#include "hns/object_ledger.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weft::hns {
namespace {

constexpr std::string_view kVsid = " VSID ", kPort = " port ";

}  // namespace

bool ObjectLedger::MadeThisBoot(const LedgerObject& object) {
  const std::vector<KnownObject> known = Objects(object.kind);
  return std::any_of(known.begin(), known.end(), [&](const KnownObject& each) {
    return each.name == object.name && each.made && each.this_boot && each.shape == object.shape;
  });
}

std::string ShapeOf(const Network& network) {
  std::string shape = network.type;
  if (network.subnets.empty()) return shape;
  const Subnet& first = network.subnets.front();
  absl::StrAppend(&shape, " ", first.prefix.ToString());
  if (first.isolation_id) absl::StrAppend(&shape, kVsid, *first.isolation_id);
  if (const auto port = network.vxlan_port(); port && *port != kUsualVxlanPort)
    absl::StrAppend(&shape, kPort, *port);
  return shape;
}

void FillFromShape(std::string_view shape, Network& network) {
  if (network.subnets.empty()) return;
  const auto number = [&](std::string_view word) -> std::optional<std::uint32_t> {
    const std::size_t at = shape.find(word);
    std::uint32_t value = 0;
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = shape.substr(at + word.size());
    if (!absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &value)) return std::nullopt;
    return value;
  };
  auto& vsid = network.subnets.front().isolation_id;
  if (!vsid) vsid = number(kVsid);
  const std::uint32_t port = number(kPort).value_or(kUsualVxlanPort);
  if (!network.vxlan_port() && port <= 0xFFFF)
    network.policies.push_back(VxlanPortPolicy(static_cast<std::uint16_t>(port)));
}

}  // namespace weft::hns
