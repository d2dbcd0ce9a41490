// SPDX-License-Identifier: Apache-2.0
// The quick loops of the forwarder against its general path: random traffic gives the same packets,
// descriptors, verdicts and counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/dataplane/support.h"
#include "tests/support/sanitized.h"

namespace weft::dataplane {
namespace {

constexpr unsigned kSeed = 4789;
constexpr int kBatches = testing::kSanitized ? 60 : 300;

// The same set of own subnets either way: with two IPv4 subnets, even equal ones, the loops leave
// every packet to the general path.
ForwarderConfig Config(bool quick, PeerCheck check) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  config.peer_check = check;
  if (!quick) config.own_subnets.push_back(Prefix("10.244.2.0/24"));
  return config;
}

// Also what no lease should have: half of our own subnet, every address.
std::vector<RemoteSpec> Leases() {
  std::vector<RemoteSpec> leases = DefaultLeases();
  leases.push_back(Lease("linux-5", "10.244.2.128/25", "192.0.2.5", "02:00:00:00:00:05"));
  leases.push_back(Lease("linux-6", "fd00:6::/64", "2001:db8::6", "02:00:00:00:00:06"));
  leases.push_back(Lease("all", "0.0.0.0/0", "192.0.2.9", "02:00:00:00:00:09"));
  return leases;
}

// A packet before its buffer.
struct Sample {
  ByteVector bytes;
  Packet descriptor;
};

class Traffic {
 public:
  explicit Traffic(unsigned seed) : random_(seed) {}

  Sample Outward() {
    const bool v6 = OneIn(6);
    PacketBuilder builder = v6 ? PacketBuilder("fd00:2::9", Pick(kV6Destinations))
                               : PacketBuilder("10.244.2.9", Pick(kV4Addresses));
    Fill(builder, v6);
    const bool partial = OneIn(2);
    if (partial) builder.PartialTransportChecksum();
    Sample sample{builder.Build(), {}};
    Packet& packet = sample.descriptor;
    if (const auto inner = ParseInnerIp(sample.bytes); partial && inner) {
      packet.checksum = ChecksumState::kPartial;
      packet.checksum_start =
          static_cast<std::uint16_t>(OneIn(8) ? Below(80) : inner->header_length);
      packet.checksum_offset =
          static_cast<std::uint16_t>(OneIn(8)                              ? Below(80)
                                     : inner->protocol == IpProtocol::kTcp ? 16
                                                                           : 6);
      if (OneIn(8)) {
        packet.segmentation = OneIn(2) ? Segmentation::kTcp : Segmentation::kUdp;
        packet.segment_size = static_cast<std::uint16_t>(Below(1500));
      }
    }
    Spoil(sample, 40);
    return sample;
  }

  Sample Inward() {
    const bool v6 = OneIn(6);
    PacketBuilder inner =
        v6 ? PacketBuilder("fd00:1::7", "fd00:2::9")
           : PacketBuilder(Pick(kV4Addresses), OneIn(8) ? Pick(kV4Addresses) : "10.244.2.9");
    Fill(inner, v6);
    Sample sample{
        VxlanBuilder(inner.Build()).Macs(Mac(Pick(kMacs)), Mac("02:00:00:00:00:02")).BuildPayload(),
        {}};
    sample.descriptor.outer_address = Ip(Pick(kSenders));
    sample.descriptor.outer_port = static_cast<std::uint16_t>(Below(65536));
    sample.descriptor.outer_ecn = static_cast<std::uint8_t>(OneIn(2) ? 0 : Below(4));
    if (OneIn(16)) sample.descriptor.segment_size = static_cast<std::uint16_t>(Below(1500));
    Spoil(sample, 44);
    return sample;
  }

