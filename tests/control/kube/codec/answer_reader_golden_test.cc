// SPDX-License-Identifier: Apache-2.0
// What kube-apiserver v1.36.3 answered, byte by byte: tests/golden/kube. Two flannel Nodes (one
// dual-stack, one with an annotation of marks, escapes and emoji) and a new one; list and watch
// were recorded while win-1 changed its MAC and new-1 was deleted.
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/codec/answer_recorder.h"
#include "tests/support/lease_makers.h"
#include "tests/support/source_dir.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadFile(const std::string& name) {
  std::ifstream file(std::string(weft::testing::kSourceDir) + "/tests/golden/kube/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

class GoldenAnswers : public ::testing::TestWithParam<Encoding> {
 protected:
  using Lines = std::vector<std::string>;

  std::string Body(const std::string& name) const {
    return ReadFile(name + (GetParam() == Encoding::kProtobuf ? ".pb" : ".json"));
  }
  ApiStatus Status(const std::string& name, int http_status) const {
    return DecodeApiStatus(http_status, testing::Answers(GetParam()).content_type(), Body(name));
  }
  // Whole, and in pieces of every size up to 100: always the same.
  Lines Read(AnswerKind kind, const std::string& name) const {
    const std::string body = Body(name);
    Lines whole = LinesOf(GetParam(), kind, body);
    for (std::size_t piece = 1; piece <= 100; ++piece) {
      EXPECT_EQ(LinesOf(GetParam(), kind, body, piece), whole) << piece;
    }
    return whole;
  }
};

TEST_P(GoldenAnswers, List) {
  EXPECT_THAT(Read(AnswerKind::kList, "list"),
              ElementsAre("LISTED linux-1@220 lease", "LISTED new-1@223 not managed",
                          "LISTED win-1@222 lease", "END 224 ", "OK"));
}

TEST_P(GoldenAnswers, Page) {
  EXPECT_THAT(
      Read(AnswerKind::kList, "page"),
      ElementsAre("LISTED linux-1@220 lease", ::testing::MatchesRegex("END 224 \\S+"), "OK"));
}

TEST_P(GoldenAnswers, StreamingListThatContinuesAsTheWatch) {
  EXPECT_THAT(Read(AnswerKind::kWatch, "watch"),
              ElementsAre("ADDED linux-1@220 lease", "ADDED new-1@223 not managed",
                          "ADDED win-1@222 lease", "BOOKMARK 224 end", "MODIFIED win-1@225 lease",
                          "DELETED new-1@226 not managed", "BOOKMARK 226", "OK"));
}

TEST_P(GoldenAnswers, Leases) {
  const AnnotationKeys keys;
  AnswerRecorder recorder;
  const auto reader = MakeAnswerReader(GetParam(), AnswerKind::kWatch, keys, "", recorder);
  ASSERT_TRUE(reader->Read(Body("watch")).ok());
  ASSERT_EQ(recorder.nodes.size(), 5u);

  lease::Lease linux1;
  linux1.node = {"linux-1", "358504c1-5aee-40cb-b346-e6c483a9c648"};
  linux1.created = 1795246940;
  linux1.backend_type = "vxlan";
  linux1.readiness = {true, 0};
  linux1.v4 = testing::HalfLease("10.244.1.0/24", "172.16.0.11", "ee:37:da:54:ca:7d");
  linux1.v6 = testing::HalfLease("fd00:10:244:1::/64", "fd00:1::11", "5a:0c:11:22:33:44");
  EXPECT_EQ(recorder.nodes[0].lease, linux1);

  lease::Lease win1;
  win1.node = {"win-1", "86335873-e78e-48ce-b39b-237d2b84b287"};
  win1.created = 1795246940;
  win1.backend_type = "vxlan";
  win1.v4 = testing::HalfLease("10.244.3.0/24", "192.168.1.10", "00:15:5d:8c:2f:93");
  EXPECT_EQ(recorder.nodes[2].lease, win1);
  win1.v4->vtep_mac = testing::Mac("00:15:5d:8c:2f:94");
  EXPECT_EQ(recorder.nodes[3].lease, win1);
}

// A watch from a version that the server has forgotten: an ERROR event inside a 200.
TEST_P(GoldenAnswers, Gone) {
  EXPECT_THAT(Read(AnswerKind::kWatch, "gone"),
              ElementsAre("ERROR 410 Expired: too old resource version: 3 (237)", "OK"));
}

TEST_P(GoldenAnswers, Refusals) {
  EXPECT_EQ(Status("unauthorized", 401),
            (ApiStatus{401, "Unauthorized", "Unauthorized", {}, false}));
  EXPECT_EQ(Status("forbidden", 403),
            (ApiStatus{403,
                       "Forbidden",
                       "nodes is forbidden: User \"nobody\" cannot list resource \"nodes\" in API "
                       "group \"\" at the cluster scope",
                       {},
                       false}));
  const ApiStatus too_large = Status("too_large", 504);
  EXPECT_EQ(too_large.reason, "Timeout");
  EXPECT_THAT(too_large.message, HasSubstr("Too large resource version: 99999999, current: 2"));
  EXPECT_EQ(too_large.retry_after, std::chrono::seconds(1));
  EXPECT_TRUE(too_large.resource_version_too_large);
  const ApiStatus off = Status("watch_list_off", 422);
  EXPECT_EQ(off.code, 422);
  EXPECT_EQ(off.reason, "Invalid");
  EXPECT_THAT(off.message, HasSubstr("unless the WatchList feature gate is enabled"));
}

// Every byte of real answers changed to another: no crash, and nothing depends on the cut.
TEST_P(GoldenAnswers, EachByteChanged) {
  const std::pair<AnswerKind, const char*> answers[] = {{AnswerKind::kList, "page"},
                                                        {AnswerKind::kWatch, "gone"}};
  for (const auto& [kind, name] : answers) {
    const std::string body = Body(name);
    for (std::size_t at = 0; at < body.size(); ++at) {
      std::string changed = body;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      ASSERT_EQ(LinesOf(GetParam(), kind, changed, 7), LinesOf(GetParam(), kind, changed)) << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, GoldenAnswers, ::testing::ValuesIn(kEncodings), EncodingName);

// The arguments of curl.
TEST(GoldenList, Indented) {
  const std::string body = ReadFile("list_indented.json");
  for (const std::size_t piece : {1, 5, 64, 100'000}) {
    EXPECT_THAT(LinesOf(Encoding::kJson, AnswerKind::kList, body, piece),
                ElementsAre("LISTED linux-1@220 lease", "LISTED new-1@223 not managed",
                            "LISTED win-1@222 lease", "END 224 ", "OK"));
  }
}

}  // namespace
}  // namespace weft::kube
