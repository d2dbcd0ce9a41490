// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/remote/documents.h"

#include "hns/emulator/remote/remote_protocol.h"

namespace weft::hns::emulator {
namespace {

absl::Status Ended() {
  return absl::UnavailableError("the connection to the HNS emulator has ended");
}

}  // namespace

bool WriteDocument(Stream& stream, std::string_view document) {
  return document.size() <= kMostOctets && stream.Write(Frame(document));
}

absl::StatusOr<std::string> ReadDocument(Stream& stream) {
  std::array<char, kLengthSize> head{};
  if (!stream.Read(head.data(), head.size())) return Ended();
  const absl::StatusOr<std::size_t> length = ParseLength(head);
  if (!length.ok()) return length.status();
  std::string document(*length, '\0');
  if (!stream.Read(document.data(), document.size())) return Ended();
  return document;
}

}  // namespace weft::hns::emulator