 private:
  static constexpr const char* kV4Addresses[] = {
      "10.244.1.7", "10.244.1.8",   "10.244.3.7",  "10.244.33.1",     "10.244.6.1",
      "10.245.0.1", "10.244.2.200", "224.0.0.251", "255.255.255.255", "240.0.0.1"};
  static constexpr const char* kV6Destinations[] = {"fd00:1::7", "fd00:6::7", "fd00:2::7",
                                                    "fd00:9::7", "ff02::1"};
  static constexpr const char* kMacs[] = {"02:00:00:00:00:01", "02:00:00:00:00:03",
                                          "02:00:00:00:00:09"};
  static constexpr const char* kSenders[] = {"192.0.2.1",   "192.0.2.1", "192.0.2.3",
                                             "192.0.2.9",   "192.0.2.5", "2001:db8::6",
                                             "203.0.113.5", "0.0.0.0",   "::"};

  std::uint32_t Below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool OneIn(std::uint32_t n) { return Below(n) == 0; }
  const char* Pick(std::span<const char* const> from) {
    return from[Below(static_cast<std::uint32_t>(from.size()))];
  }

  void Fill(PacketBuilder& builder, bool v6) {
    const auto port = [&] { return static_cast<std::uint16_t>(Below(65536)); };
    switch (Below(4)) {
      case 0:
        builder.Tcp(port(), port());
        break;
      case 1:
        builder.Udp(port(), port());
        break;
      case 2:
        builder.Ping(port(), port());
        break;
      default:
        builder.Raw(static_cast<IpProtocol>(OneIn(2) ? 132 : Below(256)));
    }
    builder.Payload(OneIn(4) ? Below(1500) : Below(140));
    builder.Tos(static_cast<std::uint8_t>(Below(64)), static_cast<Ecn>(Below(4)));
    builder.Identification(Below(65536)).DontFragment(OneIn(2));
    if (OneIn(16)) builder.Ttl(static_cast<std::uint8_t>(Below(2)));
    if (!v6 && OneIn(16)) builder.Ipv4Options(4 * (1 + Below(10)));
    if (OneIn(16)) builder.Fragment(8 * Below(4), 8 + Below(64));
  }

  // Changes bits of the headers, cuts or pads the packet, or drops it before.
  void Spoil(Sample& sample, std::uint32_t headers) {
    ByteVector& bytes = sample.bytes;
    if (OneIn(4)) {
      const std::size_t at = Below(std::min(headers, static_cast<std::uint32_t>(bytes.size())));
      bytes[at] ^= std::byte{1} << Below(8);
    }
    if (OneIn(16)) bytes.resize(1 + Below(static_cast<std::uint32_t>(bytes.size())));
    if (OneIn(16)) bytes.resize(bytes.size() + Below(40));
    if (OneIn(16)) sample.descriptor.verdict = Verdict::kPodFull;
  }

  std::mt19937 random_;
};

std::string Describe(const Packet& packet) {
  std::string text = std::string(Name(packet.verdict));
  // Nothing else of a dropped packet counts, except how many it is.
  text += " " + std::to_string(WirePackets(packet));
  if (packet.verdict != Verdict::kForward) return text;
  text += " to " + packet.outer_address.ToString() + " port " + std::to_string(packet.outer_port);
  for (const unsigned value :
       {unsigned{packet.outer_ecn}, unsigned{packet.inner_offset}, packet.headroom, packet.tailroom,
        unsigned{packet.may_fragment}, static_cast<unsigned>(packet.segmentation),
        unsigned{packet.segment_size}, static_cast<unsigned>(packet.checksum)})
    text += " " + std::to_string(value);
  if (packet.segmentation != Segmentation::kNone)
    text += " checksum at " + std::to_string(packet.checksum_start);
  return text + "\n" + Dump(packet.bytes());
}

void ExpectSamePeers(const Node& quick, const Node& plain) {
  const auto a = quick.peers.Read();
  const auto b = plain.peers.Read();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i].name);
    EXPECT_TRUE(a[i].counts == b[i].counts);
  }
  EXPECT_TRUE(quick.counters.Read() == plain.counters.Read());
}

