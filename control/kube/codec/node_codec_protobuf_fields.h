// SPDX-License-Identifier: Apache-2.0
// Shared by the protobuf codecs, on top of protozero. Its pbf_reader would do the same at twice the
// cost: here the values stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::kube::protobuf {

// A field's key: its number with its known wire type. With another wire type it is an unknown
// field.
constexpr std::uint64_t Text(std::uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint64_t Number(std::uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}

struct Field {
  std::uint64_t key = 0;
  std::string_view text;     // under Text
  std::uint64_t number = 0;  // under Number
};

// A number and the position after it, both returned in registers.
struct Varint {
  std::uint64_t number;
  const char* next;
};
// Reads a varint of any length. Throws protozero's exceptions.
Varint ReadAnyVarint(const char* at, const char* end);

// Fast path: nearly all varints have one byte or two.
[[gnu::always_inline]] inline std::uint64_t ReadVarint(const char*& at, const char* end) {
  if (at != end && static_cast<signed char>(*at) >= 0) return static_cast<unsigned char>(*at++);
  if (end - at >= 2 && static_cast<signed char>(at[1]) >= 0) {
    const std::uint64_t number =
        (static_cast<unsigned char>(at[0]) & 0x7fU) | static_cast<std::uint64_t>(at[1]) << 7;
    at += 2;
    return number;
  }
  const Varint read = ReadAnyVarint(at, end);
  at = read.next;
  return read.number;
}

// The end of a field that is neither text nor a varint. Throws protozero's exceptions.
const char* SkipOther(std::uint64_t key, const char* at, const char* end);

// Calls `take` for each field of a message in order. Throws protozero's exceptions.
void ForEachField(std::string_view message, auto take) {
  const char* at = message.data();
  const char* const end = at + message.size();
  while (at != end) {
    const std::uint64_t key = ReadVarint(at, end);
    if (key >> 3 == 0) throw protozero::invalid_tag_exception{};
    if ((key & 7) != Text(0)) {
      std::uint64_t number = 0;
      if ((key & 7) == Number(0)) {
        number = ReadVarint(at, end);
      } else {
        at = SkipOther(key, at, end);
      }
      take(Field{key, {}, number});
      continue;
    }
    const std::uint64_t size = ReadVarint(at, end);
    if (size > static_cast<std::size_t>(end - at)) throw protozero::end_of_buffer_exception{};
    take(Field{key, {at, static_cast<std::size_t>(size)}, 0});
    at += size;
  }
}

// Runs `decode`; converts protozero's exceptions to a status.
absl::Status Decoded(std::string_view what, auto decode) {
  try {
    decode();
    return absl::OkStatus();
  } catch (const protozero::exception& error) {
    return absl::DataLossError(absl::StrCat("the ", what, " is broken protobuf: ", error.what()));
  }
}

}  // namespace weft::kube::protobuf
