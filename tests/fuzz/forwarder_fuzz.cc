// SPDX-License-Identifier: Apache-2.0
// A batch of hostile packets through the forwarder, three times: by its quick loops; by the general
// path, each packet alone; and by the rules of ARCHITECTURE.md ("Packets and ports"), written down
// here naively. All three agree on verdicts, bytes, descriptors, ICMP answers and counters.
//
// The input: five bytes of Setting, then packets: a template, its descriptor, and bytes to be
// written over it (ReadSample).
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/forwarder.h"
#include "dataplane/offload.h"
#include "tests/fuzz/input.h"
#include "tests/support/packet_builder.h"
#include "vxlan/ecn.h"
#include "vxlan/flow_hash.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

using fuzz::Input;
using fuzz::Require;

RemoteSpec Lease(const char* peer, const char* subnet, const char* vtep, const char* mac) {
  return {peer, *IpPrefix::Parse(subnet), Ip(vtep), Mac(mac)};
}

// Nested subnets, two leases at one VTEP, one peer of both families, an IPv6 underlay; linux-5 has
// what no lease should: half of our own subnet, and groups.
const std::vector<RemoteSpec>& Leases() {
  static const std::vector<RemoteSpec> leases = {
      Lease("linux-1", "10.244.1.0/24", "192.0.2.1", "02:00:00:00:00:01"),
      Lease("linux-1", "fd00:1::/64", "192.0.2.1", "02:00:00:00:00:01"),
      Lease("linux-3", "10.244.3.0/24", "192.0.2.3", "02:00:00:00:00:03"),
      Lease("linux-3b", "10.244.33.0/24", "192.0.2.3", "02:00:00:00:00:3b"),
      Lease("linux-4", "10.244.3.128/25", "192.0.2.4", "02:00:00:00:00:04"),
      Lease("linux-4", "fd00:1::8000/113", "192.0.2.4", "02:00:00:00:00:04"),
      Lease("linux-5", "10.244.2.128/25", "192.0.2.5", "02:00:00:00:00:05"),
      Lease("linux-5", "224.0.0.0/24", "192.0.2.5", "02:00:00:00:00:05"),
      Lease("linux-5", "255.255.255.0/24", "192.0.2.5", "02:00:00:00:00:05"),
      Lease("linux-5", "fd00:2::/80", "192.0.2.5", "02:00:00:00:00:05"),
      Lease("linux-5", "ff02::/64", "192.0.2.5", "02:00:00:00:00:05"),
      Lease("linux-6", "10.244.6.0/24", "2001:db8::6", "02:00:00:00:00:06"),
      Lease("linux-6", "fd00:6::/64", "2001:db8::6", "02:00:00:00:00:06"),
  };
  return leases;
}

constexpr std::uint32_t kLinkMtu = 1500;
constexpr std::uint32_t kDeviceMtu = 1450;

struct Setting {
  bool encapsulate = true;
  PortKind wire = PortKind::kWirePacket;
  bool udp_checksum = false;
  PeerCheck peer_check = PeerCheck::kLease;
  bool answers_icmp = false;
  struct Notice {
    PathMtuNotice notice;
    Timestamp at{};
  };
  std::vector<Notice> notices;
  Timestamp now{};

  LocalVtep local() const {
    LocalVtep vtep;
    vtep.outer_source = Ip("192.0.2.2");
    vtep.mac = Mac("02:00:00:00:00:02");
    vtep.udp_checksum = udp_checksum;
    return vtep;
  }
  // The same set either way: with two IPv4 subnets, even equal ones, the quick loops leave
  // everything to the general path.
  std::vector<IpPrefix> OwnSubnets(bool quick) const {
    const IpPrefix pods = *IpPrefix::Parse("10.244.2.0/24");
    const IpPrefix v6 = *IpPrefix::Parse("fd00:2::/64");
    return quick ? std::vector{pods, v6} : std::vector{pods, pods, v6};
  }
  ForwarderConfig Config(bool quick) const {
    ForwarderConfig config;
    config.local = local();
    config.own_subnets = OwnSubnets(quick);
    if (answers_icmp) config.own_addresses = {Ip("10.244.2.0"), Ip("fd00:2::")};
    config.link_mtu = *OuterMtu::From(kLinkMtu);
    config.device_mtu = *InnerMtu::From(kDeviceMtu);
    config.peer_check = peer_check;
    config.wire = wire;
    return config;
  }
};

