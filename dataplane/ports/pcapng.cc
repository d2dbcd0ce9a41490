// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/pcapng.h"

#include <algorithm>
#include <cstddef>

#include "vxlan/ethernet.h"

namespace weft::dataplane::pcapng {
namespace {

// Block types, section 4.
constexpr std::uint32_t kSection = 0x0a0d'0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kNames = 4;
constexpr std::uint32_t kStatistics = 5;
constexpr std::uint32_t kPacket = 6;

constexpr std::uint32_t kByteOrderMagic = 0x1a2b'3c4d;
// Option codes, sections 3.5 and 4.1 to 4.6.
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kUserProgram = 4;  // of a section
constexpr std::uint16_t kName = 2;         // of an interface
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kReceived = 4;  // of statistics
constexpr std::uint16_t kDropped = 5;
constexpr std::uint16_t kRecordV4 = 1, kRecordV6 = 2;
constexpr std::size_t kLongestOption = 0xffff;

// Appends a block: length fields and padding are its own.
class Block {
 public:
  Block(std::string& out, std::uint32_t type) : out_(out), start_(out.size()) {
    Put32(type);
    Put32(0);  // the length, at the end
  }
  ~Block() {
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + 4);
    Put32(length);
    for (int i = 0; i < 4; ++i)
      out_[start_ + 4 + static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i));
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void Put16(std::uint32_t value) {
    out_.push_back(static_cast<char>(value));
    out_.push_back(static_cast<char>(value >> 8));
  }
  void Put32(std::uint32_t value) {
    Put16(value);
    Put16(value >> 16);
  }
  void Put64(std::uint64_t value) {
    Put32(static_cast<std::uint32_t>(value));
    Put32(static_cast<std::uint32_t>(value >> 32));
  }
  // High half first, whatever the byte order: section 4.3.
  void PutTime(CaptureTime time) {
    const auto ticks = static_cast<std::uint64_t>(std::max(time, CaptureTime::zero()).count());
    Put32(static_cast<std::uint32_t>(ticks >> 32));
    Put32(static_cast<std::uint32_t>(ticks));
  }
  void PutText(std::string_view text) { out_.append(text); }
  void Pad() { out_.append((4 - (out_.size() - start_) % 4) % 4, '\0'); }
  void PutOption(std::uint16_t code, std::string_view value) {
    value = value.substr(0, kLongestOption);
    Put16(code);
    Put16(static_cast<std::uint32_t>(value.size()));
    PutText(value);
    Pad();
  }
  void PutOption64(std::uint16_t code, std::uint64_t value) {
    Put16(code);
    Put16(8);
    Put64(value);
  }
  void EndOptions() { Put32(0); }

 private:
  std::string& out_;
  const std::size_t start_;
};

}  // namespace

void AppendSection(std::string& out, std::string_view program) {
  Block block(out, kSection);
  block.Put32(kByteOrderMagic);
  block.Put16(1);  // version 1.0
  block.Put16(0);
  block.Put64(~std::uint64_t{0});  // length not given
  block.PutOption(kUserProgram, program);
  block.EndOptions();
}

void AppendInterface(std::string& out, LinkType link_type, std::uint32_t snap_length,
                     std::string_view name) {
  Block block(out, kInterface);
  block.Put16(static_cast<std::uint32_t>(link_type));
  block.Put16(0);
  block.Put32(snap_length);
  block.PutOption(kName, name);
  block.PutOption(kTimeResolution, "\x09");
  block.EndOptions();
}

void AppendPacket(std::string& out, const PcapngPacket& packet) {
  Block block(out, kPacket);
  block.Put32(packet.interface);
  block.PutTime(packet.time);
  std::byte ethernet[EthernetHeader::kSize];
  const auto added = static_cast<std::uint32_t>(packet.add_ethernet ? sizeof ethernet : 0);
  block.Put32(added + static_cast<std::uint32_t>(packet.bytes.size()));
  block.Put32(added + packet.original_length);
  if (packet.add_ethernet) {
    const bool v6 = !packet.bytes.empty() && Load8(packet.bytes.data()) >> 4 == 6;
    EthernetHeader{{}, {}, v6 ? EtherType::kIpv6 : EtherType::kIpv4}.Emit(ethernet);
    block.PutText({reinterpret_cast<const char*>(ethernet), sizeof ethernet});
  }
  block.PutText({reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()});
  block.Pad();
  const bool directed = packet.direction != PcapngPacket::Direction::kUnknown;
  if (packet.comment.empty() && !directed) return;
  if (!packet.comment.empty()) block.PutOption(kComment, packet.comment);
  if (directed) {
    block.Put16(kPacketFlags);
    block.Put16(4);
    block.Put32(static_cast<std::uint32_t>(packet.direction));
  }
  block.EndOptions();
}

void AppendNames(std::string& out, std::span<const std::pair<IpAddress, std::string>> names) {
  Block block(out, kNames);
  for (const auto& [address, name] : names) {
    const Bytes bytes = address.bytes();
    block.Put16(address.is_v4() ? kRecordV4 : kRecordV6);
    block.Put16(static_cast<std::uint32_t>(bytes.size() + name.size() + 1));
    block.PutText({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    block.PutText(name);
    block.PutText({"\0", 1});
    block.Pad();
  }
  block.EndOptions();  // of the records: the same zeros
}

void AppendStatistics(std::string& out, std::uint32_t interface, CaptureTime time,
                      std::uint64_t received, std::uint64_t dropped) {
  Block block(out, kStatistics);
  block.Put32(interface);
  block.PutTime(time);
  block.PutOption64(kReceived, received);
  block.PutOption64(kDropped, dropped);
  block.EndOptions();
}

}  // namespace weft::dataplane::pcapng
