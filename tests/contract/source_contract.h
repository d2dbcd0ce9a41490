// SPDX-License-Identifier: Apache-2.0
// The contract of every source (control/lease/source.h): include, derive a SourceRig, instantiate.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "control/lease/source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/node_facts.h"
#include "tests/support/wait.h"

namespace weft::testing {

// One source together with the Nodes that it reads. Our own Node is "us".
class SourceRig {
 public:
  virtual ~SourceRig() = default;
  virtual lease::Source& source() = 0;
  // Destroys it.
  virtual void End() = 0;
  // The actual Nodes; the source sees them at its next read.
  virtual void Put(const NodeFacts& node) = 0;
  virtual void Delete(const std::string& name) = 0;
  // From now on the truth cannot be read, or again.
  virtual void Break() = 0;
  virtual void Mend() = 0;
  // Gives the source some time.
  virtual void Step() = 0;
};

struct SourceCase {
  std::string name;
  std::function<std::unique_ptr<SourceRig>()> make;
};
inline void PrintTo(const SourceCase& source, std::ostream* out) { *out << source.name; }

// Applies the reports of a source, and checks that they follow the rules of SourceListener.
class BelievingListener final : public lease::SourceListener {
 public:
  void OnSnapshotBegin() override {
    ++calls;
    in_snapshot_ = true;
    reported_.clear();
  }
  void OnSnapshotEnd() override {
    ++calls;
    EXPECT_TRUE(in_snapshot_) << "an end without a begin";
    EXPECT_TRUE(own_reported) << "our Node, or its absence, is reported before the end";
    in_snapshot_ = false;
    synced = true;
    std::erase_if(leases, [&](const auto& entry) { return !reported_.contains(entry.first); });
  }
  void OnUpsert(const lease::Lease& lease) override {
    ++calls;
    EXPECT_TRUE(in_snapshot_ || synced) << "before the first snapshot";
    EXPECT_TRUE(lease.node.name != "us" || own) << "our Node is reported before its event";
    leases.insert_or_assign(lease.node, lease);
    reported_.insert(lease.node);
  }
  void OnDelete(const lease::NodeKey& node) override {
    ++calls;
    EXPECT_TRUE(in_snapshot_ || synced) << "before the first snapshot";
    leases.erase(node);
    reported_.erase(node);
  }
  void OnRefused(const lease::RefusedNode& node) override {
    ++calls;
    EXPECT_TRUE(in_snapshot_ || synced) << "before the first snapshot";
    refused[node.name] = node.reason;
  }
  void OnNotJoined(const lease::NotJoinedNode& node) override {
    ++calls;
    EXPECT_TRUE(in_snapshot_ || synced) << "before the first snapshot";
    EXPECT_TRUE(in_snapshot_ || !leases.contains(node.node)) << "its lease ends first";
    EXPECT_NE(node.reason, "");
    not_joined.insert(node.node.name + "/" + node.node.uid);
  }
  void OnCondition(const absl::Status& status) override {
    ++calls;
    condition = status;
  }
  void OnOwnNode(const std::optional<lease::OwnNode>& node) override {
    ++calls;
    own_reported = true;
    own = node;
  }

  // "a/uid-a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01"
  std::set<std::string> Lines() const {
    std::set<std::string> lines;
    for (const auto& [node, lease] : leases) {
      std::string line = node.name + "/" + node.uid;
      if (lease.v4) {
        line += " " + lease.v4->subnet.ToString();
        if (lease.v4->public_ip) line += " " + lease.v4->public_ip->ToString();
        if (lease.v4->vtep_mac) line += " " + lease.v4->vtep_mac->ToString();
      }
      lines.insert(line);
    }
    return lines;
  }

  std::map<lease::NodeKey, lease::Lease> leases;
  std::map<std::string, std::string> refused;  // name to reason
  std::set<std::string> not_joined;            // ever: "a/uid-a"
  std::optional<lease::OwnNode> own;
  bool own_reported = false;
  absl::Status condition;  // the last
  bool synced = false;
  int calls = 0;

 private:
  bool in_snapshot_ = false;
  std::set<lease::NodeKey> reported_;  // since the begin
};

class SourceContract : public ::testing::TestWithParam<SourceCase> {
 protected:
  using Lines = std::set<std::string>;

  static NodeFacts Node(const std::string& name, const std::string& cidr,
                        const std::string& public_ip,
                        const std::string& mac = "02:00:00:00:00:01") {
    return NodeFacts(name).Uid("uid-" + name).Leased(cidr, public_ip, mac);
  }
  static NodeFacts A() { return Node("a", "10.244.1.0/24", "192.0.2.1"); }
  static NodeFacts B() { return Node("b", "10.244.2.0/24", "192.0.2.2", "02:00:00:00:00:02"); }
  static NodeFacts Us() { return Node("us", "10.244.9.0/24", "192.0.2.9", "02:00:00:00:00:09"); }
  static constexpr char kA[] = "a/uid-a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01";
  static constexpr char kB[] = "b/uid-b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:02";
  static constexpr char kUs[] = "us/uid-us 10.244.9.0/24 192.0.2.9 02:00:00:00:00:09";

  void Start() { rig->source().Start(listener); }
  // Steps until `holds`.
  ::testing::AssertionResult Until(const std::function<bool()>& holds,
                                   std::source_location where = std::source_location::current()) {
    return Await({std::chrono::seconds(10), where}, holds, [&] { rig->Step(); });
  }
  void ExpectLeases(const Lines& lines,
                    std::source_location where = std::source_location::current()) {
    EXPECT_TRUE(Until([&] { return listener.synced && listener.Lines() == lines; }, where));
    EXPECT_EQ(listener.Lines(), lines);
  }
  // Many times as long as a change takes to be seen.
  void StepOn() {
    for (int i = 0; i < 50; ++i) rig->Step();
  }