Setting::Notice ReadNotice(std::uint8_t what) {
  static const std::array<IpAddress, 4> destinations = {Ip("192.0.2.1"), Ip("192.0.2.3"),
                                                        Ip("2001:db8::6"), Ip("203.0.113.9")};
  return {{destinations[what & 3], 500u + 20 * (what >> 2)}, {}};
}

Setting ReadSetting(Input& input) {
  const std::uint8_t flags = input.Byte();
  Setting setting;
  setting.encapsulate = (flags & 1) == 0;
  setting.wire = (flags & 2) == 0 ? PortKind::kWirePacket : PortKind::kWireDatagram;
  setting.udp_checksum = (flags & 4) != 0;
  constexpr std::array kChecks = {PeerCheck::kLease, PeerCheck::kStrict, PeerCheck::kOff,
                                  PeerCheck::kLease};
  setting.peer_check = kChecks[flags >> 3 & 3];
  setting.answers_icmp = (flags & 0x80) != 0;
  const Setting::Notice first = ReadNotice(input.Byte());
  Setting::Notice second = ReadNotice(input.Byte());
  second.at = std::chrono::seconds(5) * input.Byte();
  setting.now = second.at + std::chrono::seconds(5) * input.Byte();
  if ((flags & 0x20) != 0) setting.notices.push_back(first);
  if ((flags & 0x40) != 0) setting.notices.push_back(second);
  return setting;
}

// A packet with its own bytes, and nothing readable after them.
struct Sample {
  ByteVector bytes;
  Packet descriptor;  // its data and length count for nothing
};

const std::vector<ByteVector>& OutwardTemplates() {
  const auto to = [](const char* destination) { return PacketBuilder("10.244.2.9", destination); };
  static const std::vector<ByteVector> templates = {
      to("10.244.1.7").Udp(4000, 53).Payload(20).Build(),
      to("10.244.3.7").Tcp(1, 2).MarkEcn(Ecn::kEct0).Payload(70).Build(),
      to("10.244.3.200").Tcp(3, 4).Tos(63, Ecn::kCe).Build(),
      to("10.244.33.1").Ping(7, 8).Build(),
      to("10.244.6.1").Udp(5, 6).Payload(8).Build(),
      to("10.244.1.7").Ipv4Options(8).Build(),
      to("10.244.1.7").Payload(64).Fragment(0, 8).Build(),
      to("10.244.1.7").Payload(64).Fragment(32, 32).Build(),
      to("10.244.1.7").Raw(IpProtocol{132}).Payload(3).Build(),
      to("10.244.1.7").Udp(1, 2).DontFragment().TotalLength(1450).Build(),
      to("10.244.1.7").Tcp(1, 2).TotalLength(1451).Build(),
      to("10.244.2.200").Build(),
      to("10.245.0.1").Build(),
      to("224.0.0.251").Build(),
      to("255.255.255.255").Build(),
      PacketBuilder("fd00:2::9", "fd00:1::7").Tcp(1, 2).MarkEcn(Ecn::kEct1).Payload(9).Build(),
      PacketBuilder("fd00:2::9", "fd00:6::7").Udp(1, 2).TotalLength(1431).Build(),
      PacketBuilder("fd00:2::9", "fd00:1::8001").Ping(1, 2).Build(),
      to("10.244.1.7").Tcp(1, 2).PartialTransportChecksum().TotalLength(3000).Build(),
      to("10.244.6.7").Udp(1, 2).PartialTransportChecksum().TotalLength(3000).Build(),
      to("10.244.3.7").Udp(1, 2).TotalLength(560).Build(),
      PacketBuilder("fd00:2::9", "ff02::1").Build(),
      PacketBuilder("fd00:2::9", "fd00:2::7").Build(),
  };
  return templates;
}

