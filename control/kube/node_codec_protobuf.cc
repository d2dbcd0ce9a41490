// SPDX-License-Identifier: Apache-2.0
// Field numbers: the .proto files of k8s.io/api and k8s.io/apimachinery, which never change one.
#include "control/kube/node_codec_protobuf.h"

#include "control/kube/answer_reader_teller.h"
#include "control/kube/node_codec_protobuf_fields.h"

namespace weft::kube {
namespace {

using protobuf::Decoded;
using protobuf::ForEachField;
using protobuf::Number;
using protobuf::Text;
using protobuf::View;
using protozero::pbf_reader;

// An entry of a map<string, string>.
struct Entry {
  std::string_view key;
  std::string_view value;
};
Entry ReadEntry(std::string_view octets) {
  Entry entry;
  ForEachField(octets, [&](pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case Text(1):
        entry.key = View(reader);
        return true;
      case Text(2):
        entry.value = View(reader);
        return true;
      default:
        return false;
    }
  });
  return entry;
}

// meta/v1 Time.
std::int64_t ReadSeconds(std::string_view octets) {
  std::int64_t seconds = 0;
  ForEachField(octets, [&](pbf_reader& reader) {
    if (reader.tag_and_type() != Number(1)) return false;
    seconds = reader.get_int64();
    return true;
  });
  return seconds;
}

void ReadObjectMeta(std::string_view octets, const AnnotationKeys& keys, NodeFields& fields) {
  ForEachField(octets, [&](pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case Text(1):
        fields.name = View(reader);
        return true;
      case Text(5):
        fields.uid = View(reader);
        return true;
      case Text(6):
        fields.resource_version = View(reader);
        return true;
      case Text(8):
        fields.created = ReadSeconds(View(reader));
        return true;
      case Text(12): {
        const Entry annotation = ReadEntry(View(reader));
        fields.SetAnnotation(keys, annotation.key, annotation.value);
        return true;
      }
      default:
        return false;
    }
  });
}

void ReadNodeSpec(std::string_view octets, NodeFields& fields) {
  ForEachField(octets, [&](pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case Text(1):
        fields.pod_cidr = View(reader);
        return true;
      case Text(7): {
        const std::string_view cidr = View(reader);
        if (fields.pod_cidr_count < fields.pod_cidrs.size()) {
          fields.pod_cidrs[fields.pod_cidr_count] = cidr;
        }
        ++fields.pod_cidr_count;
        return true;
      }
      default:
        return false;
    }
  });
}

std::string_view ReadKind(std::string_view type_meta) {
  std::string_view kind;
  ForEachField(type_meta, [&](pbf_reader& reader) {
    if (reader.tag_and_type() != Text(2)) return false;
    kind = View(reader);
    return true;
  });
  return kind;
}

}  // namespace

absl::Status DecodeProtobufBody(std::string_view octets, ProtobufUnknown& unknown) {
  unknown = {};
  if (!octets.starts_with(kProtobufMagic)) {
    return absl::DataLossError("the object does not begin with the mark of Kubernetes' protobuf");
  }
  octets.remove_prefix(kProtobufMagic.size());
  return Decoded("object's envelope", [&] {
    ForEachField(octets, [&](pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case Text(1):
          unknown.kind = ReadKind(View(reader));
          return true;
        case Text(2):
          unknown.raw = View(reader);
          return true;
        case Text(3):
          unknown.content_encoding = View(reader);
          return true;
        default:
          return false;
      }
    });
  });
}

absl::Status DecodeProtobufKind(std::string_view octets, std::string_view& kind) {
  return Decoded("list's type", [&] { kind = ReadKind(octets); });
}

absl::Status DecodeProtobufWatchEvent(std::string_view octets, ProtobufWatchEvent& event) {
  event = {};
  return Decoded("watch event", [&] {
    ForEachField(octets, [&](pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case Text(1):
          event.type = View(reader);
          return true;
        case Text(2):  // RawExtension
          ForEachField(View(reader), [&](pbf_reader& raw) {
            if (raw.tag_and_type() != Text(1)) return false;
            event.object = View(raw);
            return true;
          });
          return true;
        default:
          return false;
      }
    });
  });
}

absl::Status DecodeProtobufListMeta(std::string_view octets, ProtobufListMeta& meta) {
  meta = {};
  return Decoded("list's metadata", [&] {
    ForEachField(octets, [&](pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case Text(2):
          meta.resource_version = View(reader);
          return true;
        case Text(3):
          meta.continue_token = View(reader);
          return true;
        default:
          return false;
      }
    });
  });
}

absl::Status DecodeProtobufNode(std::string_view octets, const AnnotationKeys& keys,
                                NodeFields& fields) {
  fields.Clear();
  return Decoded("Node", [&] {
    // `status`, most of a Node, is stepped over by its length.
    ForEachField(octets, [&](pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case Text(1):
          ReadObjectMeta(View(reader), keys, fields);
          return true;
        case Text(2):
          ReadNodeSpec(View(reader), fields);
          return true;
        default:
          return false;
      }
    });
  });
}

absl::Status DecodeProtobufBookmark(std::string_view octets, ProtobufBookmark& bookmark) {
  bookmark = {};
  const auto read_meta = [&](pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case Text(6):
        bookmark.resource_version = View(reader);
        return true;
      case Text(12): {
        const Entry annotation = ReadEntry(View(reader));
        if (annotation.key == kInitialEventsEnd) {
          bookmark.initial_events_end = annotation.value == "true";
        }
        return true;
      }
      default:
        return false;
    }
  };
  return Decoded("bookmark", [&] {
    ForEachField(octets, [&](pbf_reader& reader) {
      if (reader.tag_and_type() != Text(1)) return false;
      ForEachField(View(reader), read_meta);
      return true;
    });
  });
}

}  // namespace weft::kube
