// SPDX-License-Identifier: Apache-2.0
// What all readers tell their listener, whatever the encoding was.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/decoded_node.h"
#include "control/kube/codec/node_fields.h"
#include "control/kube/codec/node_reader.h"

namespace weft::kube {

// In the annotations of the bookmark that ends the first part of a streaming list.
inline constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
std::optional<EventType> EventTypeOf(std::string_view text);
// For kAdded, kModified and kDeleted.
NodeChange ChangeOf(EventType type);

// "the answer is broken at octet 17: ...". Octets count from 0, the object's first where it is an
// object that is broken.
absl::Status BrokenAt(std::uint64_t octet, std::string_view what);

// Of an answer that names no version no watch could go on: that is an error.
class AnswerTeller {
 public:
  // `listener` outlives it.
  AnswerTeller(const AnnotationKeys& keys, std::string_view own_node_name,
               AnswerListener& listener);

  const AnnotationKeys& keys() const { return reader_.keys(); }
  // For a codec to fill, before TellNode.
  NodeFields& fields() { return fields_; }
  void TellNode(NodeChange change);
  absl::Status TellBookmark(std::string_view resource_version, bool initial_events_end);
  void TellError(const ApiStatus& status) { listener_->OnErrorEvent(status); }
  absl::Status TellListEnd(std::string_view resource_version, std::string_view continue_token);

 private:
  NodeReader reader_;
  AnswerListener* listener_;
  NodeFields fields_;
  DecodedNode node_;
};

}  // namespace weft::kube