const std::vector<ByteVector>& InwardTemplates() {
  const auto from = [](const char* source) { return PacketBuilder(source, "10.244.2.9"); };
  const ByteVector usual = from("10.244.1.7").Udp(53, 4000).Payload(20).Build();
  const ByteVector ecn = from("10.244.1.7").MarkEcn(Ecn::kEct0).Payload(20).Build();
  const ByteVector foreign = from("10.250.0.1").Tcp(1, 2).Payload(30).Build();
  const ByteVector v6 = PacketBuilder("fd00:1::7", "fd00:2::9").Tcp(1, 2).Payload(9).Build();
  const MacAddress us = Mac("02:00:00:00:00:02");
  static const std::vector<ByteVector> templates = {
      VxlanBuilder(usual).Build(),
      VxlanBuilder(usual).UdpChecksum().Build(),
      VxlanBuilder(usual).WrongUdpChecksum().Build(),
      VxlanBuilder(ecn).MarkEcn(Ecn::kCe).Build(),
      VxlanBuilder(usual).MarkEcn(Ecn::kCe).Build(),
      VxlanBuilder(foreign).Build(),
      VxlanBuilder(foreign).Outer("203.0.113.5", "192.0.2.2").Build(),
      VxlanBuilder(foreign).Outer("203.0.113.5", "192.0.2.2").Macs(MacAddress(), us).Build(),
      VxlanBuilder(usual).Outer("203.0.113.5", "192.0.2.2").Build(),
      VxlanBuilder(usual).Outer("192.0.2.3", "192.0.2.2").Build(),
      VxlanBuilder(from("10.244.3.200").Build()).Outer("192.0.2.4", "192.0.2.2").Build(),
      VxlanBuilder(from("10.244.6.1").Build()).Outer("2001:db8::6", "2001:db8::2").Build(),
      VxlanBuilder(v6).Outer("2001:db8::6", "2001:db8::2").UdpChecksum().Build(),
      VxlanBuilder(v6).Build(),
      VxlanBuilder(usual).Network(4097).Build(),
      VxlanBuilder(usual).Ports(50000, 8472).Build(),
      VxlanBuilder(usual).Fragment(0, 64).Build(),
      VxlanBuilder(usual).ReservedBitsSet().Build(),
      VxlanBuilder(from("10.244.1.7").Ipv4Options(4).Build()).Build(),
      VxlanBuilder(PacketBuilder("10.244.1.7", "10.99.1.1").Build()).Build(),
      VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.7.1").Build()).Build(),
      VxlanBuilder(usual).InnerEtherType(0x86dd).Build(),
      VxlanBuilder(from("10.244.1.7").Payload(1500).Build()).Build(),
      VxlanBuilder(from("10.244.1.0").Payload(0).Ttl(0).Build()).Build(),
      VxlanBuilder(from("10.244.2.7").Build()).Build(),
      VxlanBuilder(from("10.244.2.200").Build()).Outer("192.0.2.5", "192.0.2.2").Build(),
      VxlanBuilder(from("10.99.0.7").Build()).Build(),
      VxlanBuilder(PacketBuilder("fd00:2::7", "fd00:2::9").Build()).Build(),
  };
  return templates;
}

void RightHeaderChecksum(ByteVector& packet) {
  if (packet.size() < Ipv4Header::kSize || Load8(packet.data()) != 0x45) return;
  StoreBe16(packet.data() + 10, 0);
  StoreBe16(packet.data() + 10, SumIpv4Header(packet.data()).Checksum());
}

// What a datagram port leaves of any outer packet.
void KeepPayload(Sample& sample) {
  ByteVector& bytes = sample.bytes;
  const bool v6 = bytes.size() >= 48 && Load8(bytes.data()) >> 4 == 6;
  const std::uint32_t headers = v6 ? 48 : 28;
  if (bytes.size() <= headers) return;
  Packet& packet = sample.descriptor;
  const IpFamily family = v6 ? IpFamily::kV6 : IpFamily::kV4;
  packet.outer_address = IpAddress::FromBytes(family, bytes.data() + (v6 ? 8 : 12));
  packet.outer_ecn = static_cast<std::uint8_t>(LoadBe16(bytes.data()) >> (v6 ? 4 : 0) & 3);
  packet.outer_port = LoadBe16(bytes.data() + headers - 8);
  bytes.erase(bytes.begin(), bytes.begin() + headers);
}

