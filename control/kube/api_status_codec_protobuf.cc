// SPDX-License-Identifier: Apache-2.0
#include "control/kube/api_status_codec_protobuf.h"

#include "control/kube/api_status_text.h"
#include "control/kube/node_codec_protobuf_fields.h"

namespace weft::kube {
namespace {

using protobuf::ForEachField;
using protobuf::Number;
using protobuf::Text;
using protobuf::View;
using protozero::pbf_reader;

void ReadCause(std::string_view octets, ApiStatus& status) {
  std::string_view reason, message;
  ForEachField(octets, [&](pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case Text(1):
        reason = View(reader);
        return true;
      case Text(2):
        message = View(reader);
        return true;
      default:
        return false;
    }
  });
  AddCause(reason, message, status);
}

void ReadDetails(std::string_view octets, ApiStatus& status) {
  ForEachField(octets, [&](pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case Text(4):
        ReadCause(View(reader), status);
        return true;
      case Number(5):
        SetRetryAfter(reader.get_int32(), status);
        return true;
      default:
        return false;
    }
  });
}

}  // namespace

absl::Status DecodeProtobufStatus(std::string_view octets, ApiStatus& status) {
  status = {};
  return protobuf::Decoded("Status", [&] {
    ForEachField(octets, [&](pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case Text(3):
          status.message = StatusLine(View(reader));
          return true;
        case Text(4):
          status.reason = StatusLine(View(reader));
          return true;
        case Text(5):
          ReadDetails(View(reader), status);
          return true;
        case Number(6): {
          const std::int32_t code = reader.get_int32();
          status.code = code > 0 && code < 1000 ? code : 0;
          return true;
        }
        default:
          return false;
      }
    });
  });
}

}  // namespace weft::kube