  BelievingListener listener;
  std::unique_ptr<SourceRig> rig = GetParam().make();
};

TEST_P(SourceContract, DescribesWhatItReads) { EXPECT_FALSE(rig->source().Describe().empty()); }

TEST_P(SourceContract, TheFirstSnapshotHasEveryNode) {
  for (const NodeFacts& node : {A(), B(), Us()}) rig->Put(node);
  rig->Put(NodeFacts("stranger").Uid("uid-stranger").PodCidr("10.244.7.0/24"));
  Start();
  ExpectLeases({kA, kB, kUs});
  EXPECT_THAT(listener.not_joined, ::testing::ElementsAre("stranger/uid-stranger"));
  ASSERT_TRUE(listener.own);
  EXPECT_EQ(listener.own->node, (lease::NodeKey{"us", "uid-us"}));
  EXPECT_TRUE(listener.condition.ok()) << listener.condition;
}

TEST_P(SourceContract, AnEmptyClusterIsASnapshotToo) {
  Start();
  ExpectLeases({});
  EXPECT_TRUE(listener.own_reported);
  EXPECT_FALSE(listener.own);
}

TEST_P(SourceContract, NotInSyncBeforeTheFirstRead) {
  rig->Put(A());
  rig->Break();
  Start();
  EXPECT_TRUE(Until([&] { return !listener.condition.ok(); }));
  EXPECT_FALSE(listener.condition.message().empty());
  StepOn();
  EXPECT_FALSE(listener.synced);
  EXPECT_THAT(listener.leases, ::testing::IsEmpty());
  rig->Mend();
  ExpectLeases({kA});
  EXPECT_TRUE(Until([&] { return listener.condition.ok(); }));
}

TEST_P(SourceContract, ChangesFollow) {
  rig->Put(A());
  Start();
  ExpectLeases({kA});
  rig->Put(B());
  ExpectLeases({kA, kB});
  rig->Put(Node("a", "10.244.1.0/24", "192.0.2.77", "02:00:00:00:00:77"));
  ExpectLeases({"a/uid-a 10.244.1.0/24 192.0.2.77 02:00:00:00:00:77", kB});
  rig->Delete("a");
  ExpectLeases({kB});
  EXPECT_TRUE(listener.condition.ok()) << listener.condition;
}

TEST_P(SourceContract, ARecreatedNodeIsANewNode) {
  rig->Put(A());
  Start();
  ExpectLeases({kA});
  rig->Delete("a");
  rig->Put(Node("a", "10.244.3.0/24", "192.0.2.3").Uid("uid-2"));
  ExpectLeases({"a/uid-2 10.244.3.0/24 192.0.2.3 02:00:00:00:00:01"});
}

TEST_P(SourceContract, ANodeThatLosesItsAnnotationsIsRemoved) {
  rig->Put(A());
  rig->Put(B());
  Start();
  ExpectLeases({kA, kB});
  EXPECT_THAT(listener.not_joined, ::testing::IsEmpty());
  rig->Put(NodeFacts("a").Uid("uid-a").PodCidr("10.244.1.0/24"));
  ExpectLeases({kB});
  EXPECT_THAT(listener.not_joined, ::testing::ElementsAre("a/uid-a"));
}

TEST_P(SourceContract, OurNodeIsReportedAndRemoved) {
  rig->Put(A());
  Start();
  ExpectLeases({kA});
  EXPECT_FALSE(listener.own);
  rig->Put(Us());
  EXPECT_TRUE(Until([&] { return listener.own.has_value(); }));
  ExpectLeases({kA, kUs});
  rig->Delete("us");
  EXPECT_TRUE(Until([&] { return !listener.own; }));
  ExpectLeases({kA});
}

TEST_P(SourceContract, AReadErrorLeavesTheLeasesUnchanged) {
  rig->Put(A());
  rig->Put(B());
  Start();
  ExpectLeases({kA, kB});
  rig->Break();
  rig->Delete("a");
  rig->Put(Us());
  EXPECT_TRUE(Until([&] { return !listener.condition.ok(); }));
  StepOn();
  EXPECT_EQ(listener.Lines(), (Lines{kA, kB}));
  EXPECT_FALSE(listener.condition.ok());
  rig->Mend();
  ExpectLeases({kB, kUs});
  EXPECT_TRUE(Until([&] { return listener.condition.ok(); })) << listener.condition;
}

TEST_P(SourceContract, ARefusedNodeIsNamedAndTheRestIsRead) {
  rig->Put(Node("bad", "10.244.300.0/24", "192.0.2.5"));
  rig->Put(A());
  Start();
  ExpectLeases({kA});
  EXPECT_THAT(listener.refused["bad"], ::testing::HasSubstr("10.244.300.0/24"));
  rig->Put(Node("worse", "10.244.301.0/24", "192.0.2.6"));
  rig->Put(B());
  ExpectLeases({kA, kB});
  EXPECT_THAT(listener.refused["worse"], ::testing::HasSubstr("10.244.301.0/24"));
}

TEST_P(SourceContract, AnUnchangedClusterIsSilent) {
  rig->Put(A());
  Start();
  ExpectLeases({kA});
  StepOn();
  const int before = listener.calls;
  StepOn();
  EXPECT_EQ(listener.calls, before);
}

TEST_P(SourceContract, NothingIsReportedAfterItsEnd) {
  rig->Put(A());
  Start();
  ExpectLeases({kA});
  rig->End();
  const int before = listener.calls;
  rig->Put(B());
  StepOn();
  EXPECT_EQ(listener.calls, before);
}

inline std::string SourceCaseName(const ::testing::TestParamInfo<SourceCase>& info) {
  return info.param.name;
}

}  // namespace weft::testing
