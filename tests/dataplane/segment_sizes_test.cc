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
  void See(const ByteVector& to_wire) { sizes_.Learn(buffers_.Make(to_wire)); }
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
  }
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
