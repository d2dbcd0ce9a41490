// SPDX-License-Identifier: Apache-2.0
// Answers in JSON that no API server gives: the error names the fault and its byte, whatever was
// reported before, and costs nothing.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/codec/answer_recorder.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NodeFacts;
using Lines = std::vector<std::string>;

const NodeFacts kA = NodeFacts("a").Version("3").Leased("10.244.1.0/24", "192.0.2.1");

Lines List(std::string_view text, std::size_t piece = std::string_view::npos) {
  return LinesOf(Encoding::kJson, AnswerKind::kList, text, piece);
}
Lines Watch(std::string_view text, std::size_t piece = std::string_view::npos) {
  return LinesOf(Encoding::kJson, AnswerKind::kWatch, text, piece);
}

std::string At(std::size_t byte) { return absl::StrCat("broken at byte ", byte, ": "); }

// ---- JSON, watch

TEST(JsonWatch, InvalidEvents) {
  const std::pair<const char*, const char*> rows[] = {
      {"x", "\"x\" where an event should begin"},
      {"]", "\"]\" where an event should begin"},
      {"7", "\"7\" where an event should begin"},
      {"{]", "not JSON 1 bytes further on"},
      {"{\"type\":}", "not JSON 8 bytes further on"},
      {R"({"type":"ADDED"})", "a watch event without an object"},
      {R"({"object":{}})", "a watch event of type \"\""},
      {R"({"type":7,"object":{}})", "the watch event's type is 7, not a string"},
      {R"({"type":"SYNC","object":{}})", "a watch event of type \"SYNC\""},
      {R"({"type":"BOOKMARK","object":{}})", "a BOOKMARK without metadata.resourceVersion"},
      {R"({"type":"BOOKMARK","object":7})", "the object of a BOOKMARK is 7, not an object"},
      {R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":7}}})",
       "metadata.resourceVersion is 7, not a string"},
      {R"({"type":"BOOKMARK","object":{"metadata":7}})", "metadata is 7, not an object"},
      {R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":7}}})",
       "metadata.annotations is 7, not an object"},
      {R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":)"
       R"({"k8s.io/initial-events-end":true}}}})",
       "the end mark is true, not a string"},
      {"{\"\xff\":1}", "not JSON 2 bytes further on: "},
  };
  const std::string first = testing::NodeEventJson("ADDED", kA);
  for (const auto& [text, message] : rows) {
    for (const std::size_t piece : {1, 100'000}) {
      EXPECT_THAT(Watch(first + text, piece),
                  ElementsAre("ADDED a@3 lease", HasSubstr(At(first.size()))))
          << text;
      EXPECT_THAT(Watch(first + text, piece).back(), HasSubstr(message)) << text;
    }
  }
}

TEST(JsonWatch, ObjectsOneAfterTheOtherIndentedOrNot) {
  const std::string text =
      "\n\n{\n  \"object\": {\n    \"metadata\": {\n      \"name\": \"a]}\\\"{\"\n    }\n  },\n"
      "  \"type\": \"ADDED\"\n}{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
      "{\"resourceVersion\":\"9\"}}}\r\n \t{\"type\":\"ERROR\",\"object\":{\"kind\":\"Node\"}}";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_THAT(Watch(text, piece), ElementsAre("ADDED a]}\"{@ not managed", "BOOKMARK 9",
                                                "ERROR 0 : an ERROR event without a Status", "OK"));
  }
}

TEST(JsonWatch, ARefusedNodeDoesNotEndTheAnswer) {
  EXPECT_THAT(Watch(R"({"type":"ADDED","object":[]}{"type":"ADDED","object":{"metadata":)"
                    R"({"name":"b","resourceVersion":7}}})"),
              ElementsAre("ADDED @ refused: the Node is an array, not an object",
                          "ADDED b@ refused: metadata.resourceVersion is 7, not a string", "OK"));
}

TEST(JsonWatch, AnErrorWithoutAStatusIsAnError) {
  EXPECT_THAT(Watch(R"({"type":"ERROR","object":7})"),
              ElementsAre("ERROR 0 : an ERROR event without a Status", "OK"));
}

TEST(JsonWatch, AnObjectLongerThanAny) {
  const std::string text = "{\"a\":\"" + std::string(AnswerReader::kMaxObject, 'x') + "\"}";
  for (const std::size_t piece : {std::size_t{65'536}, text.size()}) {
    EXPECT_THAT(Watch("  " + text, piece),
                ElementsAre(HasSubstr(At(2) + "an object of more than 16777216 bytes")));
  }
}

// ---- JSON, list

TEST(JsonList, MembersInAnyOrderIndentedOrNot) {
  const std::string text = R"( {
    "items": [
      {"metadata": {"name": "a", "resourceVersion": "3", "annotations": {"x": "]}\"[{\\"}}},
      {"metadata": {"name": "b"}} ],
    "extra": {"items": [7, "]"]}, "more": [[]], "number": -1.5e3, "word": null, "text": "\"items\"",
    "metadata": {"resourceVersion": "17", "remainingItemCount": 7, "continue": "next"},
    "kind": "NodeList" }
)";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_THAT(List(text, piece), ElementsAre("LISTED a@3 not managed", "LISTED b@ not managed",
                                               "END 17 next", "OK"));
  }
}

