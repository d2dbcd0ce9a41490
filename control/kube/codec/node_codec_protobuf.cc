// SPDX-License-Identifier: Apache-2.0
// Field numbers are from the .proto files of k8s.io/api and k8s.io/apimachinery, and never change.
#include "control/kube/codec/node_codec_protobuf.h"

#include <optional>

#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/node_codec_protobuf_fields.h"
#include "vxlan/text/printable.h"

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
Entry ReadAnyEntry(std::string_view bytes) {
  Entry entry;
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(1)) entry.key = field.text;
    if (field.key == Text(2)) entry.value = field.text;
  });
  return entry;
}
Entry ReadEntry(std::string_view bytes) {
  // The form that API servers write if both are short: the key, the value, nothing else.
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  if (bytes.size() < 4 || byte(0) != Text(1)) return ReadAnyEntry(bytes);
  const std::size_t value = byte(1) + 4U;  // offset of the value
  if (value > bytes.size() || value >= 0x84 || byte(value - 2) != Text(2) ||
      byte(value - 1) != bytes.size() - value || bytes.size() - value >= 0x80)
    return ReadAnyEntry(bytes);
  return {bytes.substr(2, value - 4), bytes.substr(value)};
}

// meta/v1 Time.
std::int64_t ReadSeconds(std::string_view bytes) {
  std::int64_t seconds = 0;
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Number(1)) seconds = static_cast<std::int64_t>(field.number);
  });
  return seconds;
}

void ReadObjectMeta(std::string_view bytes, const AnnotationKeys& keys, NodeFields& fields) {
  ForEachField(bytes, [&](const Field& field) {
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

void ReadNodeSpec(std::string_view bytes, NodeFields& fields) {
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(1)) fields.pod_cidr = field.text;
    if (field.key != Text(7)) return;
    const std::size_t at = fields.pod_cidr_count++;
    if (at < fields.pod_cidrs.size()) fields.pod_cidrs[at] = field.text;
  });
}

constexpr std::uint64_t kConditions = Text(4), kAddresses = Text(5);  // of NodeStatus

void ReadNodeStatus(std::string_view bytes, NodeFields& fields) {
  ForEachField(bytes, [&](const Field& field) {
    if (field.key != kConditions && field.key != kAddresses) return;
    std::string_view type, value;  // of a condition its status, else an address
    std::int64_t since = 0;
    ForEachField(field.text, [&](const Field& part) {
      if (part.key == Text(1)) type = part.text;
      if (part.key == Text(2)) value = part.text;
      if (part.key == Text(4)) since = ReadSeconds(part.text);
    });
    if (field.key == kAddresses) {
      fields.AddAddress(type, value);
    } else if (type == "Ready") {
      fields.ready = value;
      fields.ready_since = since;
    }
  });
}

std::string_view ReadKind(std::string_view type_meta) {
  std::string_view kind;
  ForEachField(type_meta, [&](const Field& field) {
    if (field.key == Text(2)) kind = field.text;
  });
  return kind;
}

std::string_view ReadRawExtension(std::string_view bytes) {
  std::string_view raw;
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(1)) raw = field.text;
  });
  return raw;
}

void ReadBookmarkMeta(std::string_view bytes, ProtobufBookmark& bookmark) {
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(6)) bookmark.resource_version = field.text;
    if (field.key != Text(12)) return;
    const Entry annotation = ReadEntry(field.text);
    if (annotation.key == kInitialEventsEnd)
      bookmark.initial_events_end = annotation.value == "true";
  });
}

// Nested messages of which only the beginning has arrived. Keys have one byte, and lengths at most
// three: API servers write no others, and any other form is rejected.
class BegunMessage {
 public:
  // `left`: the length of the message, however much of it has arrived.
  BegunMessage(std::string_view come, std::size_t left) : come_(come), left_(left) {}

  std::size_t come() const { return come_.size(); }
  std::size_t left() const { return left_; }
  // The first byte of the next field's key.
  std::optional<std::uint64_t> Key() const {
    return come_.empty() || left_ == 0 ? std::nullopt : std::optional<std::uint64_t>(Byte(0));
  }
  // Moves to the contents of the next field, which must have this key.
  std::optional<std::size_t> LengthOf(std::uint64_t key) {
    if (come_.size() < 4 || left_ < 4 || Byte(0) != key) return std::nullopt;
    std::size_t length = Byte(1), head = 2;
    if (length >= 1U << 7) length = (length & 0x7f) | Byte(head++) << 7;
    if (length >= 1U << 14) length = (length & 0x3fff) | Byte(head++) << 14;
    if (length >= 1U << 21 || length > left_ - head) return std::nullopt;
    Skip(head);
    return length;
  }
  bool Over(std::uint64_t key) {
    const auto length = LengthOf(key);
    return length && Skip(*length);
  }
  // Enters a field; there is no way back out.
  bool Into(std::uint64_t key) {
    const auto length = LengthOf(key);
    if (length) left_ = *length;
    return length.has_value();
  }
  bool Skip(std::size_t bytes) {
    if (bytes > come_.size() || bytes > left_) return false;
    come_.remove_prefix(bytes);
    left_ -= bytes;
    return true;
  }

