// SPDX-License-Identifier: Apache-2.0
// What the protobuf codecs share around protozero.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::kube::protobuf {

// A field's number together with the wire type that it is known under, for a switch over
// tag_and_type(): under another one it is stepped over, where protozero's getters would assert.
constexpr std::uint32_t Text(std::uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t Number(std::uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}

inline std::string_view View(protozero::pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// Runs over a message; `take` sees each field and reads it or says no.
template <class Take>
void ForEachField(std::string_view octets, Take take) {
  protozero::pbf_reader reader(octets.data(), octets.size());
  while (reader.next()) {
    if (!take(reader)) reader.skip();
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
