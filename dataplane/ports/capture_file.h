// SPDX-License-Identifier: Apache-2.0
// Capture files: reads and writes classic pcap, reads pcapng. Not libpcap: `flannelctl explain`
// also runs on Windows nodes, where wpcap.dll may be absent.
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
#include "dataplane/ports/pcapng.h"
#include "vxlan/bytes.h"

namespace weft::dataplane {

// Points into the reader's bytes.
struct CaptureRecord {
  CaptureTime time{};  // zero if the file has none (pcapng simple packet blocks)
  LinkType link_type{};
  std::uint32_t original_length = 0;  // bytes on the wire; `bytes` may be shorter
  Bytes bytes;
};

// Reads a whole file into memory: any byte order, microseconds or nanoseconds. Of a damaged file
// the records before the damage are read; every error names the file and the offset.
class CaptureReader {
 public:
  static constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 30;  // bytes
  static constexpr std::uint32_t kMaxRecord = 256 * 1024;            // bytes; libpcap's limit

  // Refuses other formats and files larger than kMaxFile.
  static absl::StatusOr<CaptureReader> Open(const std::string& path);
  // `name` is the file's name in errors.
  static absl::StatusOr<CaptureReader> FromBytes(std::string name, std::vector<std::byte> bytes);

  // The next record; empty at the end. After an error every call returns that error.
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

// Writes classic pcap with nanoseconds, big-endian on every machine, so that equal packets make
// equal files.
class CaptureWriter {
 public:
  // Maximum bytes of a record; Wireshark's value for "all".
  static constexpr std::uint32_t kSnapLength = CaptureReader::kMaxRecord;

  // Creates or truncates the file.
  static absl::StatusOr<CaptureWriter> Open(const std::string& path, LinkType link_type);

  LinkType link_type() const { return link_type_; }
  // Buffered: a later call may report a full disk. Times before 1970 are written as 1970.
  absl::Status Write(CaptureTime time, Bytes bytes);
  // Before Flush or destruction the file may lack the last records.
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
