// SPDX-License-Identifier: Apache-2.0
#include "dataplane/edge/neighbour_message.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

NeighbourMessage Solicitation() {
  NeighbourMessage message;
  message.source = Ip("fd00::2");
  message.destination = Ip("ff02::1:ff00:1");
  message.target = Ip("fd00::1");
  message.link_address = Mac("02:00:00:00:00:02");
  return message;
}

ByteVector Emit(const NeighbourMessage& message) {
  ByteVector bytes(NeighbourMessage::kMaxSize, std::byte{0xa5});
  bytes.resize(message.Emit(bytes));
  return bytes;
}

// RFC 4861 section 4.3, byte by byte.
TEST(NeighbourMessage, EmitsASolicitation) {
  const ByteVector expected =
      Hex("60000000 0020 3a ff"  // version, payload 32, ICMPv6, hop limit 255
          "fd000000000000000000000000000002"
          "ff0200000000000000000001ff000001"
          "87 00 6e4c 00000000"               // type 135
          "fd000000000000000000000000000001"  // target
          "01 01 020000000002");              // source link-layer address
  ByteVector got = Emit(Solicitation());
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_EQ(VerifyTransportChecksum(got), TransportChecksum::kRight);
  // The checksum is right by its own test; the rest by sight.
  std::copy_n(expected.begin() + 42, 2, got.begin() + 42);
  EXPECT_EQ(Show(got, FrameStart::kInnerIp), Show(expected, FrameStart::kInnerIp));
}

TEST(NeighbourMessage, RoundTrips) {
  NeighbourMessage advertisement;
  advertisement.kind = NeighbourMessage::Kind::kAdvertisement;
  advertisement.source = Ip("fd00::1");
  advertisement.destination = Ip("fd00::2");
  advertisement.target = Ip("fd00::1");
  advertisement.router = advertisement.solicited = advertisement.overrides = true;
  advertisement.link_address = Mac("02:00:00:00:00:01");
  NeighbourMessage detection = Solicitation();
  detection.source = Ip("::");
  detection.link_address.reset();
  NeighbourMessage from_none = advertisement;
  from_none.source = Ip("::");
  for (const NeighbourMessage& message : {Solicitation(), advertisement, detection, from_none}) {
    const auto parsed = NeighbourMessage::Parse(Emit(message));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, message);
  }
}

TEST(NeighbourMessage, PaddingBehindThePacketIsIgnored) {
  EXPECT_TRUE(NeighbourMessage::Parse(Concatenate(Emit(Solicitation()), Hex("00000000"))));
}

// RFC 4861 sections 7.1.1 and 7.1.2.
TEST(NeighbourMessage, RefusesWhatANodeMustDiscard) {
  const ByteVector good = Emit(Solicitation());
  struct Row {
    const char* what;
    std::function<void(ByteVector&)> spoil;
    bool repair = true;  // the checksum
  };
  const std::vector<Row> rows = {
      {"hop limit 254", [](ByteVector& o) { o[7] = std::byte{254}; }},
      {"wrong checksum", [](ByteVector& o) { o[42] ^= std::byte{1}; }, false},
      {"code 1", [](ByteVector& o) { o[41] = std::byte{1}; }},
      {"target is a group", [](ByteVector& o) { o[48] = std::byte{0xff}; }},
      {"option of length 0", [](ByteVector& o) { o[65] = std::byte{0}; }},
      {"router solicitation", [](ByteVector& o) { o[40] = std::byte{133}; }},
      {"UDP",
       [](ByteVector& o) {
         o[6] = std::byte{17};
         StoreBe16(o.data() + 44, 32);  // its length
       }},
      {"link-layer address from the unspecified address",
       [](ByteVector& o) { std::fill_n(o.begin() + 8, 16, std::byte{0}); }},
  };
  for (const Row& row : rows) {
    ByteVector spoilt = good;
    row.spoil(spoilt);
    if (row.repair) ASSERT_TRUE(CompleteTransportChecksum(spoilt)) << row.what;
    EXPECT_FALSE(NeighbourMessage::Parse(spoilt)) << row.what;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(NeighbourMessage::Parse(Bytes(good).first(size))) << size;
  }
}

TEST(NeighbourMessage, UnknownOptionsAreSkipped) {
  ByteVector packet = Emit(Solicitation());
  const ByteVector nonce = Hex("0e01112233445566");
  packet.insert(packet.begin() + 64, nonce.begin(), nonce.end());
  packet[5] = std::byte{40};
  ASSERT_TRUE(CompleteTransportChecksum(packet));
  const auto parsed = NeighbourMessage::Parse(packet);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->link_address, Mac("02:00:00:00:00:02"));
}

// Section 4.6: an option's length counts units of 8 bytes; what does not fit is no option.
TEST(NeighbourMessage, OptionsOfOtherSizesAreNoLinkAddress) {
  ByteVector longer = Emit(Solicitation());
  longer[65] = std::byte{2};  // says 16 bytes where 8 are left
  ASSERT_TRUE(CompleteTransportChecksum(longer));
  const auto beyond = NeighbourMessage::Parse(longer);
  ASSERT_TRUE(beyond);
  EXPECT_FALSE(beyond->link_address);

  ByteVector infiniband = Emit(Solicitation());
  infiniband.insert(infiniband.end(), 8, std::byte{0});
  infiniband[65] = std::byte{2};
  infiniband[5] = std::byte{40};
  ASSERT_TRUE(CompleteTransportChecksum(infiniband));
  const auto wide = NeighbourMessage::Parse(infiniband);
  ASSERT_TRUE(wide);
  EXPECT_FALSE(wide->link_address);

  ByteVector target_option = Emit(Solicitation());
  target_option[64] = std::byte{2};  // an advertisement's option in a solicitation
  ASSERT_TRUE(CompleteTransportChecksum(target_option));
  EXPECT_FALSE(NeighbourMessage::Parse(target_option)->link_address);
}

TEST(NeighbourMessage, AMessageWithoutRoomForItsTargetIsNone) {
  for (std::size_t size = 4; size < 24; ++size) {
    ByteVector solicitation =
        PacketBuilder("fd00::2", "ff02::1:ff00:1").Raw(IpProtocol::kIcmpV6).Payload(size).Build();
    solicitation[7] = std::byte{255};
    solicitation[40] = std::byte{135};
    ASSERT_TRUE(CompleteTransportChecksum(solicitation));
    EXPECT_FALSE(NeighbourMessage::Parse(solicitation)) << size;
  }
}

TEST(NeighbourMessage, GroupAddresses) {
  EXPECT_EQ(SolicitedNodeAddress(Ip("fd00::1234:5678")), Ip("ff02::1:ff34:5678"));
  EXPECT_EQ(MulticastMac(Ip("ff02::1:ff34:5678")), Mac("33:33:ff:34:56:78"));
}

}  // namespace
}  // namespace weft::dataplane
