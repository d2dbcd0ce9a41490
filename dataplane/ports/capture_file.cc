// SPDX-License-Identifier: Apache-2.0
// Classic pcap: draft-ietf-opsawg-pcap. The pcapng half of the reader is in capture_file_pcapng.cc.
#include "dataplane/ports/capture_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::dataplane {
namespace {

constexpr std::uint32_t kMagicMicroseconds = 0xa1b2'c3d4;
constexpr std::uint32_t kMagicNanoseconds = 0xa1b2'3c4d;
constexpr std::uint32_t kMagicPcapng = 0x0a0d'0d0a;  // a palindrome: the same in both byte orders
constexpr std::size_t kFileHeader = 24;              // bytes
constexpr std::size_t kRecordHeader = 16;            // bytes

std::string SystemReason() { return std::strerror(errno); }

}  // namespace

std::uint16_t CaptureReader::Load16(std::size_t at) const {
  const std::uint16_t value = LoadBe16(bytes_.data() + at);
  return big_endian_ ? value : __builtin_bswap16(value);
}

std::uint32_t CaptureReader::Load32(std::size_t at) const {
  const std::uint32_t value = LoadBe32(bytes_.data() + at);
  return big_endian_ ? value : __builtin_bswap32(value);
}

absl::Status CaptureReader::Damaged(const std::string& what) const {
  return absl::DataLossError(absl::StrCat("capture file ", name_, ", offset ", position_, ": ",
                                          what, "; the records before it are good"));
}

absl::StatusOr<CaptureReader> CaptureReader::Open(const std::string& path) {
  std::error_code ignored;  // opening the file reports the error
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat("capture file ", path, ": it is a directory; name a file in it"));
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat("capture file ", path, ": ", SystemReason(), "; check the path"));
  }
  const std::streamoff size = file.tellg();
  if (size < 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "capture file ", path, ": not a regular file; write the packets to one first"));
  if (static_cast<std::uint64_t>(size) > kMaxFile) {
    return absl::ResourceExhaustedError(absl::StrCat("capture file ", path, ": ", size,
                                                     " bytes are more than ", kMaxFile,
                                                     "; cut it with editcap -c"));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!bytes.empty() && !file.read(reinterpret_cast<char*>(bytes.data()), size)) {
    return absl::DataLossError(
        absl::StrCat("capture file ", path, ": cannot read: ", SystemReason()));
  }
  return FromBytes(path, std::move(bytes));
}

absl::StatusOr<CaptureReader> CaptureReader::FromBytes(std::string name,
                                                       std::vector<std::byte> bytes) {
  CaptureReader reader;
  reader.name_ = std::move(name);
  reader.bytes_ = std::move(bytes);
  if (reader.bytes_.size() >= 4 && LoadBe32(reader.bytes_.data()) == kMagicPcapng) {
    reader.blocks_ = true;
    // The first block is read now, so that an unusable file is refused here.
    if (absl::Status status = reader.ReadSectionHeader(); !status.ok()) return status;
    return reader;
  }
  if (absl::Status status = reader.ReadClassicHeader(); !status.ok()) return status;
  return reader;
}

absl::Status CaptureReader::ReadClassicHeader() {
  const auto refuse = [&](const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat("capture file ", name_, ", offset ", position_, ": ", what));
  };
  if (!Has(kFileHeader)) {
    return refuse(
        absl::StrCat(bytes_.size(), " bytes are no capture file (a header has ", kFileHeader, ")"));
  }
  Interface interface;
  big_endian_ = true;
  std::uint32_t magic = Load32(0);
  if (magic != kMagicMicroseconds && magic != kMagicNanoseconds) {
    big_endian_ = false;
    magic = Load32(0);
  }
  if (magic != kMagicMicroseconds && magic != kMagicNanoseconds) {
    return refuse("neither pcap nor pcapng; write one with tcpdump -w or Wireshark");
  }
  if (magic == kMagicNanoseconds) interface.ticks_per_second = 1'000'000'000;
  if (const std::uint16_t major = Load16(4); major != 2) {
    return refuse(
        absl::StrCat("pcap version ", major, " is not 2; convert it with editcap -F pcap"));
  }
  // The upper half of the word holds frame check sequence flags.
  interface.link_type = static_cast<LinkType>(Load32(20) & 0xffff);
  interfaces_.push_back(interface);
  position_ = kFileHeader;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CaptureRecord>> CaptureReader::Next() {
  return blocks_ ? NextBlock() : NextClassic();
}

absl::StatusOr<std::optional<CaptureRecord>> CaptureReader::NextClassic() {
  if (!Has(1)) return std::nullopt;
  if (!Has(kRecordHeader)) return Damaged("the file ends inside a record header");
  const Interface& interface = interfaces_.front();
  const std::uint32_t captured = Load32(position_ + 8);
  if (captured > kMaxRecord) return Damaged(absl::StrCat("a record claims ", captured, " bytes"));
  if (!Has(kRecordHeader + captured)) return Damaged("the file ends inside a record");
  CaptureRecord record;
  const auto tick = static_cast<std::int64_t>(1'000'000'000 / interface.ticks_per_second);
  record.time = std::chrono::seconds(Load32(position_)) +
                std::chrono::nanoseconds(Load32(position_ + 4) * tick);
  record.link_type = interface.link_type;
  record.original_length = Load32(position_ + 12);
  record.bytes = Bytes(bytes_).subspan(position_ + kRecordHeader, captured);
  position_ += kRecordHeader + captured;
  return record;
}

absl::StatusOr<CaptureWriter> CaptureWriter::Open(const std::string& path, LinkType link_type) {
  CaptureWriter writer(path, link_type);
  writer.file_ = std::make_unique<std::ofstream>(path, std::ios::binary | std::ios::trunc);
  std::array<std::byte, kFileHeader> header{};
  StoreBe32(header.data(), kMagicNanoseconds);
  StoreBe16(header.data() + 4, 2);  // version 2.4
  StoreBe16(header.data() + 6, 4);
  StoreBe32(header.data() + 16, kSnapLength);
  StoreBe32(header.data() + 20, static_cast<std::uint32_t>(link_type));
  writer.file_->write(reinterpret_cast<const char*>(header.data()), header.size());
  if (absl::Status status = writer.Flush(); !status.ok()) return status;
  return writer;
}

absl::Status CaptureWriter::Write(CaptureTime time, Bytes bytes) {
  time = std::max(time, CaptureTime::zero());
  const Bytes kept = bytes.first(std::min<std::size_t>(bytes.size(), kSnapLength));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  std::array<std::byte, kRecordHeader> header;
  StoreBe32(header.data(), static_cast<std::uint32_t>(seconds.count()));
  StoreBe32(header.data() + 4, static_cast<std::uint32_t>((time - seconds).count()));
  StoreBe32(header.data() + 8, static_cast<std::uint32_t>(kept.size()));
  StoreBe32(header.data() + 12, static_cast<std::uint32_t>(bytes.size()));
  file_->write(reinterpret_cast<const char*>(header.data()), header.size());
  file_->write(reinterpret_cast<const char*>(kept.data()),
               static_cast<std::streamsize>(kept.size()));
  return Result();
}

absl::Status CaptureWriter::Flush() {
  file_->flush();
  return Result();
}

absl::Status CaptureWriter::Result() {
  if (*file_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "capture file ", path_, ": cannot write: ", SystemReason(), "; check path and free space"));
}

}  // namespace weft::dataplane