// Template (255: as many bytes as the next byte's value), flags, their argument, number of patches;
// each an offset and a byte.
Sample ReadSample(const Setting& setting, Input& input) {
  const auto& templates = setting.encapsulate ? OutwardTemplates() : InwardTemplates();
  const std::uint8_t which = input.Byte();
  const std::uint8_t flags = input.Byte();
  const std::uint8_t argument = input.Byte();
  const std::uint8_t patches = input.Byte();
  Sample sample;
  if (which == 255) {
    const Bytes raw = input.Take(patches);
    sample.bytes.assign(raw.begin(), raw.end());
  } else {
    sample.bytes = templates[which % templates.size()];
  }
  ByteVector& bytes = sample.bytes;
  Packet& packet = sample.descriptor;
  if (const auto inner = ParseInnerIp(bytes); setting.encapsulate && inner) {
    packet.checksum_start = static_cast<std::uint16_t>(inner->header_length);
    packet.checksum_offset = inner->protocol == IpProtocol::kTcp ? 16 : 6;
  }
  for (int i = 0; which != 255 && i < patches && !input.empty(); ++i) {
    const std::uint8_t at = input.Byte();
    const std::byte value{input.Byte()};
    if (at < bytes.size()) bytes[at] = value;
  }
  if ((flags & 0x20) != 0)
    bytes.resize(bytes.size() - std::min<std::size_t>(argument, bytes.size()));
  if ((flags & 0x40) != 0) bytes.resize(bytes.size() + argument);
  if ((flags & 0x80) != 0) packet.verdict = Verdict::kPodFull;
  if ((flags & 0x02) != 0) packet.checksum = ChecksumState::kPartial;
  if (setting.encapsulate) {
    constexpr std::array kSegmentations = {Segmentation::kNone, Segmentation::kTcp,
                                           Segmentation::kUdp, Segmentation::kDatagrams};
    packet.segmentation = kSegmentations[flags >> 2 & 3];
    if (packet.segmentation != Segmentation::kNone)
      packet.segment_size = static_cast<std::uint16_t>(argument * 8);
  } else {
    if ((flags & 0x01) != 0) RightHeaderChecksum(bytes);
    if (setting.wire == PortKind::kWireDatagram) KeepPayload(sample);
  }
  if (bytes.empty()) bytes.resize(1);  // ports never deliver nothing
  return sample;
}

// One path's forwarder, with the buffers of what passes it.
class Path {
 public:
  Path(const Setting& setting, bool quick)
      : setting_(setting),
        tables_(TablesOf(setting, quick)),
        forwarder_(setting.Config(quick), tables_.remotes, tables_.peers, counters_) {
    tables_.Reset();
    for (const auto& [notice, at] : setting.notices) forwarder_.LearnPathMtu(notice, at);
  }

  // In batches of `together`.
  void Run(const std::vector<Sample>& samples, std::size_t together) {
    static const auto batch = std::make_unique<Batch>();
    static const auto answers = std::make_unique<Batch>();
    auto& direction = setting_.encapsulate ? counters_.to_wire : counters_.to_pods;
    for (std::size_t done = 0; done < samples.size(); done += together) {
      batch->clear();
      answers->clear();
      batch->now = setting_.now;
      const std::size_t size = std::min(together, samples.size() - done);
      for (std::size_t i = 0; i < size; ++i) batch->Add(Lend(samples[done + i]));
      if (setting_.encapsulate) {
        forwarder_.Encapsulate(*batch, *answers);
      } else {
        forwarder_.Decapsulate(*batch);
      }
      direction.Count(*batch);
      results.insert(results.end(), batch->begin(), batch->end());
      replies.insert(replies.end(), answers->begin(), answers->end());
    }
    values = counters_.Read();
    rows = tables_.peers.Read();
  }

