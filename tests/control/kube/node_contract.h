// SPDX-License-Identifier: Apache-2.0
// One Node has the same result as an event of a watch and as an item of a list.
#pragma once

#include "gtest/gtest.h"
#include "tests/control/kube/codec/answer_recorder.h"

namespace weft::kube {

class NodeContract : public ::testing::TestWithParam<Encoding> {
 protected:
  const testing::Answers answers{GetParam()};
  const testing::NodeFacts a =
      testing::NodeFacts("a").Version("3").Leased("10.244.1.0/24", "192.0.2.1").Large();

  DecodedNode Decode(const testing::NodeFacts& facts, const AnnotationKeys& keys = {}) const {
    AnswerRecorder recorder;
    const auto list = MakeAnswerReader(GetParam(), AnswerKind::kList, keys, "us", recorder);
    EXPECT_TRUE(list->Read(answers.List({facts}, "1")).ok());
    const auto watch = MakeAnswerReader(GetParam(), AnswerKind::kWatch, keys, "us", recorder);
    EXPECT_TRUE(watch->Read(answers.Event("ADDED", facts)).ok());
    EXPECT_EQ(recorder.nodes.size(), 2u);
    if (recorder.nodes.size() != 2) return {};
    const DecodedNode& node = recorder.nodes[0];
    EXPECT_EQ(node.kind, recorder.nodes[1].kind);
    EXPECT_EQ(node.lease, recorder.nodes[1].lease);
    EXPECT_EQ(node.refusal, recorder.nodes[1].refusal);
    EXPECT_EQ(node.own, recorder.nodes[1].own);
    return node;
  }
  lease::Lease LeaseOf(const testing::NodeFacts& facts) const {
    const DecodedNode node = Decode(facts);
    EXPECT_EQ(node.kind, DecodedNode::Kind::kLease) << node.refusal;
    return node.lease;
  }
  // "name: reason"; empty when not refused.
  std::string Refusal(const testing::NodeFacts& facts) const {
    const DecodedNode node = Decode(facts);
    if (node.kind != DecodedNode::Kind::kRefused) return "";
    return node.lease.node.name + ": " + node.refusal;
  }
};

}  // namespace weft::kube
