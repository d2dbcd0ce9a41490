// SPDX-License-Identifier: Apache-2.0
// Reads the body of a list or watch of Nodes as its bytes arrive: single Nodes are cut out of the
// stream and decoded one by one, and nothing else is kept. A list in JSON is read once it is
// complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/codec/node_fields.h"
#include "control/kube/codec/node_reader.h"

namespace weft::kube {

enum class Encoding : std::uint8_t { kProtobuf, kJson };
// Their media types.
inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kJson = "application/json";
// The encoding of an API server's Content-Type, whatever its parameters; empty: another program's.
std::optional<Encoding> EncodingOf(std::string_view content_type);

enum class AnswerKind : std::uint8_t { kList, kWatch };

enum class NodeChange : std::uint8_t { kListed, kAdded, kModified, kDeleted };

// Receives the items of an answer, in order. Arguments are valid until the call returns; the reader
// must exist until then.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  // `resource_version`: of this Node; may be empty for a refused Node.
  virtual void OnNode(NodeChange change, const DecodedNode& node,
                      std::string_view resource_version) = 0;
  // `initial_events_end`: the mark that ends the first part of a streaming list.
  virtual void OnBookmark(std::string_view resource_version, bool initial_events_end) = 0;
  // An ERROR event. It ends the stream.
  virtual void OnErrorEvent(const ApiStatus& status) = 0;
  // The list's own metadata, once the list is complete.
  virtual void OnListEnd(std::string_view resource_version, std::string_view continue_token) = 0;
};

// One answer; one thread. A Node has at most kMaxObject bytes, a list in JSON kMaxPage.
class AnswerReader {
 public:
  static constexpr std::size_t kMaxObject = std::size_t{16} << 20;  // etcd takes 1.5 MiB
  static constexpr std::size_t kMaxPage = std::size_t{64} << 20;    // 500 Nodes of 128 KiB

  virtual ~AnswerReader() = default;
  // Reads a piece, cut anywhere, and reports the items that are complete. An error, which names the
  // byte where the stream is broken, ends it; what was reported before stays valid.
  virtual absl::Status Read(std::string_view bytes) = 0;
  // The body has ended: returns an error if that is within an object, or before a list's end.
  virtual absl::Status Finish() = 0;

 protected:
  AnswerReader(NodeReader nodes, AnswerListener& listener);

  const AnnotationKeys& keys() const { return nodes_.keys(); }
  // For a codec to fill, before ReportNode.
  NodeFields& fields() { return fields_; }
  void ReportNode(NodeChange change);
  // An answer without a version is an error, because no watch could continue from it.
  absl::Status ReportBookmark(std::string_view resource_version, bool initial_events_end);
  absl::Status ReportListEnd(std::string_view resource_version, std::string_view continue_token);
  void ReportError(const ApiStatus& status) { listener_.OnErrorEvent(status); }

 private:
  NodeReader nodes_;
  AnswerListener& listener_;
  NodeFields fields_;
  DecodedNode node_;
};

// `listener` outlives the reader. `own_node_name` empty: no Node is ours.
std::unique_ptr<AnswerReader> MakeAnswerReader(Encoding encoding, AnswerKind kind,
                                               const AnnotationKeys& keys,
                                               std::string_view own_node_name,
                                               AnswerListener& listener);

// Of one encoding each.
std::unique_ptr<AnswerReader> MakeJsonReader(AnswerKind kind, NodeReader nodes,
                                             AnswerListener& listener);
std::unique_ptr<AnswerReader> MakeProtobufReader(AnswerKind kind, NodeReader nodes,
                                                 AnswerListener& listener);

// Shared by the readers.

// The annotation of the bookmark that ends the first part of a streaming list.
inline constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
std::optional<EventType> EventTypeOf(std::string_view text);
// For kAdded, kModified and kDeleted.
NodeChange ChangeOf(EventType type);

// "the answer is broken at byte 17: ...", counted from 0; for a broken object, its first byte.
absl::Status BrokenAt(std::uint64_t byte, std::string_view what);

}  // namespace weft::kube
