// SPDX-License-Identifier: Apache-2.0
#include "control/admin/lease_list.h"

#include <array>
#include <utility>

namespace weft::admin {
namespace {

constexpr std::size_t kMostExamples = 5;  // of one state

}  // namespace

LeaseList ListLeases(const lease::LeaseTable& table, std::string source) {
  LeaseList list{.generation = table.generation(),
                 .source = std::move(source),
                 .leases = {},
                 .refused = table.Refused(),
                 .not_joined = table.NotJoined()};
  const lease::NodeKey* last = nullptr;
  const std::vector<lease::LeaseRow> halves = table.Rows();
  for (const lease::LeaseRow& half : halves) {
    if (last == nullptr || *last != half.node) {
      list.leases.push_back({.node = half.node.name,
                             .uid = half.node.uid,
                             .backend_type = half.backend_type,
                             .v4 = {},
                             .v6 = {}});
    }
    last = &half.node;
    LeaseHalf row{
        .subnet = half.lease.subnet,
        .public_ip = half.lease.public_ip,
        .vtep_mac = half.lease.vtep_mac,
        .vni = half.lease.vni,
        .state = std::string(Name(half.state)),
        .state_sentence = half.detail.empty() ? std::string(Sentence(half.state)) : half.detail,
        .usable = IsUsable(half.state),
        .kept_since = half.lease.kept_since};
    LeaseRow& node = list.leases.back();
    (half.family == IpFamily::kV4 ? node.v4 : node.v6) = std::move(row);
  }
  return list;
}

std::vector<LeaseCount> CountLeases(const lease::LeaseTable& table) {
  std::vector<LeaseCount> counts;
  const lease::StateCounts v4 = table.Counts(IpFamily::kV4);
  const lease::StateCounts v6 = table.Counts(IpFamily::kV6);
  std::array<std::vector<LeaseExample>, lease::kPeerStates> examples;
  table.ForEachRemarkable([&](const lease::LeaseRow& row) {
    std::vector<LeaseExample>& of_state = examples[static_cast<std::size_t>(row.state)];
    if (of_state.size() < kMostExamples) of_state.push_back({row.node.name, row.detail});
  });
  for (std::size_t i = 0; i < v4.size(); ++i) {
    const auto state = static_cast<lease::PeerState>(i);
    if (v4[i] + v6[i] == 0) continue;
    counts.push_back({std::string(Name(state)), std::string(Sentence(state)), v4[i] + v6[i],
                      std::move(examples[i])});
  }
  return counts;
}

}  // namespace weft::admin
