// SPDX-License-Identifier: Apache-2.0
// The segment size from senders at 10.244.1.7 to a pod at 10.244.2.9: the kernel delivers
// superframes without their segment size.
#include "dataplane/segment_sizes.h"

#include <gtest/gtest.h>

#include <memory>

#include "dataplane/virtual_underlay.h"
#include "tests/dataplane/support.h"

namespace weft::dataplane {
namespace {

struct Family {
  const char* pod;
  const char* sender;
  std::uint32_t ip_header;
};
constexpr Family kV4 = {"10.244.2.9", "10.244.1.7", 20};
constexpr Family kV6 = {"fd00:2::9", "fd00:1::7", 40};

// The pod's SYN from port 80 to the sender's 4000, with an MSS option (RFC 9293 section 3.2) where
// `mss` is not zero.
ByteVector Syn(const Family& family, std::uint16_t mss) {
  ByteVector packet = PacketBuilder(family.pod, family.sender)
                          .Tcp(80, 4000, TcpHeader::kSyn | TcpHeader::kAck)
                          .Payload(mss == 0 ? 0 : 4)
                          .Build();
  if (mss == 0) return packet;
  std::byte* const tcp = packet.data() + family.ip_header;
  Store8(tcp + 12, 6 << 4);
  StoreBe32(tcp + 20, 0x0204'0000u | mss);
  return packet;
}

// "Too big" from the pod's side, of a segment from the sender's port 4000 to the pod's 80.
ByteVector TooBig(const Family& family, std::uint32_t mtu, std::uint16_t port = 4000) {
  const ByteVector offending =
      PacketBuilder(family.sender, family.pod).Tcp(port, 80).Payload(20).Build();
  PacketBuilder error(family.pod, family.sender);
  family.ip_header == 20 ? error.Icmp(3, 4, mtu) : error.Icmp(2, 0, mtu);
  return error.Payload(offending).Build();
}

// The size by which a superframe from the sender is cut, pods' MTU being 1450.
class Learning {
 public:
  void See(const ByteVector& to_wire, Segmentation kind = Segmentation::kNone) {
    Packet packet = buffers_.Make(to_wire);
    packet.segmentation = kind;
    sizes_.Learn(packet);
  }
  std::uint32_t SizeOf(PacketBuilder superframe) {
    const auto batch = std::make_unique<Batch>();
    batch->Add(buffers_.Make(superframe.PartialTransportChecksum().Build()));
    AcceptUnfinished(*batch, *InnerMtu::From(1450), sizes_);
    return (*batch)[0].segmentation == Segmentation::kTcp ? (*batch)[0].segment_size : 0;
  }
  std::uint32_t Size(const Family& family, std::uint16_t port = 4000) {
    return SizeOf(PacketBuilder(family.sender, family.pod).Tcp(port, 80).Payload(5000));
  }

 private:
  Buffers buffers_;
  SegmentSizes sizes_;
};

TEST(SegmentSizes, FollowTheMtuUntilMoreIsKnown) {
  for (const Family& family : {kV4, kV6}) {
    Learning flow;
    EXPECT_EQ(flow.Size(family), 1450 - family.ip_header - 20);
    flow.See(Syn(family, 0));
    EXPECT_EQ(flow.Size(family), 1450 - family.ip_header - 20) << "a SYN without an MSS";
    flow.See(Syn(family, 9000));
    EXPECT_EQ(flow.Size(family), 1450 - family.ip_header - 20) << "more than the pods' MTU";
  }
}

TEST(SegmentSizes, AreAtMostTheMssOfTheReceiversSyn) {
  for (const Family& family : {kV4, kV6}) {
    Learning flow;
    flow.See(Syn(family, 700));
    EXPECT_EQ(flow.Size(family), 700u);
    EXPECT_EQ(
        flow.SizeOf(
            PacketBuilder(family.sender, family.pod).Tcp(4000, 80).TcpTimestamps().Payload(5000)),
        688u)
        << "12 of its bytes are options";
    EXPECT_EQ(flow.Size(family, 4001), 1450 - family.ip_header - 20) << "another flow";
    flow.See(PacketBuilder(family.pod, family.sender).Tcp(80, 4000).Payload(9).Build());
    flow.See(Cut(Syn(family, 0), family.ip_header + 19));
    flow.See(Syn(family, 1000), Segmentation::kTcp);
    EXPECT_EQ(flow.Size(family), 700u) << "only a whole SYN says anything";
    flow.See(Syn(family, 0));
    EXPECT_EQ(flow.Size(family), 1450 - family.ip_header - 20) << "a new flow of the same ports";
    flow.See(Syn(family, 1));
    EXPECT_EQ(flow.Size(family), 48u) << "but no sender goes so low";
  }
}

// Otherwise the segments of a sender that follows the error would be made long again, forever.
TEST(SegmentSizes, FollowTheMtuOfAHopBehindThePod) {
  for (const Family& family : {kV4, kV6}) {
    Learning flow;
    flow.See(Syn(family, 1400));
    flow.See(TooBig(family, 1300));
    EXPECT_EQ(flow.Size(family), 1300 - family.ip_header - 20);
    flow.See(TooBig(family, 1400));
    EXPECT_EQ(flow.Size(family), 1300 - family.ip_header - 20) << "the narrowest counts";
    EXPECT_EQ(flow.Size(family, 4001), 1450 - family.ip_header - 20) << "another flow";
    flow.See(TooBig(family, 100));
    EXPECT_EQ(flow.Size(family), family.ip_header == 20 ? 512u : 1220u)
        << "any pod may forge that: not below what senders follow";
    Learning unknown;
    unknown.See(TooBig(family, 1));
    EXPECT_EQ(unknown.Size(family), family.ip_header == 20 ? 512u : 1220u) << "less than headers";
  }
}

TEST(SegmentSizes, AnMssIsAnOptionOfItsKindAndLengthInsideTheHeader) {
  const struct {
    const char* description;
    const char* options;  // and payload
    int words;            // of options
    std::uint32_t size;
  } rows[] = {
      {"behind no-operations", "01010101 020402bc", 2, 700},
      {"behind another", "03040000 020402bc", 2, 700},
      {"behind the end", "00040000 020402bc", 2, 1410},
      {"behind one too short for its length", "05010101 020402bc", 2, 1410},
      {"of another kind", "030402bc", 1, 1410},
      {"of another length", "020302bc", 1, 1410},
      {"half in the payload", "01010204 02bc", 1, 1410},
  };
  for (const auto& row : rows) {
    Learning flow;
    ByteVector syn = PacketBuilder(kV4.pod, kV4.sender)
                         .Tcp(80, 4000, TcpHeader::kSyn)
                         .Payload(Hex(row.options))
                         .Build();
    Store8(syn.data() + 32, static_cast<std::uint8_t>((5 + row.words) << 4));
    flow.See(syn);
    EXPECT_EQ(flow.Size(kV4), row.size) << row.description;
  }
}

TEST(SegmentSizes, OtherPacketsSayNothing) {
  const auto segment = [](const Family& family) {
    return PacketBuilder(family.sender, family.pod).Tcp(4000, 80).Payload(20).Build();
  };
  const PacketBuilder v4(kV4.pod, kV4.sender);
  const auto changed = [](ByteVector packet, std::size_t at, int value) {
    packet[at] = static_cast<std::byte>(value);
    return packet;
  };
  const struct {
    const char* description;
    const Family& family;  // of the flow that they seem to be about
    ByteVector packet;
  } rows[] = {
      {"host unreachable", kV4, PacketBuilder(v4).Icmp(3, 1, 1300).Payload(segment(kV4)).Build()},
      {"another type's code 4", kV4,
       PacketBuilder(v4).Icmp(12, 4, 1300).Payload(segment(kV4)).Build()},
      {"ICMPv6, unreachable", kV6,
       PacketBuilder(kV6.pod, kV6.sender).Icmp(1, 0, 1300).Payload(segment(kV6)).Build()},
      {"UDP from port 512", kV4,
       PacketBuilder(v4).UdpWithoutChecksum(0x200, 1).Payload(segment(kV4)).Build()},
      {"too big, a datagram", kV4,
       PacketBuilder(v4)
           .Icmp(3, 4, 1300)
           .Payload(PacketBuilder(kV4.sender, kV4.pod).Udp(4000, 80).Payload(20).Build())
           .Build()},
      {"too big, of the other family", kV6,
       PacketBuilder(v4).Icmp(3, 4, 1300).Payload(segment(kV6)).Build()},
      {"a later fragment", kV4, changed(Syn(kV4, 700), 7, 1)},
      {"version 5", kV6, changed(Syn(kV6, 700), 0, 0x50)},
  };
  for (const auto& row : rows) {
    Learning flow;
    flow.See(row.packet);
    EXPECT_EQ(flow.Size(row.family), 1450 - row.family.ip_header - 20) << row.description;
  }
}

// What lies where ports would be must not be taken for a flow's.
TEST(SegmentSizes, PortsAreThoseOfTheTransportHeader) {
  Learning flow;
  ByteVector too_big = TooBig(kV4, 1300);
  Store8(too_big.data() + 28, 0x44);  // the quoted header's length is 16
  flow.See(too_big);
  EXPECT_EQ(flow.SizeOf(PacketBuilder(kV4.sender, kV4.pod).Tcp(0x0af4, 0x0209).Payload(5000)),
            1410u)
      << "the pod's address";
  ByteVector syn = Syn(kV6, 700);
  StoreBe32(syn.data() + 40, 0x0000'0600);  // from port 0 to 0x600
  flow.See(syn);
  EXPECT_EQ(
      flow.SizeOf(
          PacketBuilder(kV6.sender, kV6.pod).Ipv6DestinationOptions(8).Tcp(4000, 80).Payload(5000)),
      1450u - 40 - 8 - 20)
      << "the header of options, of which 6 is TCP's number";
}

TEST(SegmentSizes, LearnNothingFromHalfOfAPacket) {
  for (const Family& family : {kV4, kV6}) {
    for (const ByteVector& whole : {Syn(family, 700), TooBig(family, 1300)}) {
      for (std::size_t size = 1; size < whole.size(); ++size) {
        Buffers buffers(1);
        SegmentSizes sizes;
        Packet packet = buffers.Make(ByteVector(whole.begin(), whole.begin() + size));
        sizes.Learn(packet);  // the sanitizers detect a bad read
      }
    }
  }
}

}  // namespace
}  // namespace weft::dataplane
