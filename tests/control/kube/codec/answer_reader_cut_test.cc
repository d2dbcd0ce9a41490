// SPDX-License-Identifier: Apache-2.0
// Watches in protobuf, well-formed and not, cut in two at every byte and as the network cuts them:
// the reports, to the last field, are those of a watch in one piece.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/pbf_writer.hpp>

#include "control/kube/codec/node_codec_protobuf.h"
#include "gtest/gtest.h"
#include "tests/control/kube/codec/answer_recorder.h"
#include "tests/support/sanitized.h"
#include "tests/support/source_dir.h"

namespace weft::kube {
namespace {

using testing::NodeFacts;
using testing::NodeProtobuf;
using testing::ProtobufEnvelope;
using testing::WatchFrameProtobuf;

struct Reports {
  std::vector<std::string> lines;
  std::vector<lease::Lease> leases;
  std::vector<std::optional<lease::OwnNode>> own;
  std::vector<ApiStatus> errors;

  friend bool operator==(const Reports&, const Reports&) = default;
  friend void PrintTo(const Reports& reports, std::ostream* out) {
    *out << ::testing::PrintToString(reports.lines);
  }
};

// Cut after `cuts` bytes, which are in order.
Reports Read(std::string_view answer, const std::vector<std::size_t>& cuts) {
  const AnnotationKeys keys;
  AnswerRecorder recorder;
  const auto reader =
      MakeAnswerReader(Encoding::kProtobuf, AnswerKind::kWatch, keys, "us", recorder);
  absl::Status status;
  std::size_t at = 0;
  const auto read = [&](std::size_t end) {
    // A separate heap copy: the sanitizer detects a read past the end.
    if (status.ok()) status = reader->Read(std::string(answer.substr(at, end - at)));
    at = end;
  };
  for (const std::size_t cut : cuts) read(std::min(cut, answer.size()));
  read(answer.size());
  if (status.ok()) status = reader->Finish();
  Reports reports{std::move(recorder.lines), {}, {}, std::move(recorder.errors)};
  reports.lines.push_back(status.ok() ? "OK" : std::string(status.message()));
  for (const DecodedNode& node : recorder.nodes) {
    reports.leases.push_back(node.lease);
    reports.own.push_back(node.own);
  }
  return reports;
}

// Where frames begin, by their lengths.
std::vector<std::size_t> FramesOf(std::string_view watch) {
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at + 4 <= watch.size();) {
    begins.push_back(at);
    std::size_t size = 0;
    for (const char byte : watch.substr(at, 4)) size = size << 8 | static_cast<unsigned char>(byte);
    at += 4 + size;
  }
  return begins;
}

void ExpectTheSameHoweverCut(std::string_view watch) {
  const Reports whole = Read(watch, {});
  for (std::size_t cut = 1; cut < watch.size(); cut += testing::kCutStep) {
    ASSERT_EQ(Read(watch, {cut}), whole) << cut;
  }
  // Go's chunk writer: the length, the first so many bytes, the rest.
  const std::vector<std::size_t> frames = FramesOf(watch);
  for (std::size_t first = 1; first < watch.size(); first += testing::kCutStep) {
    std::vector<std::size_t> cuts;
    for (const std::size_t begin : frames) {
      cuts.insert(cuts.end(), {begin, begin + 4, begin + 4 + first});
    }
    std::sort(cuts.begin(), cuts.end());
    ASSERT_EQ(Read(watch, cuts), whole) << first;
  }
}

NodeFacts Facts(const std::string& name) {
  NodeFacts node(name);
  node.images = 2;
  return node.Uid("uid-of-" + name).Version("3").Created(7).Leased("10.244.1.0/24", "192.0.2.1");
}

std::string Field(int number, std::string_view contents) {
  std::string text;
  protozero::pbf_writer(text).add_bytes(static_cast<protozero::pbf_tag_type>(number),
                                        contents.data(), contents.size());
  return text;
}

std::string Framed(const std::string& event) {
  std::string frame(4, '\0');
  frame[2] = static_cast<char>(event.size() >> 8);
  frame[3] = static_cast<char>(event.size());
  return frame + event;
}

// An event around `raw`, with more bytes after each of its messages.
struct Behind {
  std::string node = {}, body = {}, extension = {}, event = {};
};
std::string Event(const std::string& type, const std::string& raw, const Behind& behind = {}) {
  const std::string body = ProtobufEnvelope("Node", raw + behind.node) + behind.body;
  return Framed(Field(1, type) + Field(2, Field(1, body) + behind.extension) + behind.event);
}

TEST(ProtobufWatchCut, Nodes) {
  std::string watch = testing::BookmarkProtobuf("2", false);
  watch += testing::NodeEventProtobuf("ADDED", Facts("a"));
  watch += testing::NodeEventProtobuf(
      "MODIFIED",
      Facts("us").Leased("10.244.3.0/24", "nonsense").Address("InternalIP", "192.0.2.3"));
  watch +=
      testing::NodeEventProtobuf("MODIFIED", Facts("translated")
                                                 .Leased("10.244.4.0/24", "192.0.2.4")
                                                 .Annotation("public-ip-overwrite", "192.0.2.4")
                                                 .Address("InternalIP", "192.0.2.4"));
  watch += testing::NodeEventProtobuf("DELETED", NodeFacts("b").Version("4"));
  watch += testing::ErrorEventProtobuf({410, "Expired", "too old", 1, "x", "y"});
  ExpectTheSameHoweverCut(watch);
}

// Most of a Node, and nothing that a lease needs: it is not buffered until the rest arrives.
TEST(ProtobufWatchCut, WhatFollowsTheAddressesOfAPartialNodeIsNotBuffered) {
  const std::string rest = Field(6, std::string(300, '\x07'));
  const std::string read = Field(3, "") + Field(4, Field(1, "Ready") + Field(2, "True")) +
                           Field(5, Field(1, "InternalIP") + Field(2, "192.0.2.7"));
  const std::string node = Field(1, Field(1, "a") + Field(2, "")) + Field(2, "");
  for (const char* type : {"ADDED", "MODIFIED", "DELETED"}) {
    const std::string event = Event(type, node + Field(3, read + rest)).substr(4);
    // The key of the first field that is not read ends the reading.
    const std::size_t from = event.find(rest) + 1;
    for (std::size_t come = 0; come <= event.size(); ++come) {
      const ByteRange unread =
          UnreadOfProtobufWatchEvent(std::string_view(event).substr(0, come), event.size());
      ASSERT_EQ(unread.from, come >= from ? from : 0) << come;
      ASSERT_EQ(unread.to, come >= from ? from + rest.size() - 1 : 0) << come;
    }
  }
  for (const std::string& status : {read, std::string(), Field(7, "") + read}) {
    const std::string event =
        Event("ADDED", node + Field(3, status), {.node = Field(6, "")}).substr(4);
    for (std::size_t come = 0; come <= event.size(); ++come) {
      const ByteRange unread =
          UnreadOfProtobufWatchEvent(std::string_view(event).substr(0, come), event.size());
      ASSERT_LE(unread.from, unread.to);
      ASSERT_LE(unread.to, event.size());
    }
  }
  const std::string mark("k8s\0", 4), kind = Field(1, Field(2, "Node")), type = Field(1, "ADDED");
  const std::string status = Field(3, read + rest), body = mark + kind + Field(2, node + status);
  const auto added = [&type](const std::string& whole) { return type + Field(2, Field(1, whole)); };
  const std::string others[] = {
      "\x0a\x80\x80\x80" + std::string(1 << 21, 'x') + Field(2, Field(1, body)),
      type + Field(1, body),
      type + Field(2, Field(3, "x" + body.substr(4))),
      type + Field(2, Field(1, "k8s") + "x" + body.substr(4)),
      added(body) + Field(1, "ERROR"),
      added(mark + Field(2, node + status)),
      added(mark + kind + node + status),
      added(mark + kind + Field(2, Field(2, "") + status)),
      added(mark + kind + Field(2, Field(9, "") + Field(2, "") + status)),
      added(mark + kind + Field(2, Field(1, "") + status)),
      added(mark + kind + Field(2, node + read.substr(2) + rest)),
      added(mark + kind + Field(2, node + "\x1a\xff\x7f" + read + rest)),
      added(mark + kind + Field(2, node + Field(3, "\x18\x01x" + read + rest))),
  };
  for (const std::string& event : others) {
    EXPECT_EQ(UnreadOfProtobufWatchEvent(event, event.size()).to, 0u) << &event - others;
  }
}

// Each after a Node that fills the buffers with other bytes.
TEST(ProtobufWatchCut, UnusualEvents) {
  const std::string a = NodeProtobuf(Facts("a")), b = NodeProtobuf(Facts("b"));
  const std::string metadata = Field(1, Field(1, "c")), status = Field(3, std::string(300, '\x07'));
  const std::string envelope = ProtobufEnvelope("Node", b);
  const std::string error =
      Field(1, "") + Field(2, "Failure") + Field(3, "a long message") + Field(4, "Expired");
  const std::string events[] = {
      Event("ADDED", a, {.node = status}),
      Event("ADDED", a, {.node = metadata}),
      Event("ADDED", a, {.node = "\x0a\x7f"}),
      Event("ADDED", a, {.node = "\x07"}),
      Event("ADDED", a, {.body = Field(1, Field(2, "Pod"))}),
      Event("ADDED", a, {.body = Field(2, b)}),
      Event("ADDED", a, {.body = Field(3, "gzip")}),
      Event("ADDED", a, {.body = "\x12"}),
      Event("ADDED", a, {.extension = Field(1, envelope)}),
      Event("ADDED", a, {.extension = Field(1, "no mark")}),
      Event("ADDED", a, {.event = Field(1, "DELETED")}),
      Event("ADDED", a, {.event = Field(2, Field(1, envelope))}),
      Event("ADDED", a, {.event = "\x0b"}),
      // A Status has its reported values in the fields of a Node.
      Event("ERROR", error),
      Event("ADDED", error, {.event = Field(1, "ERROR")}),
      Event("BOOKMARK", a),
      Event("ADDED", a, {.event = Field(1, "BOOKMARK")}),
      Event("SYNC", a),
      Event("ADDED", status + metadata),
      Event("ADDED", Field(1, "") + Field(2, "") + status),
      Event("ADDED", metadata + Field(2, "\x0a\x7f") + status),
      // Lengths that are encoded longer than necessary, or that exceed the enclosing message.
      Event("ADDED", metadata + Field(2, "") + std::string("\x1a\x82\x80\x80\x00xx", 7)),
      Event("ADDED", metadata + Field(2, "") + "\x1a\x05xx"),
      Event("ADDED", metadata + Field(2, "") + Field(3, "\x22"), {.node = std::string(4, '\0')}),
      Framed(std::string("\x0a\x85\x00"
                         "ERROR",
                         8) +
             Field(2, Field(1, ProtobufEnvelope("Status", error)))),
      Framed(Field(1, "ADDED") + "\x12\x7f\x0a\x7f"),
      // Three bytes in place of the mark, and the body's fields as they would follow it.
      Framed(Field(1, "ADDED") +
             Field(2, Field(1, "k8s") +
                          std::string("\x1a\x0a\x00\x12\x7f\x0a\x00\x12\x00\x1a\x79x", 12) +
                          Field(1, envelope))),
      Framed(Field(2, Field(1, envelope)) + Field(1, "ADDED")),
  };
  const std::string first = testing::NodeEventProtobuf("ADDED", Facts("first").Large());
  const std::string last = testing::NodeEventProtobuf("DELETED", Facts("last"));
  for (const std::string& event : events) {
    SCOPED_TRACE(&event - events);
    const Reports whole = Read(first + event + last, {});
    EXPECT_EQ(whole.lines[0], "ADDED first@3 lease");
    for (std::size_t cut = first.size(); cut < first.size() + event.size();
         cut += testing::kCutStep) {
      ASSERT_EQ(Read(first + event + last, {4, 2000, cut}), whole) << cut;
      const std::size_t length = first.size() + 4;
      if (cut < length) continue;
      ASSERT_EQ(Read(first + event + last, {4, 2000, first.size(), length, cut}), whole) << cut;
    }
  }
}

TEST(ProtobufWatchCut, GoldenAndCorpus) {
  const std::filesystem::path tests = std::filesystem::path(weft::testing::kSourceDir) / "tests";
  std::vector<std::string> watches;
  const auto add = [&](const std::filesystem::path& path, std::size_t skipped) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_GT(text.size(), skipped) << path;
    watches.push_back(text.substr(skipped));
  };
  add(tests / "golden/kube/watch.pb", 0);
  add(tests / "golden/kube/gone.pb", 0);
  for (const auto& entry :
       std::filesystem::directory_iterator(tests / "fuzz/corpus/watch_protobuf"))
    add(entry, 3);  // after the target's own bytes
  for (const std::string& watch : watches) ExpectTheSameHoweverCut(watch);
}

}  // namespace
}  // namespace weft::kube
