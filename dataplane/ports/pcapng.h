// SPDX-License-Identifier: Apache-2.0
// Writes the blocks of a pcapng file (draft-ietf-opsawg-pcapng): one section, several interfaces,
// names of addresses, comments. libpcap writes none of these. A file is a section header, then
// interfaces, each before its packets, and the rest in any order.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// The first header of a packet: LINKTYPE_ values of the tcpdump group.
enum class LinkType : std::uint32_t {
  kEthernet = 1,
  kRaw = 101,  // IPv4 or IPv6, by the version nibble
};

// Nanoseconds since 1970-01-01 UTC.
using CaptureTime = std::chrono::nanoseconds;

struct PcapngPacket {
  std::uint32_t interface = 0;  // in the order in which they were written
  CaptureTime time{};
  std::uint32_t original_length = 0;  // bytes on the wire; `bytes` may be shorter
  Bytes bytes;
  // `bytes` is an IP packet, and gets an Ethernet header with MACs of zeros: libpcap, unlike
  // Wireshark, reads a file only if all its interfaces have one link type, and that not raw IP.
  bool add_ethernet = false;
  std::string_view comment{};  // UTF-8
  enum class Direction : std::uint8_t { kUnknown, kInbound, kOutbound };
  Direction direction = Direction::kUnknown;
};

// Each appends one block to `out`, little-endian, with times in nanoseconds.
namespace pcapng {
void AppendSection(std::string& out, std::string_view program);
void AppendInterface(std::string& out, LinkType link_type, std::uint32_t snap_length,
                     std::string_view name);
void AppendPacket(std::string& out, const PcapngPacket& packet);
// Names that Wireshark shows for addresses; each name is shorter than 64 KiB.
void AppendNames(std::string& out, std::span<const std::pair<IpAddress, std::string>> names);
// At the end: what `interface` received and what of it was lost.
void AppendStatistics(std::string& out, std::uint32_t interface, CaptureTime time,
                      std::uint64_t received, std::uint64_t dropped);
}  // namespace pcapng

}  // namespace weft::dataplane
