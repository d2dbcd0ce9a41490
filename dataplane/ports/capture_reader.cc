// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/capture_reader.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::dataplane {

LinkType LinkTypeOf(int data_link) {
  if (data_link == kPcapRaw || data_link == kPcapRawBsd) return LinkType::kRaw;
  return static_cast<LinkType>(data_link);
}

CaptureRecord RecordOf(const PcapRecord& record, const std::byte* bytes, LinkType link_type,
                       bool nanoseconds) {
  return {.time = std::chrono::seconds(record.seconds) +
                  std::chrono::nanoseconds(std::int64_t{record.microseconds} *
                                           (nanoseconds ? 1 : 1000)),
          .link_type = link_type,
          .original_length = record.length,
          .bytes = Bytes(bytes, record.captured)};
}

absl::StatusOr<std::unique_ptr<CaptureReader>> CaptureReader::Open(const PcapLibrary& library,
                                                                   const std::string& path) {
  if (!library.open_offline) {
    return absl::UnimplementedError(absl::StrCat("capture file ", path, ": the library (",
                                                 library.version, ") reads no files"));
  }
  char error[kPcapErrorSize] = {};
  PcapHandle* const handle = library.open_offline(path.c_str(), kPcapNanoseconds, error);
  if (!handle) {
    return absl::InvalidArgumentError(
        absl::StrCat("capture file ", path, ": ", error,
                     "; write one with flannelctl capture, tcpdump or Wireshark"));
  }
  return std::unique_ptr<CaptureReader>(new CaptureReader(library, path, handle));
}

CaptureReader::CaptureReader(const PcapLibrary& library, std::string path, PcapHandle* handle)
    : library_(library),
      path_(std::move(path)),
      handle_(handle),
      link_type_(LinkTypeOf(library.datalink(handle))) {}

CaptureReader::~CaptureReader() { library_.close(handle_); }

absl::StatusOr<std::optional<CaptureRecord>> CaptureReader::Next() {
  constexpr int kRead = 1, kEnd = -2;  // pcap_next_ex
  PcapRecord* record = nullptr;
  const std::byte* bytes = nullptr;
  const int code = library_.next_ex(handle_, &record, &bytes);
  if (code == kEnd) return std::nullopt;
  if (code == kRead) return RecordOf(*record, bytes, link_type_, /*nanoseconds=*/true);
  return absl::DataLossError(absl::StrCat("capture file ", path_, ": ", library_.geterr(handle_),
                                          "; the records before it are good"));
}

}  // namespace weft::dataplane
