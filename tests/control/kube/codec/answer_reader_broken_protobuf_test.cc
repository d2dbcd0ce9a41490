// SPDX-License-Identifier: Apache-2.0
// Answers in protobuf that no API server gives: the error names the fault and its byte, whatever
// was reported before, and costs nothing.
#include <protozero/pbf_writer.hpp>

#include "control/kube/codec/answer_reader_held.h"
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
  return LinesOf(Encoding::kProtobuf, AnswerKind::kList, text, piece);
}
Lines Watch(std::string_view text, std::size_t piece = std::string_view::npos) {
  return LinesOf(Encoding::kProtobuf, AnswerKind::kWatch, text, piece);
}

std::string At(std::size_t byte) { return absl::StrCat("broken at byte ", byte, ": "); }

// ---- protobuf, watch

TEST(ProtobufWatch, AFrameLongerThanAnyObject) {
  const std::string first = testing::NodeEventProtobuf("ADDED", kA);
  const std::string length("\x01\x00\x00\x01", 4);
  for (const std::size_t piece : {1, 1000}) {
    EXPECT_THAT(Watch(first + length + "rest", piece),
                ElementsAre("ADDED a@3 lease",
                            HasSubstr(At(first.size()) + "a frame of 16777217 bytes, more than")));
  }
  EXPECT_THAT(Watch("\xff\xff\xff\xff"), ElementsAre(HasSubstr("4294967295 bytes")));
}

// No memory is reserved for an announced length, and a large object's memory is freed.
TEST(HeldBytes, CapacityFollowsTheReceivedBytes) {
  HeldBytes held;
  std::string_view bytes = "x";
  EXPECT_FALSE(held.Take(bytes, AnswerReader::kMaxObject).has_value());
  EXPECT_LT(held.room(), 100u);
  const std::string more(AnswerReader::kMaxObject, 'y');
  bytes = more;
  const auto whole = held.Take(bytes, AnswerReader::kMaxObject);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->substr(0, 2), "xy");
  EXPECT_EQ(whole->size(), AnswerReader::kMaxObject);
  EXPECT_EQ(bytes, "y");
  held.Clear();
  EXPECT_LE(held.room(), HeldBytes::kKept);
}

TEST(HeldBytes, TheRoomOfASmallObjectIsKept) {
  HeldBytes held;
  held.Append(std::string(1000, 'x'));
  held.Clear();
  EXPECT_GE(held.room(), 1000u);
}

TEST(HeldBytes, AWholeObjectIsNotCopied) {
  HeldBytes held;
  const std::string_view text = "abcdef";
  std::string_view bytes = text;
  EXPECT_EQ(held.Take(bytes, 4)->data(), text.data());
  EXPECT_EQ(bytes, "ef");
  EXPECT_EQ(held.Take(bytes, 0), "");
}

