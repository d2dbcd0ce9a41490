// SPDX-License-Identifier: Apache-2.0
// The reports of a reader as text; and the two encodings, for suites that run over both.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/kube/codec/answer_reader.h"
#include "gtest/gtest.h"
#include "tests/support/answers.h"

namespace weft::kube {

inline constexpr Encoding kEncodings[] = {Encoding::kProtobuf, Encoding::kJson};
inline void PrintTo(Encoding encoding, std::ostream* out) {
  *out << (encoding == Encoding::kProtobuf ? "Protobuf" : "Json");
}
inline std::string EncodingName(const ::testing::TestParamInfo<Encoding>& info) {
  return ::testing::PrintToString(info.param);
}

class AnswerRecorder : public AnswerListener {
 public:
  // "ADDED a@7 lease", "LISTED a@7 refused: REASON", "BOOKMARK 9 end", "ERROR 410 Expired: ...",
  // "END 12 token".
  std::vector<std::string> lines;
  std::vector<DecodedNode> nodes;
  std::vector<ApiStatus> errors;

 private:
  void OnNode(NodeChange change, const DecodedNode& node,
              std::string_view resource_version) override {
    static constexpr const char* kNames[] = {"LISTED", "ADDED", "MODIFIED", "DELETED"};
    lines.push_back(absl::StrCat(kNames[static_cast<int>(change)], " ", node.lease.node.name, "@",
                                 resource_version, " ", KindOf(node)));
    nodes.push_back(node);
  }
  void OnBookmark(std::string_view resource_version, bool initial_events_end) override {
    lines.push_back(absl::StrCat("BOOKMARK ", resource_version, initial_events_end ? " end" : ""));
  }
  void OnErrorEvent(const ApiStatus& status) override {
    lines.push_back(absl::StrCat("ERROR ", status.code, " ", status.reason, ": ", status.message));
    errors.push_back(status);
  }
  void OnListEnd(std::string_view resource_version, std::string_view continue_token) override {
    lines.push_back(absl::StrCat("END ", resource_version, " ", continue_token));
  }
  static std::string KindOf(const DecodedNode& node) {
    if (node.kind == DecodedNode::Kind::kLease) return "lease";
    if (node.kind == DecodedNode::Kind::kNotManaged) return "not managed";
    return "refused: " + node.refusal;
  }
};

// The answer in pieces of `piece` bytes, then its end. The last line is its result.
inline std::vector<std::string> LinesOf(Encoding encoding, AnswerKind kind, std::string_view answer,
                                        std::size_t piece = std::string_view::npos) {
  const AnnotationKeys keys;
  AnswerRecorder recorder;
  const auto reader = MakeAnswerReader(encoding, kind, keys, "us", recorder);
  absl::Status status;
  while (!answer.empty() && status.ok()) {
    // A separate heap copy: the sanitizer detects a read past the end.
    const std::string part(answer.substr(0, piece));
    status = reader->Read(std::string_view(part));
    answer.remove_prefix(part.size());
  }
  if (status.ok()) status = reader->Finish();
  recorder.lines.push_back(status.ok() ? "OK" : std::string(status.message()));
  return recorder.lines;
}

}  // namespace weft::kube
