// SPDX-License-Identifier: Apache-2.0
// Whole Kubernetes objects in protobuf. Fields that are not known, or known under another wire
// type, are stepped over, as protobuf wants it; an error means that the bytes are no protobuf.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/answer_reader_held.h"
#include "control/kube/codec/node_fields.h"

namespace weft::kube {

// What stands before every body, and before the object of every watch event.
inline constexpr std::string_view kProtobufMagic("k8s\0", 4);

// All views are into what was decoded.

// runtime.Unknown: what follows the mark.
struct ProtobufBody {
  std::string_view kind;
  std::string_view raw;
};
// A whole body, mark and all.
absl::Status DecodeProtobufBody(std::string_view bytes, ProtobufBody& body);
// contentEncoding: nobody has ever set it.
absl::Status CheckProtobufEncoding(std::string_view encoding);
// runtime.TypeMeta.
absl::Status DecodeProtobufKind(std::string_view bytes, std::string_view& kind);

// meta/v1 WatchEvent, its object a body.
struct ProtobufWatchEvent {
  std::string_view type;
  std::string_view object;
};
absl::Status DecodeProtobufWatchEvent(std::string_view bytes, ProtobufWatchEvent& event);
// Of an event of `size` bytes that begins with `begun`: what decoding it and its object never
// looks at, whatever comes. It is a Node's status, most of it, when `begun` has all fields before
// it in the order in which API servers write them; else nothing.
ByteRange UnreadOfProtobufWatchEvent(std::string_view begun, std::size_t size);

// meta/v1 ListMeta.
struct ProtobufListMeta {
  std::string_view resource_version;
  std::string_view continue_token;
};
absl::Status DecodeProtobufListMeta(std::string_view bytes, ProtobufListMeta& meta);

// core/v1 Node. `fields.kind` is left empty: a body says it.
absl::Status DecodeProtobufNode(std::string_view bytes, const AnnotationKeys& keys,
                                NodeFields& fields);

// A Node of which a BOOKMARK holds the metadata only.
struct ProtobufBookmark {
  std::string_view resource_version;
  bool initial_events_end = false;
};
absl::Status DecodeProtobufBookmark(std::string_view bytes, ProtobufBookmark& bookmark);

}  // namespace weft::kube
