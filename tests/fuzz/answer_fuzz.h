// SPDX-License-Identifier: Apache-2.0
// Any bytes as an answer to a list or a watch: the reports do not depend on how the bytes were cut,
// and meet the invariants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/kube/codec/answer_reader.h"
#include "tests/fuzz/lease_promises.h"

namespace weft::fuzz {

// All reports, for comparison.
class AnswerLog : public kube::AnswerListener {
 public:
  std::string text;

 private:
  void Add(std::string_view word) { text.append(word).push_back('\n'); }
  void OnNode(kube::NodeChange change, const kube::DecodedNode& node,
              std::string_view resource_version) override {
    CheckNode(node);
    Add(std::to_string(static_cast<int>(change)) + std::to_string(static_cast<int>(node.kind)));
    Add(node.lease.node.name);
    Add(node.lease.node.uid);
    Add(node.refusal);
    Add(resource_version);
  }
  void OnBookmark(std::string_view resource_version, bool initial_events_end) override {
    Require(!resource_version.empty());
    Add(resource_version);
    Add(initial_events_end ? "end" : "");
  }
  void OnErrorEvent(const kube::ApiStatus& status) override {
    Require(status.message.size() <= 300);
    Add(status.reason);
    Add(status.message);
  }
  void OnListEnd(std::string_view resource_version, std::string_view continue_token) override {
    Require(!resource_version.empty());
    Add(resource_version);
    Add(continue_token);
  }
};

// The first byte selects list or watch, the second is the length of the first piece, the third the
// length of the following ones.
inline void FuzzAnswer(kube::Encoding encoding, const std::uint8_t* data, std::size_t size) {
  if (size < 3) return;
  const auto kind = data[0] % 2 == 0 ? kube::AnswerKind::kList : kube::AnswerKind::kWatch;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto read = [&](std::size_t first, std::size_t others) {
    const kube::AnnotationKeys keys;
    AnswerLog log;
    const auto reader = MakeAnswerReader(encoding, kind, keys, "us", log);
    absl::Status status;
    std::size_t piece = first;
    for (std::size_t at = 0; at < bytes.size() && status.ok(); piece = others) {
      // A heap copy of exactly this size: a read past the end meets the sanitizer.
      const std::vector<char> part(
          bytes.begin() + static_cast<std::ptrdiff_t>(at),
          bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + piece)));
      status = reader->Read(std::string_view(part.data(), part.size()));
      at += part.size();
    }
    if (status.ok()) status = reader->Finish();
    if (!status.ok()) CheckMessage(status.message());
    return log.text + std::string(status.message());
  };
  Require(read(bytes.size() + 1, 1) == read(data[1] + std::size_t{1}, data[2] + std::size_t{1}));
}

}  // namespace weft::fuzz
