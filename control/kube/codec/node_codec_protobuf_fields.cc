// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/node_codec_protobuf_fields.h"

namespace weft::kube::protobuf {

Varint ReadAnyVarint(const char* at, const char* end) {
  const std::uint64_t number = protozero::decode_varint(&at, end);
  return {number, at};
}

const char* SkipOther(std::uint64_t key, const char* at, const char* end) {
  std::ptrdiff_t size = 0;
  switch (static_cast<protozero::pbf_wire_type>(key & 7)) {
    case protozero::pbf_wire_type::fixed64:
      size = 8;
      break;
    case protozero::pbf_wire_type::fixed32:
      size = 4;
      break;
    default:
      throw protozero::unknown_pbf_wire_type_exception{};
  }
  if (end - at < size) throw protozero::end_of_buffer_exception{};
  return at + size;
}

}  // namespace weft::kube::protobuf