void Fill(Node& node, const std::vector<Sample>& samples) {
  node.batch().clear();
  node.replies().clear();
  for (const Sample& sample : samples) {
    const Packet buffer = node.buffers.Make(sample.bytes);
    Packet packet = sample.descriptor;
    packet.data = buffer.data;
    packet.length = buffer.length;
    packet.headroom = buffer.headroom;
    packet.tailroom = buffer.tailroom;
    node.batch().Add(packet);
  }
}

void ExpectSameBatches(Node& quick, Node& plain, const std::vector<Sample>& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i)
    ASSERT_EQ(Describe(quick.batch()[i]), Describe(plain.batch()[i])) << Dump(samples[i].bytes);
  ASSERT_EQ(quick.replies().size(), plain.replies().size());
  for (std::size_t i = 0; i < quick.replies().size(); ++i)
    ASSERT_EQ(Describe(quick.replies()[i]), Describe(plain.replies()[i]));
}

TEST(ForwarderPaths, EncapsulateAlike) {
  SCOPED_TRACE(kSeed);
  Traffic traffic(kSeed);
  Node quick(Config(true, PeerCheck::kLease), Leases());
  Node plain(Config(false, PeerCheck::kLease), Leases());
  for (int i = 0; i < kBatches; ++i) {
    // Half of the time a peer has a learnt path MTU.
    if (i == kBatches / 2) {
      for (Node* node : {&quick, &plain})
        node->forwarder.LearnPathMtu({Ip("192.0.2.1"), 700}, Timestamp{});
    }
    std::vector<Sample> samples;
    for (std::size_t n = 0; n < kMaxBatch; ++n) samples.push_back(traffic.Outward());
    for (Node* node : {&quick, &plain}) {
      Fill(*node, samples);
      node->forwarder.Encapsulate(node->batch(), node->replies());
    }
    ExpectSameBatches(quick, plain, samples);
    if (HasFatalFailure()) return;
  }
  ExpectSamePeers(quick, plain);
}

TEST(ForwarderPaths, DecapsulateAlike) {
  SCOPED_TRACE(kSeed);
  for (const PeerCheck check : {PeerCheck::kLease, PeerCheck::kStrict, PeerCheck::kOff}) {
    Traffic traffic(kSeed);
    Node quick(Config(true, check), Leases());
    Node plain(Config(false, check), Leases());
    for (int i = 0; i < kBatches; ++i) {
      std::vector<Sample> samples;
      for (std::size_t n = 0; n < kMaxBatch; ++n) samples.push_back(traffic.Inward());
      for (Node* node : {&quick, &plain}) {
        Fill(*node, samples);
        node->forwarder.Decapsulate(node->batch());
      }
      ExpectSameBatches(quick, plain, samples);
      if (HasFatalFailure()) return;
    }
    ExpectSamePeers(quick, plain);
  }
}

// Every bit of the headers, one at a time.
TEST(ForwarderPaths, DecapsulateAlikeAfterAnyBitChanged) {
  Node quick(Config(true, PeerCheck::kLease), Leases());
  Node plain(Config(false, PeerCheck::kLease), Leases());
  const ByteVector usual =
      VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9").Udp(1, 2).Payload(20).Build())
          .BuildPayload();
  for (std::size_t bit = 0; bit < 42 * 8; ++bit) {
    Sample sample{usual, {}};
    sample.bytes[bit / 8] ^= std::byte{1} << bit % 8;
    sample.descriptor.outer_address = Ip("192.0.2.1");
    for (Node* node : {&quick, &plain}) {
      Fill(*node, {sample});
      node->forwarder.Decapsulate(node->batch());
    }
    ASSERT_EQ(Describe(quick.batch()[0]), Describe(plain.batch()[0])) << "bit " << bit;
  }
}

}  // namespace
}  // namespace weft::dataplane
