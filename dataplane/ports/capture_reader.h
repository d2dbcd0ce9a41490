// SPDX-License-Identifier: Apache-2.0
// Reads capture files, pcap and pcapng, by libpcap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/ports/pcap_library.h"
#include "dataplane/ports/pcapng.h"

namespace weft::dataplane {

// A frame of a file or an adapter; its bytes are libpcap's.
struct CaptureRecord {
  CaptureTime time{};
  LinkType link_type{};               // other values are kept
  std::uint32_t original_length = 0;  // bytes on the wire; `bytes` may be shorter
  Bytes bytes;
};

// One thread. The library outlives it.
class CaptureReader {
 public:
  // Errors name the file. InvalidArgument: not a capture, or one that libpcap does not read, such
  // as pcapng with interfaces of different link types.
  static absl::StatusOr<std::unique_ptr<CaptureReader>> Open(const PcapLibrary& library,
                                                             const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // The next record, valid until the next call; empty at the end. DataLoss: the file is damaged
  // here; the records before it are good.
  absl::StatusOr<std::optional<CaptureRecord>> Next();

 private:
  CaptureReader(const PcapLibrary& library, std::string path, PcapHandle* handle);

  const PcapLibrary& library_;
  const std::string path_;
  PcapHandle* const handle_;
  LinkType link_type_;
};

// As libpcap has it in memory.
CaptureRecord RecordOf(const PcapRecord& record, const std::byte* bytes, LinkType link_type,
                       bool nanoseconds);
// LINKTYPE_RAW is another number in memory than in a file.
LinkType LinkTypeOf(int data_link);

}  // namespace weft::dataplane
