// SPDX-License-Identifier: Apache-2.0
// Whole Kubernetes objects in protobuf. Unknown fields, and known ones of another wire type, are
// skipped, as protobuf requires; an error means that the bytes are not protobuf.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/answer_reader_held.h"
#include "control/kube/codec/node_fields.h"

namespace weft::kube {

// The prefix of every body, and of the object of every watch event.
inline constexpr std::string_view kProtobufMagic("k8s\0", 4);

// All views refer to the decoded bytes.

// runtime.Unknown, which follows the prefix.
struct ProtobufBody {
  std::string_view kind;
  std::string_view raw;
};
// Decodes a whole body, including the prefix.
absl::Status DecodeProtobufBody(std::string_view bytes, ProtobufBody& body);
// contentEncoding must be empty: no server sets it.
absl::Status CheckProtobufEncoding(std::string_view encoding);
// runtime.TypeMeta.
absl::Status DecodeProtobufKind(std::string_view bytes, std::string_view& kind);

// meta/v1 WatchEvent, whose object is a body.
struct ProtobufWatchEvent {
  std::string_view type;
  std::string_view object;
};
absl::Status DecodeProtobufWatchEvent(std::string_view bytes, ProtobufWatchEvent& event);
// For an event of `size` bytes that begins with `begun`: the range that decoding it and its object
// never reads, whatever follows. This is what follows the addresses in a Node's status, most of it,
// if `begun` has all fields before that in the order in which API servers write them; else it is
// empty.
ByteRange UnreadOfProtobufWatchEvent(std::string_view begun, std::size_t size);

// meta/v1 ListMeta.
struct ProtobufListMeta {
  std::string_view resource_version;
  std::string_view continue_token;
};
absl::Status DecodeProtobufListMeta(std::string_view bytes, ProtobufListMeta& meta);

// core/v1 Node. `fields.kind` stays empty: it is in the body. Of its status only the fields up to
// the addresses are read.
absl::Status DecodeProtobufNode(std::string_view bytes, const AnnotationKeys& keys,
                                NodeFields& fields);

// The metadata of the Node in a BOOKMARK.
struct ProtobufBookmark {
  std::string_view resource_version;
  bool initial_events_end = false;
};
absl::Status DecodeProtobufBookmark(std::string_view bytes, ProtobufBookmark& bookmark);

}  // namespace weft::kube
