// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/pcap_device.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::dataplane {
namespace {

// pcap/pcap.h
constexpr int kErrorNoSuchDevice = -5;
constexpr int kErrorNoPermission = -8;
constexpr int kErrorNotUp = -9;
constexpr int kErrorNoPromiscuousPermission = -11;
constexpr int kErrorRead = -1;

}  // namespace

absl::StatusOr<std::unique_ptr<PcapDevice>> PcapDevice::Open(const PcapLibrary& library,
                                                             const PcapDeviceOptions& options) {
  const absl::StatusOr<std::string> name = PcapNameOf(options.adapter);
  if (!name.ok()) return name.status();
  char error[kPcapErrorSize] = {};
  PcapHandle* const handle = library.create(name->c_str(), error);
  if (!handle) {
    return absl::UnavailableError(
        absl::StrCat("adapter ", options.adapter, " cannot be captured: ", error));
  }
  std::unique_ptr<PcapDevice> device(new PcapDevice(library, handle));
  if (absl::Status status = device->Activate(options); !status.ok()) return status;
  if (absl::Status status = device->Filter(options); !status.ok()) return status;
  if (library.setnonblock(handle, 1, error) != 0) {
    return absl::UnavailableError(
        absl::StrCat("adapter ", options.adapter, " cannot be read without waiting: ", error));
  }
  MakeSendNonblocking(library, handle);
  if (library.get_selectable_fd) {
    if (const int descriptor = library.get_selectable_fd(handle); descriptor >= 0)
      device->wait_handle_ = descriptor;
  } else if (library.getevent) {
    // Signalled at the first byte, not once the driver's default of 16,000 are there.
    if (library.setmintocopy) library.setmintocopy(handle, 0);
    device->wait_handle_ = reinterpret_cast<WaitHandle>(library.getevent(handle));
  }
  return device;
}

absl::Status PcapDevice::Activate(const PcapDeviceOptions& options) {
  library_.set_snaplen(handle_, options.snap_length);
  library_.set_promisc(handle_, options.promiscuous ? 1 : 0);
  library_.set_timeout(handle_, options.immediate ? 1 : 100);
  library_.set_buffer_size(handle_, options.buffer);
  if (options.immediate && library_.set_immediate_mode) library_.set_immediate_mode(handle_, 1);
  nanoseconds_ = library_.set_tstamp_precision &&
                 library_.set_tstamp_precision(handle_, kPcapNanoseconds) == 0;
  const int code = library_.activate(handle_);
  const std::string object = absl::StrCat("adapter ", options.adapter);
  const auto reason = [&] {
    const std::string more = error();
    return absl::StrCat(library_.statustostr(code), more.empty() ? "" : ": ", more);
  };
  switch (code) {
    case kErrorNoSuchDevice:
      return absl::NotFoundError(absl::StrCat(object, " does not exist: ", reason()));
    case kErrorNoPermission:
    case kErrorNoPromiscuousPermission:
      return absl::PermissionDeniedError(
          absl::StrCat(object,
                       " cannot be captured: this user has no right to; run as root (Linux: "
                       "or with CAP_NET_RAW), on Windows as administrator"));
    case kErrorNotUp:
      return absl::UnavailableError(absl::StrCat(object, " is down; set it up"));
    default:
      break;
  }
  if (code < 0)
    return absl::UnavailableError(absl::StrCat(object, " cannot be captured: ", reason()));
  link_type_ = LinkTypeOf(library_.datalink(handle_));
  if (link_type_ == LinkType::kEthernet) return absl::OkStatus();
  if (options.only_ethernet) {
    return absl::InvalidArgumentError(
        absl::StrCat(object, " has no Ethernet frames; name one that has (veth, bridge)"));
  }
  if (link_type_ == LinkType::kRaw) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(object, " has neither Ethernet frames nor IP packets (link type ",
                   static_cast<std::uint32_t>(link_type_), "); name another adapter"));
}

absl::Status PcapDevice::Filter(const PcapDeviceOptions& options) {
  if (options.filter.empty()) return absl::OkStatus();
  absl::StatusOr<PcapProgram> program = library_.Compile(handle_, options.filter);
  if (!program.ok()) return program.status();
  const int code = library_.setfilter(handle_, &*program);
  library_.freecode(&*program);
  if (code == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("adapter ", options.adapter,
                                             " does not take the filter \"", options.filter,
                                             "\": ", error()));
}

PcapDevice::~PcapDevice() { library_.close(handle_); }

PcapDevice::Read PcapDevice::Next(CaptureRecord& frame) {
  PcapRecord* record = nullptr;
  const std::byte* bytes = nullptr;
  const int code = library_.next_ex(handle_, &record, &bytes);
  if (code == kErrorRead) return Read::kFailed;
  if (code != 1) return Read::kNothing;
  frame = RecordOf(*record, bytes, link_type_, nanoseconds_);
  return Read::kFrame;
}

bool PcapDevice::Send(Bytes frame) {
  return library_.sendpacket(handle_, frame.data(), static_cast<int>(frame.size())) == 0;
}

bool PcapDevice::ReadStatistics(PcapStatistics& out) {
  out = {};
  return library_.stats(handle_, &out) == 0;
}

}  // namespace weft::dataplane
