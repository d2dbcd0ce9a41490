// SPDX-License-Identifier: Apache-2.0
#include "dataplane/drop_samples.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "tests/dataplane/support.h"

namespace weft::dataplane {
namespace {

// "192.0.2.1, VNI 4096, 02:..:01 > 02:..:02, 10.244.1.7 > 10.244.2.9"; "-" for what is not known.
std::string Text(const std::optional<DropSample>& sample) {
  if (!sample) return "none";
  const auto text = [](const auto& value) { return value ? value->ToString() : std::string("-"); };
  return text(sample->outer) + ", VNI " + (sample->vni ? std::to_string(*sample->vni) : "-") +
         ", " + text(sample->source_mac) + " > " + text(sample->destination_mac) + ", " +
         text(sample->source) + " > " + text(sample->destination);
}

VxlanBuilder Outer(const char* source = "10.244.1.7", const char* destination = "10.244.2.9") {
  return VxlanBuilder(PacketBuilder(source, destination).Build());
}

TEST(DropSamples, FromTheWireEachReasonShowsWhoSentWhat) {
  const struct {
    const char* description;
    ByteVector payload;
    const char* from;
    Verdict verdict;
    const char* text;
  } rows[] = {
      {"another MAC",
       Outer().Macs(Mac("02:00:00:00:00:01"), Mac("02:00:00:00:00:77")).BuildPayload(), "192.0.2.1",
       Verdict::kForeignMac,
       "192.0.2.1, VNI 4096, 02:00:00:00:00:01 > 02:00:00:00:00:77, 10.244.1.7 > 10.244.2.9"},
      {"another VNI", Outer().Network(7).BuildPayload(), "192.0.2.1", Verdict::kForeignVni,
       "192.0.2.1, VNI 7, 02:00:00:00:00:01 > 02:00:00:00:00:02, 10.244.1.7 > 10.244.2.9"},
      {"no lease's",
       Outer("10.9.9.9").Macs(Mac("02:00:00:00:00:77"), Mac("02:00:00:00:00:02")).BuildPayload(),
       "198.51.100.7", Verdict::kUnknownPeer,
       "198.51.100.7, VNI 4096, 02:00:00:00:00:77 > 02:00:00:00:00:02, 10.9.9.9 > 10.244.2.9"},
      {"IPv6 to another subnet",
       VxlanBuilder(PacketBuilder("fd00:1::7", "fd00:9::9").Build()).BuildPayload(), "192.0.2.1",
       Verdict::kForeignSubnet,
       "192.0.2.1, VNI 4096, 02:00:00:00:00:01 > 02:00:00:00:00:02, fd00:1::7 > fd00:9::9"},
      {"no IP", Outer().InnerEtherType(0x0806).BuildPayload(), "192.0.2.1", Verdict::kNotIp,
       "192.0.2.1, VNI 4096, 02:00:00:00:00:01 > 02:00:00:00:00:02, 10.244.1.7 > 10.244.2.9"},
      {"no VXLAN", Outer().Flags(0).BuildPayload(), "192.0.2.1", Verdict::kNotVxlan,
       "192.0.2.1, VNI -, - > -, - > -"},
      {"cut in the header", ByteVector(7), "192.0.2.1", Verdict::kNotVxlan,
       "192.0.2.1, VNI -, - > -, - > -"},
      {"cut in the inner frame's header", Cut(Outer().BuildPayload(), 21), "192.0.2.1",
       Verdict::kInnerMalformed, "192.0.2.1, VNI 4096, - > -, - > -"},
  };
  for (const auto& row : rows) {
    ForwarderConfig config = DefaultConfig();
    config.wire = PortKind::kWireDatagram;
    Node node(config);
    Packet datagram = node.buffers.Make(row.payload);
    datagram.outer_address = Ip(row.from);
    ASSERT_EQ(node.Decapsulate(datagram).verdict, row.verdict) << row.description;
    node.counters.to_pods.Count(node.batch());
    EXPECT_EQ(Text(node.counters.to_pods.samples.Read(row.verdict)), row.text) << row.description;
    EXPECT_EQ(Text(node.counters.to_wire.samples.Read(row.verdict)), "none") << row.description;
  }
}

// Ports may have written over the headers that were removed.
TEST(DropSamples, APacketThatThePodSideRefusesShowsItsAddresses) {
  Node node;
  Packet& packet = node.Decapsulate(Outer().Build());
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  packet.verdict = Verdict::kPodFull;
  node.counters.to_pods.Count(node.batch());
  EXPECT_EQ(Text(node.counters.to_pods.samples.Read(Verdict::kPodFull)),
            "192.0.2.1, VNI -, - > -, 10.244.1.7 > 10.244.2.9");
}

TEST(DropSamples, ToTheWireEachReasonShowsAddressesAndTheNode) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  Node node(config);
  const auto sample = [&](Verdict verdict) {
    node.counters.to_wire.Count(node.batch());
    return Text(node.counters.to_wire.samples.Read(verdict));
  };
  ASSERT_EQ(node.Encapsulate(PacketBuilder("10.244.2.9", "10.244.77.1").Build()).verdict,
            Verdict::kNoRoute);
  EXPECT_EQ(sample(Verdict::kNoRoute), "-, VNI -, - > -, 10.244.2.9 > 10.244.77.1");

