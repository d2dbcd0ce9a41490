// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/pcap_library.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::dataplane {

absl::StatusOr<PcapLibrary> PcapLibrary::From(const std::function<void*(const char*)>& find) {
  PcapLibrary library;
  std::string missing;
  const auto optional = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(find(name));
  };
  const auto required = [&](auto& function, const char* name) {
    optional(function, name);
    if (!function) absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
  };
  const char* (*lib_version)() = nullptr;
  required(lib_version, "pcap_lib_version");
  required(library.create, "pcap_create");
  required(library.set_snaplen, "pcap_set_snaplen");
  required(library.set_promisc, "pcap_set_promisc");
  required(library.set_timeout, "pcap_set_timeout");
  required(library.set_buffer_size, "pcap_set_buffer_size");
  required(library.activate, "pcap_activate");
  required(library.statustostr, "pcap_statustostr");
  required(library.setnonblock, "pcap_setnonblock");
  required(library.datalink, "pcap_datalink");
  required(library.compile, "pcap_compile");
  required(library.setfilter, "pcap_setfilter");
  required(library.freecode, "pcap_freecode");
  required(library.next_ex, "pcap_next_ex");
  required(library.sendpacket, "pcap_sendpacket");
  required(library.stats, "pcap_stats");
  required(library.geterr, "pcap_geterr");
  required(library.close, "pcap_close");
  if (!missing.empty()) {
    return absl::UnavailableError(
        absl::StrCat("it is older than libpcap 1.5, and lacks ", missing, "; install a newer one"));
  }
  library.version = lib_version();

  optional(library.get_selectable_fd, "pcap_get_selectable_fd");
  // Wine's wpcap.dll exports functions that end the process. It gives the version of the libpcap
  // below it, without Npcap's name.
  const bool npcap = absl::StartsWith(library.version, "Npcap");
  if (!npcap && !library.get_selectable_fd) return library;
  optional(library.set_immediate_mode, "pcap_set_immediate_mode");
  optional(library.set_tstamp_precision, "pcap_set_tstamp_precision");
  optional(library.offline_filter, "pcap_offline_filter");
  optional(library.open_offline, "pcap_open_offline_with_tstamp_precision");
  optional(library.open_dead, "pcap_open_dead");
  if (!npcap) return library;
  optional(library.getevent, "pcap_getevent");
  optional(library.setmintocopy, "pcap_setmintocopy");
  optional(library.sendqueue_alloc, "pcap_sendqueue_alloc");
  optional(library.sendqueue_destroy, "pcap_sendqueue_destroy");
  optional(library.sendqueue_queue, "pcap_sendqueue_queue");
  optional(library.sendqueue_transmit, "pcap_sendqueue_transmit");
  return library;
}

absl::StatusOr<const PcapLibrary*> PcapLibrary::Load() {
  static const auto* const kLibrary = new absl::StatusOr<PcapLibrary>(OpenPcapLibrary());
  if (!kLibrary->ok()) return kLibrary->status();
  return &**kLibrary;
}

absl::StatusOr<PcapProgram> PcapLibrary::Compile(PcapHandle* handle,
                                                 const std::string& text) const {
  PcapProgram program{};
  if (compile(handle, &program, text.c_str(), 1, kPcapNoMask) == 0) return program;
  return absl::InvalidArgumentError(absl::StrCat(
      "the filter \"", text, "\" is not understood: ", geterr(handle), "; see pcap-filter(7)"));
}

}  // namespace weft::dataplane
