// SPDX-License-Identifier: Apache-2.0
// Capture files: classic pcap read and written, pcapng read. Our own, small reader rather than
// libpcap's: `flannelctl explain` needs it on Windows nodes too, where wpcap.dll may be absent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/bytes.h"

namespace weft::dataplane {

// What a record begins with; LINKTYPE_ values of the tcpdump group. Others are kept as they came.
enum class LinkType : std::uint32_t {
  kEthernet = 1,
  kRaw = 101,  // IPv4 or IPv6, told apart by the version nibble
};

// Nanoseconds since 1970-01-01 UTC.
using CaptureTime = std::chrono::nanoseconds;

// Points into the reader's bytes.
struct CaptureRecord {
  CaptureTime time{};  // zero where the file has none (pcapng simple packet blocks)
  LinkType link_type{};
  std::uint32_t original_length = 0;  // bytes on the wire; `bytes` may be fewer
  Bytes bytes;
};

// Reads a whole file into memory, of any byte order, in microseconds or nanoseconds. A damaged file
// gives its good records first; every error names the file and the offset.
class CaptureReader {
 public:
  static constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 30;  // bytes
  static constexpr std::uint32_t kMaxRecord = 256 * 1024;            // bytes; libpcap's limit

  // Refuses what is neither format, and files above kMaxFile.
  static absl::StatusOr<CaptureReader> Open(const std::string& path);
  // `name` stands for the file in errors.
  static absl::StatusOr<CaptureReader> FromBytes(std::string name, std::vector<std::byte> bytes);

  // The next record, or nothing at the end. After an error the reader stays at the error.
  absl::StatusOr<std::optional<CaptureRecord>> Next();

 private:
  // A pcapng interface, or classic pcap's only one.
  struct Interface {
    LinkType link_type{};
    std::uint64_t ticks_per_second = 1'000'000;
    std::int64_t offset_seconds = 0;
  };

  CaptureReader() = default;
  std::uint16_t Load16(std::size_t at) const;
  std::uint32_t Load32(std::size_t at) const;
  bool Has(std::size_t bytes) const { return bytes_.size() - position_ >= bytes; }
  absl::Status Damaged(const std::string& what) const;

  absl::Status ReadClassicHeader();
  absl::StatusOr<std::optional<CaptureRecord>> NextClassic();

  absl::StatusOr<std::optional<CaptureRecord>> NextBlock();
  absl::Status ReadSectionHeader();
  absl::Status ReadInterface(std::size_t body, std::size_t end);
  absl::StatusOr<CaptureRecord> ReadEnhancedPacket(std::size_t body, std::size_t end) const;
  absl::StatusOr<CaptureRecord> ReadSimplePacket(std::size_t body, std::size_t end) const;

  std::string name_;
  std::vector<std::byte> bytes_;
  std::size_t position_ = 0;
  bool big_endian_ = false;
  bool blocks_ = false;  // pcapng
  std::vector<Interface> interfaces_;
};

// Classic pcap with nanoseconds, in big-endian order whatever the machine, so that equal packets
// make equal files.
class CaptureWriter {
 public:
  // Bytes kept of each record; what Wireshark takes as "all".
  static constexpr std::uint32_t kSnapLength = CaptureReader::kMaxRecord;

  // Creates or empties the file.
  static absl::StatusOr<CaptureWriter> Open(const std::string& path, LinkType link_type);

  LinkType link_type() const { return link_type_; }
  // Buffered: a full disk may show at a later call. Times before 1970 are written as 1970.
  absl::Status Write(CaptureTime time, Bytes bytes);
  // Until this or destruction the file may lack the last records.
  absl::Status Flush();

 private:
  CaptureWriter(std::string path, LinkType link_type)
      : path_(std::move(path)), link_type_(link_type) {}
  absl::Status Result();

  std::string path_;
  LinkType link_type_;
  std::unique_ptr<std::ofstream> file_;
};

}  // namespace weft::dataplane
