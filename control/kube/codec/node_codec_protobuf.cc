// SPDX-License-Identifier: Apache-2.0
// Field numbers: the .proto files of k8s.io/api and k8s.io/apimachinery, which never change one.
#include "control/kube/codec/node_codec_protobuf.h"

#include "control/kube/codec/answer_reader_teller.h"
#include "control/kube/codec/node_codec_protobuf_fields.h"
#include "control/lease/quoted.h"

namespace weft::kube {
namespace {

using protobuf::Decoded;
using protobuf::Field;
using protobuf::ForEachField;
using protobuf::Number;
using protobuf::Text;

// An entry of a map<string, string>.
struct Entry {
  std::string_view key;
  std::string_view value;
};
Entry ReadEntry(std::string_view octets) {
  Entry entry;
  ForEachField(octets, [&](const Field& field) {
    if (field.key == Text(1)) entry.key = field.text;
    if (field.key == Text(2)) entry.value = field.text;
  });
  return entry;
}

// meta/v1 Time.
std::int64_t ReadSeconds(std::string_view octets) {
  std::int64_t seconds = 0;
  ForEachField(octets, [&](const Field& field) {
    if (field.key == Number(1)) seconds = static_cast<std::int64_t>(field.number);
  });
  return seconds;
}

void ReadObjectMeta(std::string_view octets, const AnnotationKeys& keys, NodeFields& fields) {
  ForEachField(octets, [&](const Field& field) {
    switch (field.key) {
      case Text(1):
        fields.name = field.text;
        break;
      case Text(5):
        fields.uid = field.text;
        break;
      case Text(6):
        fields.resource_version = field.text;
        break;
      case Text(8):
        fields.created = ReadSeconds(field.text);
        break;
      case Text(12): {
        const Entry annotation = ReadEntry(field.text);
        fields.SetAnnotation(keys, annotation.key, annotation.value);
        break;
      }
      default:
        break;
    }
  });
}

void ReadNodeSpec(std::string_view octets, NodeFields& fields) {
  ForEachField(octets, [&](const Field& field) {
    if (field.key == Text(1)) fields.pod_cidr = field.text;
    if (field.key != Text(7)) return;
    const std::size_t at = fields.pod_cidr_count++;
    if (at < fields.pod_cidrs.size()) fields.pod_cidrs[at] = field.text;
  });
}

std::string_view ReadKind(std::string_view type_meta) {
  std::string_view kind;
  ForEachField(type_meta, [&](const Field& field) {
    if (field.key == Text(2)) kind = field.text;
  });
  return kind;
}

std::string_view ReadRawExtension(std::string_view octets) {
  std::string_view raw;
  ForEachField(octets, [&](const Field& field) {
    if (field.key == Text(1)) raw = field.text;
  });
  return raw;
}

void ReadBookmarkMeta(std::string_view octets, ProtobufBookmark& bookmark) {
  ForEachField(octets, [&](const Field& field) {
    if (field.key == Text(6)) bookmark.resource_version = field.text;
    if (field.key != Text(12)) return;
    const Entry annotation = ReadEntry(field.text);
    if (annotation.key == kInitialEventsEnd) {
      bookmark.initial_events_end = annotation.value == "true";
    }
  });
}

}  // namespace

absl::Status DecodeProtobufBody(std::string_view octets, ProtobufBody& body) {
  body = {};
  if (!octets.starts_with(kProtobufMagic)) {
    return absl::DataLossError("the object does not begin with the mark of Kubernetes' protobuf");
  }
  octets.remove_prefix(kProtobufMagic.size());
  std::string_view encoding;
  auto status = Decoded("object's envelope", [&] {
    ForEachField(octets, [&](const Field& field) {
      if (field.key == Text(1)) body.kind = ReadKind(field.text);
      if (field.key == Text(2)) body.raw = field.text;
      if (field.key == Text(3)) encoding = field.text;
    });
  });
  return status.ok() ? CheckProtobufEncoding(encoding) : status;
}

absl::Status CheckProtobufEncoding(std::string_view encoding) {
  if (encoding.empty()) return absl::OkStatus();
  return absl::DataLossError("the object is encoded as " + lease::Quoted(encoding));
}

absl::Status DecodeProtobufKind(std::string_view octets, std::string_view& kind) {
  return Decoded("list's type", [&] { kind = ReadKind(octets); });
}

absl::Status DecodeProtobufWatchEvent(std::string_view octets, ProtobufWatchEvent& event) {
  event = {};
  return Decoded("watch event", [&] {
    ForEachField(octets, [&](const Field& field) {
      if (field.key == Text(1)) event.type = field.text;
      if (field.key == Text(2)) event.object = ReadRawExtension(field.text);
    });
  });
}

absl::Status DecodeProtobufListMeta(std::string_view octets, ProtobufListMeta& meta) {
  meta = {};
  return Decoded("list's metadata", [&] {
    ForEachField(octets, [&](const Field& field) {
      if (field.key == Text(2)) meta.resource_version = field.text;
      if (field.key == Text(3)) meta.continue_token = field.text;
    });
  });
}

absl::Status DecodeProtobufNode(std::string_view octets, const AnnotationKeys& keys,
                                NodeFields& fields) {
  fields.Clear();
  return Decoded("Node", [&] {
    // `status`, most of a Node, is stepped over by its length.
    ForEachField(octets, [&](const Field& field) {
      if (field.key == Text(1)) ReadObjectMeta(field.text, keys, fields);
      if (field.key == Text(2)) ReadNodeSpec(field.text, fields);
    });
  });
}

absl::Status DecodeProtobufBookmark(std::string_view octets, ProtobufBookmark& bookmark) {
  bookmark = {};
  return Decoded("bookmark", [&] {
    ForEachField(octets, [&](const Field& field) {
      if (field.key == Text(1)) ReadBookmarkMeta(field.text, bookmark);
    });
  });
}

}  // namespace weft::kube
