// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/answer_reader.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::kube {

std::optional<Encoding> EncodingOf(std::string_view content_type) {
  const std::string_view type =
      absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  if (absl::EqualsIgnoreCase(type, kProtobuf)) return Encoding::kProtobuf;
  if (absl::EqualsIgnoreCase(type, kJson)) return Encoding::kJson;
  return std::nullopt;
}

std::unique_ptr<AnswerReader> MakeAnswerReader(Encoding encoding, AnswerKind kind,
                                               const AnnotationKeys& keys,
                                               std::string_view own_node_name,
                                               AnswerListener& listener) {
  NodeReader nodes(keys, std::string(own_node_name));
  return encoding == Encoding::kJson ? MakeJsonReader(kind, std::move(nodes), listener)
                                     : MakeProtobufReader(kind, std::move(nodes), listener);
}

AnswerReader::AnswerReader(NodeReader nodes, AnswerListener& listener)
    : nodes_(std::move(nodes)), listener_(listener) {}

void AnswerReader::ReportNode(NodeChange change) {
  nodes_.Read(fields_, node_);
  listener_.OnNode(change, node_, fields_.resource_version);
}

absl::Status AnswerReader::ReportBookmark(std::string_view resource_version,
                                          bool initial_events_end) {
  if (resource_version.empty())
    return absl::DataLossError("a BOOKMARK without metadata.resourceVersion");
  listener_.OnBookmark(resource_version, initial_events_end);
  return absl::OkStatus();
}

absl::Status AnswerReader::ReportListEnd(std::string_view resource_version,
                                         std::string_view continue_token) {
  if (resource_version.empty())
    return absl::DataLossError("the list has no metadata.resourceVersion");
  listener_.OnListEnd(resource_version, continue_token);
  return absl::OkStatus();
}

std::optional<EventType> EventTypeOf(std::string_view text) {
  if (text == "ADDED") return EventType::kAdded;
  if (text == "MODIFIED") return EventType::kModified;
  if (text == "DELETED") return EventType::kDeleted;
  if (text == "BOOKMARK") return EventType::kBookmark;
  if (text == "ERROR") return EventType::kError;
  return std::nullopt;
}

NodeChange ChangeOf(EventType type) {
  if (type == EventType::kAdded) return NodeChange::kAdded;
  return type == EventType::kModified ? NodeChange::kModified : NodeChange::kDeleted;
}

absl::Status BrokenAt(std::uint64_t byte, std::string_view what) {
  return absl::DataLossError(absl::StrCat("the answer is broken at byte ", byte, ": ", what));
}

}  // namespace weft::kube