  Packet& full = node.Encapsulate(PacketBuilder("10.244.2.9", "10.244.1.7").Build());
  full.verdict = Verdict::kWireFull;
  EXPECT_EQ(sample(Verdict::kWireFull), "192.0.2.1, VNI -, - > -, 10.244.2.9 > 10.244.1.7");

  // The ICMP error is written over it.
  const ByteVector large =
      PacketBuilder("10.244.2.9", "10.244.1.7").DontFragment().TotalLength(1500).Build();
  ASSERT_EQ(node.Encapsulate(large).verdict, Verdict::kTooBig);
  EXPECT_EQ(sample(Verdict::kTooBig), "-, VNI -, - > -, 10.244.2.9 > 10.244.1.7");

  const ByteVector frame = PacketBuilder("10.244.2.9", "10.244.1.7")
                               .BuildFrame(Mac("02:00:00:00:00:09"), Mac("02:00:00:00:00:77"));
  Packet at_the_edge = node.buffers.Make(frame);
  at_the_edge.verdict = Verdict::kForeignMac;
  node.Encapsulate(at_the_edge);
  EXPECT_EQ(sample(Verdict::kForeignMac),
            "-, VNI -, 02:00:00:00:00:09 > 02:00:00:00:00:77, 10.244.2.9 > 10.244.1.7");
}

TEST(DropSamples, OneOfAReasonIsTakenInASecond) {
  Buffers buffers;
  DropSamples samples(/*from_wire=*/false);
  const auto offer = [&](const char* source, Verdict verdict, std::chrono::milliseconds now) {
    samples.Offer(buffers.Make(PacketBuilder(source, "10.9.9.9").Build()), verdict, now);
  };
  const auto source = [&](Verdict verdict) { return samples.Read(verdict)->source->ToString(); };
  using std::chrono::milliseconds;
  offer("10.0.0.1", Verdict::kNoRoute, milliseconds(5000));
  offer("10.0.0.2", Verdict::kNoRoute, milliseconds(5999));
  offer("10.0.0.3", Verdict::kOwnSubnet, milliseconds(5999));
  EXPECT_EQ(source(Verdict::kNoRoute), "10.0.0.1");
  EXPECT_EQ(source(Verdict::kOwnSubnet), "10.0.0.3") << "each reason on its own";
  EXPECT_EQ(samples.Read(Verdict::kNoRoute)->at, milliseconds(5000));
  offer("10.0.0.4", Verdict::kNoRoute, milliseconds(6000));
  EXPECT_EQ(source(Verdict::kNoRoute), "10.0.0.4") << "the latest";
  EXPECT_FALSE(samples.Read(Verdict::kTinySegments));
}

}  // namespace
}  // namespace weft::dataplane
