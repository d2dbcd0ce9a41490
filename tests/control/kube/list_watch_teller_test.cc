// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_teller.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/written_source.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

DecodedNode Leased(const std::string& name) {
  DecodedNode node;
  node.kind = DecodedNode::Kind::kLease;
  node.lease = testing::MakeLease(name, "10.244.1.0/24", "192.0.2.1");
  node.lease.node.uid = "1";
  return node;
}
DecodedNode NotManaged(const std::string& name) {
  DecodedNode node;
  node.lease.node = {name, "1"};
  return node;
}
DecodedNode Refused(const std::string& name) {
  DecodedNode node = NotManaged(name);
  node.kind = DecodedNode::Kind::kRefused;
  node.refusal = "because";
  return node;
}
DecodedNode Own(DecodedNode node, bool managed = true) {
  node.own.emplace();
  node.own->node = node.lease.node;
  node.own->managed = managed;
  return node;
}

class NodeTellerTest : public ::testing::Test {
 protected:
  testing::WrittenSource source;
  NodeTeller teller{true, source};
};

TEST_F(NodeTellerTest, ASnapshotTellsLeasesAndRefusalsOnly) {
  teller.BeginSnapshot();
  EXPECT_FALSE(teller.half_told());
  teller.Tell(NodeChange::kListed, Leased("a"));
  EXPECT_TRUE(teller.half_told());
  teller.Tell(NodeChange::kListed, NotManaged("b"));
  teller.Tell(NodeChange::kListed, Refused("c"));
  teller.Tell(NodeChange::kListed, Refused(""));
  teller.EndSnapshot();
  EXPECT_FALSE(teller.half_told());
  EXPECT_THAT(source.Take(), ElementsAre("begin", "upsert a/1 10.244.1.0/24", "refused c",
                                         "refused #4", "own none", "end"));
}

// Beside what is written down elsewhere.
class Joining final : public lease::SourceListener {
 public:
  void OnSnapshotBegin() override {}
  void OnSnapshotEnd() override {}
  void OnUpsert(const lease::Lease&) override {}
  void OnDelete(const lease::NodeKey& node) override { lines.push_back("delete " + node.name); }
  void OnRefused(const lease::RefusedNode& node) override {
    lines.push_back("refused " + node.name + "/" + node.uid);
  }
  void OnNotJoined(const lease::NotJoinedNode& node) override {
    lines.push_back(node.node.name + " lacks " + node.reason);
  }
  void OnTrouble(const absl::Status&) override {}
  std::vector<std::string> lines;
};

TEST(NodeTeller, WhoHasNotJoinedIsToldAfterTheEndOfItsLease) {
  Joining listener;
  NodeTeller teller(false, listener);
  DecodedNode plain = NotManaged("b");
  plain.refusal = "an annotation";
  teller.BeginSnapshot();
  teller.Tell(NodeChange::kListed, plain);
  teller.Tell(NodeChange::kListed, Refused("c"));
  teller.EndSnapshot();
  teller.Tell(NodeChange::kModified, plain);
  EXPECT_THAT(listener.lines, ElementsAre("b lacks an annotation", "refused c/1", "delete b",
                                          "b lacks an annotation"));
}

TEST_F(NodeTellerTest, AfterItEveryChangeIsTold) {
  teller.BeginSnapshot();
  teller.EndSnapshot();
  source.Take();
  teller.Tell(NodeChange::kAdded, Leased("a"));
  teller.Tell(NodeChange::kModified, NotManaged("a"));
  teller.Tell(NodeChange::kModified, Refused("a"));
  teller.Tell(NodeChange::kDeleted, Leased("a"));
  teller.Tell(NodeChange::kDeleted, Refused("b"));
  teller.Tell(NodeChange::kDeleted, Refused(""));
  teller.Tell(NodeChange::kAdded, NotManaged("c"));
  EXPECT_THAT(source.Take(), ElementsAre("upsert a/1 10.244.1.0/24", "delete a/1", "refused a",
                                         "delete a/1", "delete b/1", "delete c/1"));
}

TEST_F(NodeTellerTest, WithinAStreamedSnapshotNodesMayGoAgain) {
  teller.BeginSnapshot();
  for (const char* name : {"a", "b"}) teller.Tell(NodeChange::kAdded, Leased(name));
  source.Take();
  teller.Tell(NodeChange::kDeleted, Leased("a"));
  teller.Tell(NodeChange::kModified, NotManaged("b"));
  teller.Tell(NodeChange::kAdded, NotManaged("c"));
  teller.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("delete a/1", "delete b/1", "own none", "end"));
}

// ---- our own Node

TEST_F(NodeTellerTest, OurNodeIsToldBeforeItsLeaseAndOnlyWhenItDiffers) {
  teller.BeginSnapshot();
  teller.Tell(NodeChange::kListed, Own(Leased("us")));
  teller.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("begin", "own us/1", "upsert us/1 10.244.1.0/24", "end"));
  teller.Tell(NodeChange::kModified, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("upsert us/1 10.244.1.0/24"));
  teller.Tell(NodeChange::kModified, Own(NotManaged("us"), false));
  EXPECT_THAT(source.Take(), ElementsAre("own us/1", "delete us/1"));
  teller.Tell(NodeChange::kModified, Own(Refused("us")));
  EXPECT_THAT(source.Take(), ElementsAre("own us/1", "refused us"));
  teller.Tell(NodeChange::kDeleted, Own(Refused("us")));
  EXPECT_THAT(source.Take(), ElementsAre("own none", "delete us/1"));
}

TEST_F(NodeTellerTest, OurNodeIsMissedAtTheEndOfASnapshot) {
  teller.BeginSnapshot();
  teller.Tell(NodeChange::kListed, Own(Leased("us")));
  teller.EndSnapshot();
  teller.BeginSnapshot();
  source.Take();
  teller.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("own none", "end"));
  teller.BeginSnapshot();
  teller.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("begin", "end"));
}

TEST_F(NodeTellerTest, OurNodeMayGoWithinASnapshot) {
  teller.BeginSnapshot();
  teller.Tell(NodeChange::kAdded, Own(Leased("us")));
  source.Take();
  teller.Tell(NodeChange::kDeleted, Own(Leased("us")));
  teller.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("own none", "delete us/1", "end"));
}

TEST_F(NodeTellerTest, OurNodeGoesOnce) {
  teller.Tell(NodeChange::kDeleted, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("delete us/1"));
  teller.BeginSnapshot();
  teller.Tell(NodeChange::kListed, Own(Leased("us")));
  teller.EndSnapshot();
  source.Take();
  teller.Tell(NodeChange::kDeleted, Leased("a"));
  teller.Tell(NodeChange::kDeleted, Own(Leased("us")));
  teller.Tell(NodeChange::kDeleted, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("delete a/1", "own none", "delete us/1", "delete us/1"));
}

TEST_F(NodeTellerTest, OurNodeMadeAnewIsNotTakenForTheOldOne) {
  teller.BeginSnapshot();
  teller.Tell(NodeChange::kListed, Own(Leased("us")));
  teller.EndSnapshot();
  DecodedNode anew = Leased("us");
  anew.lease.node.uid = "2";
  teller.Tell(NodeChange::kAdded, Own(anew));
  source.Take();
  teller.Tell(NodeChange::kDeleted, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("delete us/1"));
}

TEST(NodeTeller, WithoutANameNoNodeIsMissed) {
  testing::WrittenSource source;
  NodeTeller teller(false, source);
  teller.BeginSnapshot();
  teller.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("begin", "end"));
}

}  // namespace
}  // namespace weft::kube