TEST(ProtobufWatch, InvalidEvents) {
  const std::pair<std::string, const char*> rows[] = {
      {std::string(4, '\0'), "a watch event of type \"\""},
      {testing::WatchFrameProtobuf("ADDED", ""), "does not begin with the mark"},
      {testing::WatchFrameProtobuf("ADDED", "{\"kind\":"), "does not begin with the mark"},
      {testing::WatchFrameProtobuf("SYNC", testing::ProtobufEnvelope("Node", "")),
       "a watch event of type \"SYNC\""},
      {testing::WatchFrameProtobuf("ADDED", testing::ProtobufEnvelope("Node", "\x0a\x7f")),
       "the Node is broken protobuf: end of buffer exception"},
      {testing::WatchFrameProtobuf("ADDED", std::string("k8s\0\x12\x7f", 6)),
       "the object's envelope is broken protobuf"},
      {testing::WatchFrameProtobuf("ADDED", testing::ProtobufEnvelope("Node", "") + "\x1a\x04gzip"),
       "the object is encoded as \"gzip\""},
      {testing::WatchFrameProtobuf("ERROR", testing::ProtobufEnvelope("Status", "\x07")),
       "the Status is broken protobuf"},
      {testing::WatchFrameProtobuf("BOOKMARK", testing::ProtobufEnvelope("Node", "\x0a\x01")),
       "the bookmark is broken protobuf"},
      {testing::WatchFrameProtobuf("BOOKMARK", testing::ProtobufEnvelope("Node", "")),
       "a BOOKMARK without metadata.resourceVersion"},
      {std::string("\0\0\0\3\x0a\x7fx", 7), "the watch event is broken protobuf"},
  };
  const std::string first = testing::NodeEventProtobuf("ADDED", kA);
  for (const auto& [text, message] : rows) {
    for (const std::size_t piece : {1, 100'000}) {
      EXPECT_THAT(Watch(first + text, piece),
                  ElementsAre("ADDED a@3 lease", HasSubstr(At(first.size()))))
          << message;
      EXPECT_THAT(Watch(first + text, piece).back(), HasSubstr(message));
    }
  }
}

// Protobuf's rule for what is not known: also a known number under another wire type.
TEST(ProtobufWatch, UnknownFieldsAndWireTypesAreSkipped) {
  std::string node;
  protozero::pbf_writer writer(node);
  writer.add_fixed32(2, 7);
  writer.add_string(100, "x");
  {
    protozero::pbf_writer metadata(writer, 1);
    metadata.add_int32(1, 7);
    metadata.add_string(1, "a");
    metadata.add_fixed64(5, 7);
    metadata.add_string(6, "3");
    metadata.add_int64(12, 7);
    metadata.add_string(99, "x");
  }
  writer.add_int64(3, 1);
  std::string body = testing::ProtobufEnvelope("Node", node);
  protozero::pbf_writer(body).add_fixed32(50, 7);
  EXPECT_THAT(Watch(testing::WatchFrameProtobuf("ADDED", body)),
              ElementsAre("ADDED a@3 not managed", "OK"));
}

// ---- protobuf, list

std::string ListBody(const std::string& list) {
  return testing::ProtobufEnvelope("NodeList", list);
}

TEST(ProtobufList, FieldsInAnyOrderAndUnknownOnes) {
  std::string list;
  {
    protozero::pbf_writer writer(list);
    writer.add_message(2, testing::NodeProtobuf(kA));
    writer.add_int64(9, -1);
    writer.add_fixed32(10, 1);
    writer.add_fixed64(11, 1);
    writer.add_bytes(12, std::string(100, 'x'));
    writer.add_bytes(13, "");
    writer.add_int64(1, 7);
    writer.add_message(1, testing::ListMetaProtobuf("17", ""));
    writer.add_message(2, testing::NodeProtobuf(kA));
  }
  // contentType and contentEncoding before the list, an unknown field, the type last.
  std::string text("k8s\0", 4);
  std::string body;
  {
    protozero::pbf_writer writer(body);
    writer.add_string(4, "application/byte-stream");
    writer.add_string(3, "");
    writer.add_bytes(2, list);
    writer.add_int64(77, 3);
    protozero::pbf_writer type(writer, 1);
    type.add_string(2, "NodeList");
  }
  text += body;
  for (const std::size_t piece : {1, 7, 100'000}) {
    EXPECT_THAT(List(text, piece),
                ElementsAre("LISTED a@3 lease", "LISTED a@3 lease", "END 17 ", "OK"));
  }
}

TEST(ProtobufList, AnEmptyFieldMayBeTheLast) {
  std::string list, body;
  protozero::pbf_writer writer(list);
  writer.add_message(1, testing::ListMetaProtobuf("17", ""));
  writer.add_bytes(2, "");
  protozero::pbf_writer(body).add_bytes(2, list);
  for (const std::size_t piece : {1, 100'000}) {
    EXPECT_THAT(List(std::string("k8s\0", 4) + body, piece),
                ElementsAre(HasSubstr("LISTED @ refused: metadata.name"), "END 17 ", "OK"));
  }
}

TEST(ProtobufList, InvalidText) {
  using testing::ProtobufEnvelope;
  const std::string mark("k8s\0", 4);
  const auto raw = [&mark](const std::string& list) {
    std::string body;
    protozero::pbf_writer(body).add_bytes(2, list);
    return mark + body;
  };
  const std::pair<std::string, std::string> rows[] = {
      {"", At(0) + "it ends before the list does"},
      {"{\"kind\":\"NodeList\"}", At(0) + "it does not begin with the mark"},
      {"k8x", At(2) + "it does not begin with the mark"},
      {mark, At(4) + "it ends before the list does"},
      {ProtobufEnvelope("Status", ""), At(4) + "it is a \"Status\", not a \"NodeList\""},
      {ListBody(""), "the list has no metadata.resourceVersion"},
      {mark + std::string("\x0a\x00", 2), At(6) + "it ends before the list does"},
      {mark + "\x1a\x04gzip", At(4) + "the object is encoded as \"gzip\""},
      {mark + "\x0b", At(4) + "field 1 has the wire type 3"},
      {mark + "\x9b\x06", At(4) + "field 99 has the wire type 3"},
      {mark + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
       At(4) + "field 2 of 9223372036854775807 bytes is longer than the message that contains it"},
      {mark + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", At(14) + "a number of more than 64"},
      {mark + "\x0a\x81\x80\x80\x08", At(4) + "an object of 16777217 bytes, more than"},
      {raw("\x12\x05xx"), At(6) + "field 2 of 5 bytes is longer than the message that contains it"},
      {raw("\x12\x01"), At(6) + "field 2 of 1 bytes is longer than the message that contains it"},
      {raw("\x99\x06 123456"), At(6) + "the list ends within a field"},
      {raw("\x12\x82"), "it ends before the list does"},
      {raw("\x12\x82") + "\x12", At(8) + "the list ends within a field"},
      {raw("\x12\x02\x0a\x7f"), At(6) + "the Node is broken protobuf: end of buffer"},
      {raw("\x0a\x02\x12\x7f"), At(6) + "the list's metadata is broken protobuf"},
      {mark + "\x0a\x02\x12\x7f", At(4) + "the list's type is broken protobuf"},
  };
  for (const auto& [text, message] : rows) {
    for (const std::size_t piece : {1, 100'000}) {
      EXPECT_THAT(List(text, piece).back(), HasSubstr(message)) << piece;
    }
  }
  const std::string whole = testing::NodeListProtobuf({kA}, "17");
  EXPECT_THAT(List(whole + "\x12\x01x"),
              ElementsAre("LISTED a@3 lease", "END 17 ", HasSubstr("a second list")));
  for (const char* begun : {"\x12", "\x92"}) {
    EXPECT_THAT(List(whole + begun), ElementsAre("LISTED a@3 lease", "END 17 ",
                                                 HasSubstr("it ends before the list does")));
  }
}

}  // namespace
}  // namespace weft::kube