  std::vector<Packet> results;
  std::vector<Packet> replies;
  CounterValues values;
  std::vector<PeerTable::Row> rows;

 private:
  // Made once: a remote table is large.
  struct Tables {
    explicit Tables(const LocalVtep& local) : remotes(local, peers) { remotes.Resync(Leases()); }
    void Reset() {
      for (PeerId id = 0; id <= Leases().size(); ++id) {
        PeerTable::Slot& slot = peers.slots(id)[0];
        slot.sent_packets = slot.sent_bytes = slot.received_packets = slot.received_bytes = 0;
        slot.path_mtu = 0;
        slot.path_mtu_expiry = 0;
        slot.fragmentable_packets = slot.other_source_packets = 0;
        peers.other_sources(id)[0].Clear();
      }
    }
    PeerTable peers;
    RemoteTable remotes;
  };
  static Tables& TablesOf(const Setting& setting, bool quick) {
    static std::array<std::unique_ptr<Tables>, 4> tables;
    auto& mine = tables[(setting.udp_checksum ? 1u : 0u) + (quick ? 2u : 0u)];
    if (!mine) mine = std::make_unique<Tables>(setting.local());
    return *mine;
  }

  // A copy of exact size with headroom, so that reads past the end are seen.
  Packet Lend(const Sample& sample) {
    auto& buffer = buffers_.emplace_back(kHeadroom + sample.bytes.size());
    std::copy(sample.bytes.begin(), sample.bytes.end(), buffer.begin() + kHeadroom);
    Packet packet = sample.descriptor;
    packet.data = buffer.data() + kHeadroom;
    packet.length = static_cast<std::uint32_t>(sample.bytes.size());
    packet.headroom = kHeadroom;
    return packet;
  }

  const Setting& setting_;
  Tables& tables_;
  Counters counters_;
  Forwarder forwarder_;
  std::vector<ByteVector> buffers_;
};