 private:
  std::size_t Byte(std::size_t at) const { return static_cast<unsigned char>(come_[at]); }

  std::string_view come_;
  std::size_t left_;
};

// Moves past the addresses of a NodeStatus, the last field that is read of it: API servers write
// fields in the order of their numbers. False: they may not have arrived.
bool SkipAddresses(BegunMessage& status) {
  for (;;) {
    const auto key = status.Key();
    if (!key || *key > kAddresses) return key.has_value();
    if ((*key & 7) != Text(0) || !status.Over(*key)) return false;
  }
}

}  // namespace

absl::Status DecodeProtobufBody(std::string_view bytes, ProtobufBody& body) {
  body = {};
  if (!bytes.starts_with(kProtobufMagic))
    return absl::DataLossError("the object does not begin with the mark of Kubernetes' protobuf");
  bytes.remove_prefix(kProtobufMagic.size());
  std::string_view encoding;
  auto status = Decoded("object's envelope", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(1)) body.kind = ReadKind(field.text);
      if (field.key == Text(2)) body.raw = field.text;
      if (field.key == Text(3)) encoding = field.text;
    });
  });
  return status.ok() ? CheckProtobufEncoding(encoding) : status;
}

absl::Status CheckProtobufEncoding(std::string_view encoding) {
  if (encoding.empty()) return absl::OkStatus();
  return absl::DataLossError("the object is encoded as " + Quoted(encoding));
}

absl::Status DecodeProtobufKind(std::string_view bytes, std::string_view& kind) {
  return Decoded("list's type", [&] { kind = ReadKind(bytes); });
}

absl::Status DecodeProtobufWatchEvent(std::string_view bytes, ProtobufWatchEvent& event) {
  event = {};
  return Decoded("watch event", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(1)) event.type = field.text;
      if (field.key == Text(2)) event.object = ReadRawExtension(field.text);
    });
  });
}

ByteRange UnreadOfProtobufWatchEvent(std::string_view begun, std::size_t size) {
  BegunMessage message(begun, size);
  if (!message.Over(Text(1))) return {};
  // All of an ERROR event's Status is read.
  if (begun.substr(0, begun.size() - message.come()).ends_with("ERROR")) return {};
  // The object must be the last field: another type could follow it.
  if (!message.Into(Text(2)) || begun.size() - message.come() + message.left() != size) return {};
  if (!message.Into(Text(1)) || !message.Skip(kProtobufMagic.size())) return {};
  if (!message.Over(Text(1)) || !message.Into(Text(2))) return {};  // the kind, the Node
  // Its metadata, spec and status.
  if (!message.Over(Text(1)) || !message.Over(Text(2)) || !message.Into(Text(3))) return {};
  if (!SkipAddresses(message)) return {};
  const std::size_t next = begun.size() - message.come();
  return {next + 1, next + message.left()};  // the key is read: it ends the decoding
}

absl::Status DecodeProtobufListMeta(std::string_view bytes, ProtobufListMeta& meta) {
  meta = {};
  return Decoded("list's metadata", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(2)) meta.resource_version = field.text;
      if (field.key == Text(3)) meta.continue_token = field.text;
    });
  });
}

absl::Status DecodeProtobufNode(std::string_view bytes, const AnnotationKeys& keys,
                                NodeFields& fields) {
  fields.Clear();
  std::string_view node_status;
  auto status = Decoded("Node", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(1)) ReadObjectMeta(field.text, keys, fields);
      if (field.key == Text(2)) ReadNodeSpec(field.text, fields);
      if (field.key == Text(3)) node_status = field.text;
    });
  });
  if (!status.ok()) return status;
  BegunMessage rest(node_status, node_status.size());
  SkipAddresses(rest);
  node_status.remove_suffix(rest.come());
  // A Node is readable without it.
  if (!Decoded("status", [&] { ReadNodeStatus(node_status, fields); }).ok())
    fields.address_count = 0;
  return absl::OkStatus();
}

absl::Status DecodeProtobufBookmark(std::string_view bytes, ProtobufBookmark& bookmark) {
  bookmark = {};
  return Decoded("bookmark", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(1)) ReadBookmarkMeta(field.text, bookmark);
    });
  });
}

}  // namespace weft::kube
