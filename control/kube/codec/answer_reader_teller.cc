// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/answer_reader_teller.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace weft::kube {

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

absl::Status BrokenAt(std::uint64_t octet, std::string_view what) {
  return absl::DataLossError(absl::StrCat("the answer is broken at octet ", octet, ": ", what));
}

AnswerTeller::AnswerTeller(const AnnotationKeys& keys, std::string_view own_node_name,
                           AnswerListener& listener)
    : reader_(keys, std::string(own_node_name)), listener_(&listener) {}

void AnswerTeller::TellNode(NodeChange change) {
  reader_.Read(fields_, node_);
  listener_->OnNode(change, node_, fields_.resource_version);
}

absl::Status AnswerTeller::TellBookmark(std::string_view resource_version,
                                        bool initial_events_end) {
  if (resource_version.empty()) {
    return absl::DataLossError("a BOOKMARK without metadata.resourceVersion");
  }
  listener_->OnBookmark(resource_version, initial_events_end);
  return absl::OkStatus();
}

absl::Status AnswerTeller::TellListEnd(std::string_view resource_version,
                                       std::string_view continue_token) {
  if (resource_version.empty()) {
    return absl::DataLossError("the list has no metadata.resourceVersion");
  }
  listener_->OnListEnd(resource_version, continue_token);
  return absl::OkStatus();
}

}  // namespace weft::kube
