// SPDX-License-Identifier: Apache-2.0
// What the protobuf codecs share around protozero. Its pbf_reader would do as well, at twice the
// cost: here what is read stays in registers.
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

// A field's key: its number together with the wire type that it is known under. Under another one
// it is another field, which nobody knows.
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

inline std::uint64_t ReadVarint(const char*& at, const char* end) {
  if (at != end && static_cast<signed char>(*at) >= 0) return static_cast<unsigned char>(*at++);
  const char* rest = at;  // a copy, so that `at` itself has no address
  const std::uint64_t value = protozero::decode_varint(&rest, end);
  at = rest;
  return value;
}

// A field that is no text: its number, 0 unless it is a varint, and where the next field begins.
struct Other {
  std::uint64_t number;
  const char* next;
};
Other ReadOther(std::uint64_t key, const char* at, const char* end);

// `take` is given each field of a message in its order. Throws protozero's exceptions.
template <class Take>
void ForEachField(std::string_view message, Take take) {
  const char* at = message.data();
  const char* const end = at + message.size();
  while (at != end) {
    const std::uint64_t key = ReadVarint(at, end);
    if ((key & 7) != Text(0)) {
      const Other other = ReadOther(key, at, end);
      at = other.next;
      take(Field{key, {}, other.number});
      continue;
    }
    const std::uint64_t size = ReadVarint(at, end);
    if (size > static_cast<std::size_t>(end - at)) throw protozero::end_of_buffer_exception{};
    if (key == Text(0)) throw protozero::invalid_tag_exception{};
    take(Field{key, {at, static_cast<std::size_t>(size)}, 0});
    at += size;
  }
}

// Runs `decode`; protozero's exceptions end here.
template <class Decode>
absl::Status Decoded(std::string_view what, Decode decode) {
  try {
    decode();
    return absl::OkStatus();
  } catch (const protozero::exception& error) {
    return absl::DataLossError(absl::StrCat("the ", what, " is broken protobuf: ", error.what()));
  }
}

}  // namespace weft::kube::protobuf