bool SameBytes(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void RequireSamePacket(const Packet& a, const Packet& b) {
  Require(a.verdict == b.verdict, "the verdict");
  if (a.verdict != Verdict::kForward) return;
  Require(SameBytes(a.bytes(), b.bytes()), "the bytes");
  Require(a.headroom == b.headroom && a.tailroom == b.tailroom, "the room");
  Require(a.outer_address == b.outer_address && a.outer_port == b.outer_port, "the outer address");
  Require(a.outer_ecn == b.outer_ecn && a.inner_offset == b.inner_offset &&
              a.may_fragment == b.may_fragment,
          "the descriptor");
  Require(a.segmentation == b.segmentation && a.segment_size == b.segment_size, "the segments");
  Require(a.checksum == b.checksum, "the state of the checksum");
  if (a.checksum == ChecksumState::kPartial || a.segmentation != Segmentation::kNone)
    Require(a.checksum_start == b.checksum_start && a.checksum_offset == b.checksum_offset,
            "the place of the checksum");
}

void RequireSame(const Path& a, const Path& b) {
  Require(a.results.size() == b.results.size(), "the number of packets");
  for (std::size_t i = 0; i < a.results.size(); ++i) RequireSamePacket(a.results[i], b.results[i]);
  Require(a.replies.size() == b.replies.size(), "the number of ICMP answers");
  for (std::size_t i = 0; i < a.replies.size(); ++i) RequireSamePacket(a.replies[i], b.replies[i]);
  for (std::size_t i = 0; i < a.rows.size(); ++i)
    Require(a.rows[i].counts == b.rows[i].counts, "a peer's counts and path MTU");
  Require(a.values == b.values, "the counters");
}

// The rules, one after another, without tables, templates or batches.
class Rules {
 public:
  explicit Rules(const Setting& setting) : setting_(setting), own_(setting.OwnSubnets(true)) {}

  // Decisions about ports, budgets and superframes are not modelled here.
  static bool Covers(const Setting& setting, const Packet& packet) {
    return packet.verdict == Verdict::kForward && packet.segmentation == Segmentation::kNone &&
           (!setting.encapsulate || packet.checksum == ChecksumState::kOnWire);
  }

  void CheckOutward(const Sample& sample, const Packet& result) const {
    const Parsed<InnerPacket> inner = ParseInnerIp(sample.bytes);
    const RemoteSpec* lease = nullptr;
    const bool routed = inner && inner->ttl != 0 && !inner->destination().IsMulticast() &&
                        inner->destination() != Ip("255.255.255.255") &&
                        !IsOwn(inner->destination()) && (lease = LeaseOf(inner->destination()));
    if (!routed) return Require(result.verdict != Verdict::kForward, "what has no way is dropped");
    const std::uint32_t path_mtu = PathMtuTo(*lease);
    if (inner->total_length > LimitTo(*lease, path_mtu, inner->family)) {
      return Require(result.verdict == Verdict::kTooBig || result.verdict == Verdict::kTooBigSilent,
                     "what is too big is dropped as such");
    }
    Require(result.verdict == Verdict::kForward, "what has a way is sent");
    Require(result.outer_port == OuterSourcePort(HashInnerFlow(*inner)), "the flow's port");
    const std::uint32_t outer_length =
        inner->total_length + EncapsulationOverhead(lease->vtep.family());
    Require(result.may_fragment == (outer_length > path_mtu),
            "only what the path does not carry may be fragmented");
    Bytes payload = result.bytes();
    if (setting_.wire == PortKind::kWirePacket) {
      const auto outer = weft::detail::ParseOuterPacketSlow(payload, OuterChecksums::kVerify);
      Require(outer.ok() && outer->total_length == payload.size(), "the outer packet is whole");
      Require(outer->destination() == lease->vtep && outer->destination_port == kVxlanPort &&
                  outer->source_port == result.outer_port && outer->ecn == inner->ecn &&
                  outer->ttl == 64,
              "the outer headers");
      payload = outer->payload();
      if (outer->is_v4())
        Require((LoadBe16(outer->data + 26) != 0) == setting_.udp_checksum, "a UDP checksum");
    } else {
      Require(result.outer_address == lease->vtep, "the outer destination");
      Require(EcnOf(result.outer_ecn) == inner->ecn, "the outer ECN");
    }
    const auto vxlan = VxlanHeader::Parse(payload);
    Require(vxlan.ok() && vxlan->vni == kFlannelWindowsVni, "the VNI");
    const Bytes frame = payload.subspan(VxlanHeader::kSize);
    const auto ethernet = EthernetHeader::Parse(frame);
    Require(ethernet.ok() && ethernet->destination == lease->mac &&
                ethernet->source == setting_.local().mac &&
                ethernet->ether_type == inner->ether_type(),
            "the inner Ethernet header");
    Require(SameBytes(frame.subspan(EthernetHeader::kSize), inner->bytes()), "the inner packet");
  }

  void CheckInward(const Sample& sample, const Packet& result) const {
    const std::optional<ByteVector> inner = Received(sample);
    Require((result.verdict == Verdict::kForward) == inner.has_value(), "who may send what to us");
    if (inner) Require(SameBytes(result.bytes(), *inner), "the inner packet");
  }

 private:
  bool IsOwn(const IpAddress& address) const {
    return std::any_of(own_.begin(), own_.end(),
                       [&](const IpPrefix& subnet) { return subnet.Contains(address); });
  }

  static const RemoteSpec* LeaseOf(const IpAddress& address) {
    const RemoteSpec* longest = nullptr;
    for (const RemoteSpec& lease : Leases()) {
      if (lease.subnet.Contains(address) &&
          (longest == nullptr || lease.subnet.length() > longest->subnet.length()))
        longest = &lease;
    }
    return longest;
  }

  std::uint32_t PathMtuTo(const RemoteSpec& lease) const {
    std::uint32_t path_mtu = kLinkMtu;
    Timestamp expiry{};
    for (const auto& [notice, at] : setting_.notices) {
      const std::uint32_t told = std::max(notice.outer_mtu, lease.vtep.is_v4() ? 68u : 1280u);
      if (notice.destination != lease.vtep || told >= kLinkMtu) continue;
      if (told > path_mtu && at < expiry) continue;
      path_mtu = told;
      expiry = at + kPathMtuLifetime;
    }
    return setting_.now >= expiry ? kLinkMtu : path_mtu;
  }

  static std::uint32_t LimitTo(const RemoteSpec& lease, std::uint32_t path_mtu, IpFamily inner) {
    const std::uint32_t overhead = EncapsulationOverhead(lease.vtep.family());
    const std::uint32_t least = inner == IpFamily::kV4 ? 552 : 1280;
    return std::min({kDeviceMtu, kLinkMtu - overhead, std::max(path_mtu - overhead, least)});
  }

  bool MayComeFrom(const IpAddress& outer, const MacAddress& mac, const RemoteSpec* lease) const {
    if (setting_.peer_check == PeerCheck::kOff) return true;
    if (lease != nullptr && lease->vtep == outer) return true;
    if (setting_.peer_check == PeerCheck::kStrict) return false;
    const bool is_vtep = std::any_of(Leases().begin(), Leases().end(),
                                     [&](const RemoteSpec& each) { return each.vtep == outer; });
    const bool is_pod = !is_vtep && (IsOwn(outer) || LeaseOf(outer) != nullptr);
    return !is_pod && ((lease != nullptr && lease->mac == mac) || is_vtep);
  }

  // The packet that the pod receives; empty: none.
  std::optional<ByteVector> Received(const Sample& sample) const {
    Bytes payload = sample.bytes;
    IpAddress source = sample.descriptor.outer_address;
    Ecn outer_ecn = EcnOf(sample.descriptor.outer_ecn);
    if (setting_.wire == PortKind::kWirePacket) {
      const bool verified = sample.descriptor.checksum == ChecksumState::kPartial;
      const auto outer = weft::detail::ParseOuterPacketSlow(
          payload, verified ? OuterChecksums::kTrust : OuterChecksums::kVerify);
      if (!outer || outer->destination_port != kVxlanPort) return std::nullopt;
      source = outer->source();
      outer_ecn = outer->ecn;
      payload = outer->payload();
    }
    const auto vxlan = VxlanHeader::Parse(payload);
    if (!vxlan || vxlan->vni != kFlannelWindowsVni) return std::nullopt;
    const Bytes frame = payload.subspan(VxlanHeader::kSize);
    const auto ethernet = EthernetHeader::Parse(frame);
    if (!ethernet || ethernet->destination != setting_.local().mac) return std::nullopt;
    const auto inner = ParseInnerFrame(frame);
    if (!inner || !IsOwn(inner->destination())) return std::nullopt;
    if (setting_.peer_check != PeerCheck::kOff && IsOwn(inner->source())) return std::nullopt;
    if (!MayComeFrom(source, ethernet->source, LeaseOf(inner->source()))) return std::nullopt;
    const std::optional<Ecn> ecn = DecapsulationEcn(inner->ecn, outer_ecn);
    if (!ecn) return std::nullopt;
    ByteVector received(inner->bytes().begin(), inner->bytes().end());
    if (*ecn != inner->ecn) SetEcn(received.data(), inner->family, *ecn);
    return received;
  }

  const Setting& setting_;
  const std::vector<IpPrefix> own_;
};

}  // namespace
}  // namespace weft::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::dataplane;
  weft::fuzz::Input input(data, size);
  const Setting setting = ReadSetting(input);
  std::vector<Sample> samples;
  while (!input.empty() && samples.size() < kMaxBatch)
    samples.push_back(ReadSample(setting, input));
  if (samples.empty()) return 0;

  Path quick(setting, true);
  Path general(setting, false);
  quick.Run(samples, kMaxBatch);
  general.Run(samples, 1);
  RequireSame(quick, general);

  const Rules rules(setting);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!Rules::Covers(setting, samples[i].descriptor)) continue;
    if (setting.encapsulate) {
      rules.CheckOutward(samples[i], quick.results[i]);
    } else {
      rules.CheckInward(samples[i], quick.results[i]);
    }
  }
  return 0;
}
