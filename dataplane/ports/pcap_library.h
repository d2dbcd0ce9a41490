// SPDX-License-Identifier: Apache-2.0
// libpcap, loaded by name when it is needed: libpcap.so on Linux, Npcap's wpcap.dll on Windows.
// weft is built and runs without it. Types and functions are those of pcap/pcap.h (libpcap 1.10),
// which mingw-w64 lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::dataplane {

struct PcapHandle;  // pcap_t

// struct pcap_pkthdr. `long` has 32 bits on Windows, as struct timeval there.
struct PcapRecord {
  long seconds;
  long microseconds;  // nanoseconds where set_tstamp_precision was accepted
  std::uint32_t captured;
  std::uint32_t length;
};
// struct bpf_program
struct PcapProgram {
  unsigned length;
  void* instructions;
};
// struct pcap_stat; the last three exist on Windows only.
struct PcapStatistics {
  unsigned received, dropped, dropped_by_adapter;
  unsigned captured, sent, dropped_by_network;
};
// struct pcap_send_queue
struct PcapSendQueue {
  unsigned capacity, used;  // bytes
  char* buffer;
};

inline constexpr int kPcapErrorSize = 256;    // PCAP_ERRBUF_SIZE
inline constexpr int kPcapNanoseconds = 1;    // PCAP_TSTAMP_PRECISION_NANO
inline constexpr unsigned kPcapNoMask = ~0u;  // PCAP_NETMASK_UNKNOWN
inline constexpr int kPcapEthernet = 1;       // DLT_EN10MB
inline constexpr int kPcapRawBsd = 14;        // DLT_RAW of OpenBSD
inline constexpr int kPcapRaw = 12;           // DLT_RAW of every other system

struct PcapLibrary {
  // Loads it once. Unavailable: there is none, or it is too old; the error says where to get it.
  static absl::StatusOr<const PcapLibrary*> Load();

  // From `find`, which returns a function's address or null. Public for tests.
  static absl::StatusOr<PcapLibrary> From(const std::function<void*(const char*)>& find);

  // Free it with `freecode`. InvalidArgument: `text` is not of pcap-filter(7) for the handle's
  // frames.
  absl::StatusOr<PcapProgram> Compile(PcapHandle* handle, const std::string& text) const;

  std::string version;

  PcapHandle* (*create)(const char* device, char* error) = nullptr;
  int (*set_snaplen)(PcapHandle*, int bytes) = nullptr;
  int (*set_promisc)(PcapHandle*, int on) = nullptr;
  int (*set_timeout)(PcapHandle*, int milliseconds) = nullptr;
  int (*set_buffer_size)(PcapHandle*, int bytes) = nullptr;
  int (*activate)(PcapHandle*) = nullptr;
  const char* (*statustostr)(int code) = nullptr;
  int (*setnonblock)(PcapHandle*, int on, char* error) = nullptr;
  int (*datalink)(PcapHandle*) = nullptr;
  int (*compile)(PcapHandle*, PcapProgram*, const char* text, int optimize,
                 std::uint32_t mask) = nullptr;
  int (*setfilter)(PcapHandle*, PcapProgram*) = nullptr;
  void (*freecode)(PcapProgram*) = nullptr;
  int (*next_ex)(PcapHandle*, PcapRecord**, const std::byte**) = nullptr;
  int (*sendpacket)(PcapHandle*, const std::byte*, int bytes) = nullptr;
  int (*stats)(PcapHandle*, PcapStatistics*) = nullptr;
  char* (*geterr)(PcapHandle*) = nullptr;
  void (*close)(PcapHandle*) = nullptr;

  // Null: this library has no such function, or only Wine's, which ends the process. Each has a
  // fall-back.
  int (*set_immediate_mode)(PcapHandle*, int on) = nullptr;
  int (*set_tstamp_precision)(PcapHandle*, int precision) = nullptr;
  int (*offline_filter)(const PcapProgram*, const PcapRecord*, const std::byte*) = nullptr;
  PcapHandle* (*open_offline)(const char* path, unsigned precision, char* error) = nullptr;
  PcapHandle* (*open_dead)(int link_type, int snap_length) = nullptr;
  int (*get_selectable_fd)(PcapHandle*) = nullptr;  // not on Windows
  void* (*getevent)(PcapHandle*) = nullptr;         // Windows only, as the rest
  int (*setmintocopy)(PcapHandle*, int bytes) = nullptr;
  PcapSendQueue* (*sendqueue_alloc)(unsigned bytes) = nullptr;
  void (*sendqueue_destroy)(PcapSendQueue*) = nullptr;
  int (*sendqueue_queue)(PcapSendQueue*, const PcapRecord*, const std::byte*) = nullptr;
  unsigned (*sendqueue_transmit)(PcapHandle*, PcapSendQueue*, int paced) = nullptr;
};

// Finds the system's library; Load calls it once.
absl::StatusOr<PcapLibrary> OpenPcapLibrary();

// Makes sendpacket fail where it would block. setnonblock concerns reading alone.
void MakeSendNonblocking(const PcapLibrary& library, PcapHandle* handle);

// The library's name of the adapter that the system calls `adapter`: the same on Linux; on Windows
// "\Device\NPF_{GUID}". NotFound names the adapters that exist.
absl::StatusOr<std::string> PcapNameOf(const std::string& adapter);

}  // namespace weft::dataplane
