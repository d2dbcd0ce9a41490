// SPDX-License-Identifier: Apache-2.0
// The pcapng part of CaptureReader: draft-ietf-opsawg-pcapng. Reads enhanced and simple packet
// blocks; skips every other block.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/capture_file.h"

namespace weft::dataplane {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d'0d0a;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b'3c4d;

// Section 4.2: if_tsresol, one byte, and if_tsoffset, eight.
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kTimeOffset = 14;

// Type, length before and length after the body: 4 bytes each.
constexpr std::size_t kBlockFrame = 12;
constexpr std::size_t kBodyOffset = 8;

// Section 4.2: a negative power of 10, or of 2 if the top bit is set. Zero if it cannot be
// converted to nanoseconds.
std::uint64_t TicksPerSecond(std::uint8_t resolution) {
  const unsigned exponent = resolution & 0x7f;
  if ((resolution & 0x80) != 0) return exponent < 63 ? std::uint64_t{1} << exponent : 0;
  if (exponent > 18) return 0;
  std::uint64_t ticks = 1;
  for (unsigned i = 0; i < exponent; ++i) ticks *= 10;
  return ticks;
}

}  // namespace

absl::StatusOr<std::optional<CaptureRecord>> CaptureReader::NextBlock() {
  while (Has(1)) {
    if (!Has(kBlockFrame)) return Damaged("the file ends inside a block header");
    const std::uint32_t type = Load32(position_);
    if (type == kSectionHeader) {
      if (absl::Status status = ReadSectionHeader(); !status.ok()) return status;
      continue;
    }
    const std::uint32_t length = Load32(position_ + 4);
    if (length < kBlockFrame || length % 4 != 0 || !Has(length)) {
      return Damaged(absl::StrCat("a block claims ", length, " bytes"));
    }
    const std::size_t body = position_ + kBodyOffset;
    const std::size_t end = position_ + length - 4;
    if (type == kInterfaceDescription) {
      if (absl::Status status = ReadInterface(body, end); !status.ok()) return status;
    } else if (type == kEnhancedPacket || type == kSimplePacket) {
      auto record =
          type == kEnhancedPacket ? ReadEnhancedPacket(body, end) : ReadSimplePacket(body, end);
      if (!record.ok()) return record.status();
      position_ += length;
      return *record;
    }
    position_ += length;
  }
  return std::nullopt;
}

absl::Status CaptureReader::ReadSectionHeader() {
  constexpr std::size_t kSmallest = 28;  // bytes, without options
  if (!Has(kSmallest)) return Damaged("the file ends inside a section header");
  big_endian_ = LoadBe32(bytes_.data() + position_ + 8) == kByteOrderMagic;
  if (Load32(position_ + 8) != kByteOrderMagic)
    return Damaged("a section header without byte order");
  const std::uint32_t length = Load32(position_ + 4);
  if (length < kSmallest || length % 4 != 0 || !Has(length)) {
    return Damaged(absl::StrCat("a section header claims ", length, " bytes"));
  }
  if (const std::uint16_t major = Load16(position_ + 12); major != 1) {
    return Damaged(absl::StrCat("pcapng version ", major, " is not 1"));
  }
  interfaces_.clear();  // each section numbers its own interfaces
  position_ += length;
  return absl::OkStatus();
}

absl::Status CaptureReader::ReadInterface(std::size_t body, std::size_t end) {
  if (end - body < 8) return Damaged("an interface description of fewer than 8 bytes");
  Interface interface;
  interface.link_type = static_cast<LinkType>(Load16(body));
  for (std::size_t at = body + 8; end - at >= 4;) {
    const std::uint16_t code = Load16(at);
    const std::size_t length = Load16(at + 2);
    const std::size_t padded = (length + 3) / 4 * 4;
    if (code == kEndOfOptions) break;
    if (end - at - 4 < padded) return Damaged("an option reaches beyond its block");
    if (code == kTimeResolution && length == 1) {
      interface.ticks_per_second = TicksPerSecond(Load8(bytes_.data() + at + 4));
      if (interface.ticks_per_second == 0)
        return Damaged("a time resolution far below nanoseconds");
    } else if (code == kTimeOffset && length == 8) {
      const std::uint64_t low = Load32(at + (big_endian_ ? 8 : 4));
      const std::uint64_t high = Load32(at + (big_endian_ ? 4 : 8));
      interface.offset_seconds = static_cast<std::int64_t>(high << 32 | low);
    }
    at += 4 + padded;
  }
  interfaces_.push_back(interface);
  return absl::OkStatus();
}

absl::StatusOr<CaptureRecord> CaptureReader::ReadEnhancedPacket(std::size_t body,
                                                                std::size_t end) const {
  constexpr std::size_t kFixed = 20;  // interface, time (two words), captured and original length
  if (end - body < kFixed) return Damaged("a packet block of fewer than 20 bytes");
  const std::uint32_t number = Load32(body);
  if (number >= interfaces_.size())
    return Damaged(absl::StrCat("interface ", number, " was not described"));
  const Interface& interface = interfaces_[number];
  const std::uint32_t captured = Load32(body + 12);
  if (captured > kMaxRecord || captured > end - body - kFixed) {
    return Damaged(absl::StrCat("a packet claims ", captured, " bytes"));
  }
  const std::uint64_t ticks = std::uint64_t{Load32(body + 4)} << 32 | Load32(body + 8);
  const std::uint64_t second = interface.ticks_per_second;
  // Unsigned, so that a damaged time wraps around without undefined behaviour.
  const std::uint64_t seconds =
      static_cast<std::uint64_t>(interface.offset_seconds) + ticks / second;
  const std::uint64_t fraction = static_cast<std::uint64_t>(
      static_cast<long double>(ticks % second) * 1e9L / static_cast<long double>(second));
  CaptureRecord record;
  record.time = CaptureTime(static_cast<std::int64_t>(seconds * 1'000'000'000 + fraction));
  record.link_type = interface.link_type;
  record.original_length = Load32(body + 16);
  record.bytes = Bytes(bytes_).subspan(body + kFixed, captured);
  return record;
}

absl::StatusOr<CaptureRecord> CaptureReader::ReadSimplePacket(std::size_t body,
                                                              std::size_t end) const {
  if (end - body < 4) return Damaged("a simple packet block of fewer than 4 bytes");
  if (interfaces_.empty()) return Damaged("a packet before any interface was described");
  CaptureRecord record;
  record.link_type = interfaces_.front().link_type;
  record.original_length = Load32(body);
  // The captured length is not stored; the block's length, padding included, bounds it.
  const std::size_t captured = std::min<std::size_t>(record.original_length, end - body - 4);
  if (captured > kMaxRecord) return Damaged(absl::StrCat("a packet claims ", captured, " bytes"));
  record.bytes = Bytes(bytes_).subspan(body + 4, captured);
  return record;
}

}  // namespace weft::dataplane
