// SPDX-License-Identifier: Apache-2.0
// An adapter that libpcap has opened: its frames, and frames sent through it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/capture_reader.h"
#include "dataplane/ports/pcap_library.h"

namespace weft::dataplane {

struct PcapDeviceOptions {
  std::string adapter;   // as the system calls it: "eth0", "vEthernet (pods)"
  std::string filter{};  // pcap-filter(7); empty: every frame
  int snap_length = static_cast<int>(kMaxPacket);  // bytes of a frame that are kept
  int buffer = 16 << 20;                           // bytes, the kernel's
  // Each frame as soon as it arrives. False: in blocks, at most 100 ms late, which loses fewer.
  // Without the library's immediate mode: at most 1 ms late.
  bool immediate = true;
  bool promiscuous = true;
  bool only_ethernet = false;  // refuse an adapter of IP packets
};

// One thread. The library outlives it.
class PcapDevice {
 public:
  // NotFound: no such adapter. PermissionDenied. Unavailable: it is down. InvalidArgument: the
  // filter, or an adapter of other frames.
  static absl::StatusOr<std::unique_ptr<PcapDevice>> Open(const PcapLibrary& library,
                                                          const PcapDeviceOptions& options);
  ~PcapDevice();
  PcapDevice(const PcapDevice&) = delete;
  PcapDevice& operator=(const PcapDevice&) = delete;

  LinkType link_type() const { return link_type_; }

  enum class Read : std::uint8_t { kFrame, kNothing, kFailed };
  // The next frame, valid until the next call. Does not wait. kFailed: error() says why; the
  // adapter may be gone.
  Read Next(CaptureRecord& frame);
  std::string error() const { return library_.geterr(handle_); }

  // Does not wait. False: the system did not take it.
  bool Send(Bytes frame);

  // Empty where the library cannot say when a frame arrives.
  std::optional<WaitHandle> wait_handle() const { return wait_handle_; }
  // False: it cannot be read.
  bool ReadStatistics(PcapStatistics& out);

  const PcapLibrary& library() const { return library_; }
  PcapHandle* handle() const { return handle_; }

 private:
  PcapDevice(const PcapLibrary& library, PcapHandle* handle) : library_(library), handle_(handle) {}
  absl::Status Activate(const PcapDeviceOptions& options);
  absl::Status Filter(const PcapDeviceOptions& options);

  const PcapLibrary& library_;
  PcapHandle* const handle_;
  LinkType link_type_ = LinkType::kEthernet;
  bool nanoseconds_ = false;
  std::optional<WaitHandle> wait_handle_;
};

}  // namespace weft::dataplane
