// SPDX-License-Identifier: Apache-2.0
#include "control/lease/peer_state.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace weft::lease {
namespace {

struct Row {
  PeerState state;
  const char* name;  // scripts and metrics depend on it
  bool usable;
};

constexpr Row kRows[] = {
    {PeerState::kUsable, "usable", true},
    {PeerState::kSelf, "self", false},
    {PeerState::kDuplicatePublicIp, "duplicate-public-ip", true},
    {PeerState::kNestedSubnet, "nested-subnet", true},
    {PeerState::kOverlap, "overlap", false},
    {PeerState::kVniMismatch, "vni-mismatch", false},
    {PeerState::kMissingMac, "missing-mac", false},
    {PeerState::kMissingPublicIp, "missing-public-ip", false},
    {PeerState::kForeignBackend, "foreign-backend", false},
    {PeerState::kOutsideNetwork, "outside-network", false},
    {PeerState::kKeptLease, "kept-lease", true},
    {PeerState::kHostChanged, "host-changed", true},
    {PeerState::kHostConflict, "host-conflict", false},
    {PeerState::kReservedRange, "reserved-range", false},
    {PeerState::kBadPublicIp, "bad-public-ip", false},
    {PeerState::kFamilyOff, "family-off", false},
};

TEST(PeerState, NamesAndUsability) {
  static_assert(std::size(kRows) == kPeerStates);
  for (const Row& row : kRows) {
    EXPECT_EQ(Name(row.state), row.name);
    EXPECT_EQ(IsUsable(row.state), row.usable) << row.name;
    const bool plain = row.state == PeerState::kUsable || row.state == PeerState::kSelf ||
                       row.state == PeerState::kFamilyOff;
    EXPECT_EQ(IsRemarkable(row.state), !plain) << row.name;
  }
}

TEST(PeerState, EachHasASentenceOfItsOwn) {
  std::set<std::string> sentences;
  for (const Row& row : kRows) {
    const std::string sentence(Sentence(row.state));
    EXPECT_TRUE(sentence.ends_with('.')) << row.name;
    EXPECT_TRUE(sentences.insert(sentence).second) << row.name;
    // The sentence of an unused lease begins with that.
    if (!row.usable && row.state != PeerState::kSelf)
      EXPECT_TRUE(sentence.starts_with("Not used")) << row.name;
  }
}

}  // namespace
}  // namespace weft::lease