TEST(JsonList, KindsOfAList) {
  for (const char* kind : {"\"NodeList\"", "\"List\"", "null"}) {
    EXPECT_THAT(
        List(absl::StrCat(R"({"metadata":{"resourceVersion":"1"},"items":[],"kind":)", kind, "}")),
        ElementsAre("END 1 ", "OK"));
  }
}

TEST(JsonList, APageLongerThanAnyIsRefused) {
  const std::string text = "\"" + std::string(AnswerReader::kMaxPage, 'x') + "\"";
  EXPECT_THAT(List(" {\"items\":[" + text + "]}"),
              ElementsAre(HasSubstr(At(1) + "an object of more than 67108864 bytes")));
}

TEST(JsonList, ItemsOfNothing) {
  for (const char* items : {"[]", "null", "[ ]"}) {
    EXPECT_THAT(List(absl::StrCat(R"({"metadata":{"resourceVersion":"1"},"items":)", items, "}")),
                ElementsAre("END 1 ", "OK"));
  }
}

TEST(JsonList, ARefusedNodeDoesNotEndTheAnswer) {
  EXPECT_THAT(List(R"({"items":[7,{"metadata":7},"x",null],"metadata":{"resourceVersion":"1"}})"),
              ElementsAre("LISTED @ refused: the Node is 7, not an object",
                          "LISTED @ refused: metadata is 7, not an object",
                          "LISTED @ refused: the Node is \"x\", not an object",
                          "LISTED @ refused: the Node is null, not an object", "END 1 ", "OK"));
}

TEST(JsonList, InvalidText) {
  const std::pair<std::string, std::string> rows[] = {
      {"", At(0) + "it ends before the list does"},
      {"  ", At(2) + "it ends before the list does"},
      {"[]", At(0) + "\"[\" where the list should begin"},
      {"k8s", At(0) + "\"k\" where the list should begin"},
      {"{}", At(0) + "it is not a list of Nodes: no \"items\""},
      {R"({"kind":"Status","code":403})", At(0) + R"(it is a "Status", not a "NodeList")"},
      {R"({"items":{}})", At(0) + "items is an object, not an array"},
      {R"({"items":7})", At(0) + "items is 7, not an array"},
      {R"({"items":[]})", At(0) + "the list has no metadata.resourceVersion"},
      {R"({"items":[],"metadata":null})", "the list has no metadata.resourceVersion"},
      {R"({"metadata":7,"items":[]})", At(0) + "metadata is 7, not an object"},
      {R"({"items":[],"metadata":{"resourceVersion":7}})",
       "metadata.resourceVersion is 7, not a string"},
      {R"({"items":[],"metadata":{"continue":7}})", "metadata.continue is 7, not a string"},
      {R"({"metadata":{]}})", At(0) + "not JSON 13 bytes further on"},
      {R"({"items":[{]}]})", At(0) + "not JSON 11 bytes further on"},
      {R"({"items":[,]})", At(0) + "not JSON 10 bytes further on"},
      {R"({"items":[{},]})", At(0) + "not JSON 13 bytes further on"},
      {R"({"items":[{} {}]})", At(0) + "not JSON 13 bytes further on"},
      {R"({"a" 1})", At(0) + "not JSON 5 bytes further on"},
      {R"({"a":})", At(0) + "not JSON 5 bytes further on"},
      {R"({"a":1,})", At(0) + "not JSON 7 bytes further on"},
      {R"({a:1})", At(0) + "not JSON 1 bytes further on"},
      {R"({"items":[],"metadata":{"resourceVersion":"1"}} x)",
       At(48) + "\"x\" after the list's end"},
      {R"({"items":[],"metadata":{"resourceVersion":"1"}}{})",
       At(47) + "\"{\" after the list's end"},
  };
  for (const auto& [text, message] : rows) {
    for (const std::size_t piece : {1, 100'000}) {
      EXPECT_THAT(List(text, piece).back(), HasSubstr(message)) << text;
    }
  }
}

TEST(JsonList, DepthIsRefusedNotFollowed) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(List("{\"items\":[" + deep + std::string(deep.size(), ']') + "]}").back(),
              HasSubstr(At(0) + "not JSON: "));
}

}  // namespace
}  // namespace weft::kube
