// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_emitter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/node_json.h"
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
DecodedNode RefusedNode(const std::string& name) {
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

class NodeEmitterTest : public ::testing::Test {
 protected:
  testing::WrittenSource source;
  NodeEmitter emitter{{}, "us", source};
};

TEST_F(NodeEmitterTest, ASnapshotReportsLeasesAndRefusalsOnly) {
  emitter.BeginSnapshot();
  EXPECT_FALSE(emitter.in_mid_snapshot());
  emitter.Emit(NodeChange::kListed, Leased("a"));
  EXPECT_TRUE(emitter.in_mid_snapshot());
  emitter.Emit(NodeChange::kListed, NotManaged("b"));
  emitter.Emit(NodeChange::kListed, RefusedNode("c"));
  emitter.Emit(NodeChange::kListed, RefusedNode(""));
  emitter.EndSnapshot();
  EXPECT_FALSE(emitter.in_mid_snapshot());
  EXPECT_THAT(source.Take(), ElementsAre("begin", "upsert a/1 10.244.1.0/24", "refused c",
                                         "refused #4", "own none", "end"));
}

TEST_F(NodeEmitterTest, ABadHalfIsReportedAfterTheLease) {
  DecodedNode half = Leased("a");
  half.lease.unread = IpFamily::kV6;
  half.refusal = "because";
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kListed, half);
  EXPECT_THAT(source.Take(), ElementsAre("begin", "upsert a/1 10.244.1.0/24", "refused a"));
}

TEST_F(NodeEmitterTest, TheNodesOfAListAreNoEvents) {
  emitter.Open(RequestKind::kList, /*begins=*/true, Encoding::kJson);
  const std::string list = testing::NodeListJson({testing::NodeFacts("a").Version("3")}, "7");
  ASSERT_TRUE(emitter.Read(list).ok());
  EXPECT_TRUE(emitter.answer().emitted_anything);
  EXPECT_FALSE(emitter.answer().watched_anything);
  EXPECT_EQ(emitter.answer().version, "");
}

// In addition to the other tests.
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
  void OnCondition(const absl::Status&) override {}
  std::vector<std::string> lines;
};

TEST(NodeEmitter, AnUnjoinedNodeIsReportedAfterTheEndOfItsLease) {
  Joining listener;
  NodeEmitter emitter({}, "", listener);
  DecodedNode plain = NotManaged("b");
  plain.refusal = "an annotation";
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kListed, plain);
  emitter.Emit(NodeChange::kListed, RefusedNode("c"));
  emitter.EndSnapshot();
  emitter.Emit(NodeChange::kModified, plain);
  EXPECT_THAT(listener.lines, ElementsAre("b lacks an annotation", "refused c/1", "delete b",
                                          "b lacks an annotation"));
}

TEST_F(NodeEmitterTest, AfterASnapshotEveryChangeIsReported) {
  emitter.BeginSnapshot();
  emitter.EndSnapshot();
  source.Take();
  emitter.Emit(NodeChange::kAdded, Leased("a"));
  emitter.Emit(NodeChange::kModified, NotManaged("a"));
  emitter.Emit(NodeChange::kModified, RefusedNode("a"));
  emitter.Emit(NodeChange::kDeleted, Leased("a"));
  emitter.Emit(NodeChange::kDeleted, RefusedNode("b"));
  emitter.Emit(NodeChange::kDeleted, RefusedNode(""));
  emitter.Emit(NodeChange::kAdded, NotManaged("c"));
  EXPECT_THAT(source.Take(), ElementsAre("upsert a/1 10.244.1.0/24", "delete a/1", "refused a",
                                         "delete a/1", "delete b/1", "delete c/1"));
}

TEST_F(NodeEmitterTest, WithinAStreamedSnapshotNodesMayBeRemoved) {
  emitter.BeginSnapshot();
  for (const char* name : {"a", "b"}) emitter.Emit(NodeChange::kAdded, Leased(name));
  source.Take();
  emitter.Emit(NodeChange::kDeleted, Leased("a"));
  emitter.Emit(NodeChange::kModified, NotManaged("b"));
  emitter.Emit(NodeChange::kAdded, NotManaged("c"));
  emitter.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("delete a/1", "delete b/1", "own none", "end"));
}

// ---- our own Node

TEST_F(NodeEmitterTest, OurNodeIsReportedBeforeItsLeaseAndOnlyWhenItDiffers) {
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kListed, Own(Leased("us")));
  emitter.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("begin", "own us/1", "upsert us/1 10.244.1.0/24", "end"));
  emitter.Emit(NodeChange::kModified, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("upsert us/1 10.244.1.0/24"));
  emitter.Emit(NodeChange::kModified, Own(NotManaged("us"), false));
  EXPECT_THAT(source.Take(), ElementsAre("own us/1", "delete us/1"));
  emitter.Emit(NodeChange::kModified, Own(RefusedNode("us")));
  EXPECT_THAT(source.Take(), ElementsAre("own us/1", "refused us"));
  emitter.Emit(NodeChange::kDeleted, Own(RefusedNode("us")));
  EXPECT_THAT(source.Take(), ElementsAre("own none", "delete us/1"));
}

TEST_F(NodeEmitterTest, OurMissingNodeIsReportedAtTheEndOfASnapshot) {
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kListed, Own(Leased("us")));
  emitter.EndSnapshot();
  emitter.BeginSnapshot();
  source.Take();
  emitter.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("own none", "end"));
  emitter.BeginSnapshot();
  emitter.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("begin", "end"));
}

TEST_F(NodeEmitterTest, OurNodeMayBeRemovedWithinASnapshot) {
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kAdded, Own(Leased("us")));
  source.Take();
  emitter.Emit(NodeChange::kDeleted, Own(Leased("us")));
  emitter.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("own none", "delete us/1", "end"));
}

TEST_F(NodeEmitterTest, OurNodesRemovalIsReportedOnce) {
  emitter.Emit(NodeChange::kDeleted, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("delete us/1"));
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kListed, Own(Leased("us")));
  emitter.EndSnapshot();
  source.Take();
  emitter.Emit(NodeChange::kDeleted, Leased("a"));
  emitter.Emit(NodeChange::kDeleted, Own(Leased("us")));
  emitter.Emit(NodeChange::kDeleted, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("delete a/1", "own none", "delete us/1", "delete us/1"));
}

TEST_F(NodeEmitterTest, OurRecreatedNodeIsNotTheOldOne) {
  emitter.BeginSnapshot();
  emitter.Emit(NodeChange::kListed, Own(Leased("us")));
  emitter.EndSnapshot();
  DecodedNode anew = Leased("us");
  anew.lease.node.uid = "2";
  emitter.Emit(NodeChange::kAdded, Own(anew));
  source.Take();
  emitter.Emit(NodeChange::kDeleted, Own(Leased("us")));
  EXPECT_THAT(source.Take(), ElementsAre("delete us/1"));
}

TEST(NodeEmitter, WithoutANameNoNodeIsReportedMissing) {
  testing::WrittenSource source;
  NodeEmitter emitter({}, "", source);
  emitter.BeginSnapshot();
  emitter.EndSnapshot();
  EXPECT_THAT(source.Take(), ElementsAre("begin", "end"));
}

}  // namespace
}  // namespace weft::kube
