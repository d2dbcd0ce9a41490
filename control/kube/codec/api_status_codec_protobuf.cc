// SPDX-License-Identifier: Apache-2.0

#include "control/kube/codec/api_status_codec.h"
#include "control/kube/codec/node_codec_protobuf_fields.h"

namespace weft::kube {
namespace {

using protobuf::Field;
using protobuf::ForEachField;
using protobuf::Number;
using protobuf::Text;

void ReadCause(std::string_view bytes, ApiStatus& status) {
  std::string_view reason, message;
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(1)) reason = field.text;
    if (field.key == Text(2)) message = field.text;
  });
  AddCause(reason, message, status);
}

void ReadDetails(std::string_view bytes, ApiStatus& status) {
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(4)) ReadCause(field.text, status);
    if (field.key == Number(5)) SetRetryAfter(static_cast<std::int32_t>(field.number), status);
  });
}

}  // namespace

absl::Status DecodeProtobufStatus(std::string_view bytes, ApiStatus& status) {
  status = {};
  return protobuf::Decoded("Status", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(3)) status.message = StatusLine(field.text);
      if (field.key == Text(4)) status.reason = StatusLine(field.text);
      if (field.key == Text(5)) ReadDetails(field.text, status);
      if (field.key == Number(6)) SetCode(static_cast<std::int32_t>(field.number), status);
    });
  });
}

}  // namespace weft::kube
