// SPDX-License-Identifier: Apache-2.0
// What `flannelctl capture` decides without an adapter. tests/netns/capture_test.py has real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "control/cli/capture/capture_output.h"
#include "control/cli/capture/frame_selection.h"
#include "control/cli/capture/node_names.h"
#include "control/cli/capture/outer_pieces.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"
#include "vxlan/transport_checksum.h"

namespace weft::cli {
namespace {

using dataplane::LinkType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MacAddress kA = Mac("02:00:00:00:00:0a"), kB = Mac("02:00:00:00:00:0b");

ByteVector PodFrame(std::size_t payload = 20) {
  return PacketBuilder("10.244.1.2", "10.244.2.3").Udp(1, 2).Payload(payload).BuildFrame(kA, kB);
}

// VXLAN datagrams of these payloads, one after the other, in one outer packet.
ByteVector Datagrams(const std::vector<std::size_t>& payloads, std::uint32_t vni = 4096) {
  ByteVector all;
  for (const std::size_t payload : payloads) {
    ByteVector header(8);
    header[0] = std::byte{8};
    StoreBe32(header.data() + 4, vni << 8);
    all = Concatenate(all, Concatenate(header, PodFrame(payload)));
  }
  return all;
}

ByteVector OuterFrame(const ByteVector& datagrams) {
  return PacketBuilder("192.0.2.1", "192.0.2.2")
      .Udp(50'000, 4789)
      .Payload(datagrams)
      .BuildFrame(kA, kB);
}

TEST(FrameSelection, FiltersOfLibpcap) {
  FrameSelection selection;
  selection.port = 14789;
  EXPECT_EQ(OuterFilter(selection), "udp dst port 14789") << "a peer with another VNI is seen, too";
  selection.port = 4789;
  selection.vni = Vni::From(4096);
  EXPECT_EQ(OuterFilter(selection),
            "udp dst port 4789 and ((ip and udp[12:4] & 0xffffff00 = 0x00100000) or (ip6 and "
            "ip6[52:4] & 0xffffff00 = 0x00100000))");
  EXPECT_EQ(PodFilter(selection), "");
  selection.peer_addresses = {Ip("192.0.2.2"), Ip("2001:db8::2")};
  selection.peer_subnets = {*IpPrefix::Parse("10.244.2.0/24")};
  selection.pod = Ip("10.244.1.2");
  selection.filter = "tcp or udp";
  EXPECT_THAT(OuterFilter(selection),
              ::testing::EndsWith(" and (host 192.0.2.2 or host 2001:db8::2)"));
  EXPECT_EQ(PodFilter(selection), "(net 10.244.2.0/24) and host 10.244.1.2 and (tcp or udp)");
}

TEST(FrameSelection, ThePodsFrameInsideAnOuterOne) {
  const ByteVector datagram = Datagrams({20});
  const ByteVector pod = PodFrame(20);
  const ByteVector v4 = OuterFrame(datagram);
  const ByteVector v6 = PacketBuilder("2001:db8::1", "2001:db8::2")
                            .Udp(50'000, 4789)
                            .Payload(datagram)
                            .BuildFrame(kA, kB);
  const ByteVector tagged =
      PacketBuilder("192.0.2.1", "192.0.2.2").Udp(1, 4789).Payload(datagram).BuildFrame(kA, kB, 7);
  for (const ByteVector& frame : {v4, v6, tagged}) {
    const Bytes found = PodFrameOf(frame, LinkType::kEthernet);
    EXPECT_EQ(ByteVector(found.begin(), found.end()), pod);
  }
  const Bytes raw = PodFrameOf(Bytes(v4).subspan(14), LinkType::kRaw);
  EXPECT_EQ(ByteVector(raw.begin(), raw.end()), pod);
  // What the snap length left suffices.
  const Bytes start = PodFrameOf(Bytes(v4).first(14 + 36 + 40), LinkType::kEthernet);
  EXPECT_EQ(AddressesOf(IpOf(start, LinkType::kEthernet)),
            std::pair(Ip("10.244.1.2"), Ip("10.244.2.3")));
  for (std::size_t size = 0; size <= 14 + 36; ++size)
    EXPECT_TRUE(PodFrameOf(Bytes(v4).first(size), LinkType::kEthernet).empty()) << size;
  EXPECT_EQ(AddressesOf(Bytes()), std::nullopt);
  EXPECT_EQ(AddressesOf(Bytes(v6).subspan(14, 39)), std::nullopt);
  EXPECT_TRUE(PodFrameOf(ByteVector(60), LinkType::kRaw).empty()) << "of no IP version";
  EXPECT_TRUE(IpOf(Hex("ffffffffffff02000000000a0806"), LinkType::kEthernet).empty()) << "ARP";
}

TEST(CaptureOptions, WrongOnesAreNamedBeforeAnythingIsOpened) {
  const struct {
    std::vector<std::string> words;
    const char* error;
  } rows[] = {
      {{"--port=0"}, "--port=0 must lie in 1..65535"},
      {{"--port=65536"}, "--port=65536 must lie in 1..65535"},
      {{"--snap-length=127"}, "--snap-length=127 must lie in 128..262144"},
      {{"--file-size=1048577"}, "--file-size=1048577 must lie in 0..1048576"},
      {{"--file-size=1", "--files=1"}, "--files=1 must lie in 2..100000"},
      {{"--files=3"}, "--files requires --file-size"},
      {{"--file-size=1"}, "--file-size needs --write=FILE"},
      {{"--pod-adapter=x"}, "--pod-adapter needs --inner or --both"},
      {{"--inner", "--adapter=x"}, "--adapter is of the frames between nodes"},
      {{"--inner", "--pod-adapter=x", "--file-size=1"}, "--file-size needs --write=FILE"},
      {{"--adapter=x", "--file-size=1"}, "--file-size needs --write=FILE"},
      {{"--vni=16777216"}, "--vni=16777216 has more than 24 bits"},
      {{"--inner", "--both"}, "give one of --inner, --outer and --both"},
      {{"--write=-", "--decode"}, "--write=- and --decode both write to standard output"},
      {{"--write=-", "--port=0"}, "--port=0 must"},
      {{"--write=x", "--decode", "--port=0"}, "--port=0 must"},
      {{"--pod=10.0.0"}, "--pod=10.0.0 is not an IP address"},
      {{"--duration=0s"}, "--duration=0s is not a duration of at most 24h; write 30s"},
      {{"--duration=25h"}, "--duration=25h is not a duration of at most 24h; write 30s"},
      {{"--count=-1"}, "-1 is less than zero"},
      {{"--admin=/no/such/socket"}, "which adapter? flanneld does not answer"},
      {{"--admin=/no/such/socket", "--write=x", "--file-size=1"}, "; give --adapter=NAME"},
      {{"--admin=/no/such/socket", "--inner"}, "; give --pod-adapter=NAME"},
      {{"--admin=/no/such/socket", "--both", "--adapter=x"}, "; give --pod-adapter=NAME"},
      {{"--admin=/no/such/socket", "--adapter=x", "--peer=b"}, "flanneld does not answer"},
      {{"--adapter=x", "--from=/no/such/file"}, "lease file /no/such/file "},
      {{"--adapter=x", "--from=x", "--kube-annotation-prefix=x"}, "annotation prefix \"x\" is not"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words = {"capture"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Outcome outcome = Call(words);
    EXPECT_EQ(outcome.code, 2) << row.error;
    EXPECT_THAT(outcome.err, HasSubstr(row.error));
  }
}

TEST(CaptureOptions, ANodeWithoutInterfaceNamesNoAdapter) {
  admin::FakeState state;
  state.status.interface_name.clear();
  admin::RunningServer server{AdminHandler(state)};
  EXPECT_THAT(Call({"capture", "--admin=" + server.endpoint()}).err,
              HasSubstr("which adapter? flanneld does not say it; give --adapter=NAME"));
}

TEST(OuterPieces, AnUncutAggregateBecomesTheFramesOfTheWire) {
  const ByteVector frame = OuterFrame(Datagrams({100, 100, 30}));
  OuterPieces pieces(frame, LinkType::kEthernet);
  ASSERT_EQ(pieces.count(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Bytes piece = pieces.Piece(i);
    const ByteVector datagram = Datagrams({i == 2 ? 30u : 100u});
    EXPECT_EQ(ByteVector(piece.begin() + 42, piece.end()), datagram) << i;
    const Bytes ip = piece.subspan(14);
    EXPECT_TRUE(Ipv4ChecksumIsRight(ip));
    EXPECT_EQ(LoadBe16(ip.data() + 2), 28 + datagram.size());
    EXPECT_EQ(LoadBe16(ip.data() + 4), LoadBe16(frame.data() + 18) + i) << "identification";
    EXPECT_EQ(LoadBe16(ip.data() + 24), 8 + datagram.size());
    EXPECT_EQ(VerifyTransportChecksum(ip), TransportChecksum::kRight);
  }
}

TEST(OuterPieces, AnyOtherFrameStaysWhole) {
  ByteVector padded = OuterFrame(Datagrams({20}));
  padded.resize(padded.size() + 6);
  ByteVector unmarked = Datagrams({100, 100});
  unmarked[0] = {};
  const ByteVector frames[] = {
      OuterFrame(Datagrams({100})),
      padded,
      OuterFrame(Concatenate(Datagrams({100}), Datagrams({100}, 7))),  // of two networks
      OuterFrame(Concatenate(Datagrams({100}), ByteVector(50))),
      OuterFrame(Concatenate(Datagrams({100}), Hex("0800000000100000"))),
      OuterFrame(unmarked),
      OuterFrame(Hex("0800000000100000")),
      PodFrame(),
      {},
  };
  for (const ByteVector& frame : frames)
    EXPECT_EQ(OuterPieces(frame, LinkType::kEthernet).count(), 1u) << frame.size();
}

TEST(NodeNames, ByPublicAddressAndPodSubnet) {
  admin::LeaseList leases;
  admin::LeaseRow a, b;
  a.node = "a";
  a.v4.emplace();
  a.v4->subnet = *IpPrefix::Parse("10.244.1.0/24");
  a.v4->public_ip = Ip("192.0.2.1");
  b.node = "b";
  b.v4.emplace();
  b.v4->subnet = *IpPrefix::Parse("10.244.2.0/26");
  b.v6.emplace();
  b.v6->subnet = *IpPrefix::Parse("fd00:2::/64");
  b.v6->public_ip = Ip("2001:db8::2");
  admin::LeaseRow c;
  c.node = "c";
  c.v6 = b.v6;
  c.v6->subnet = *IpPrefix::Parse("fd00:3::/64");
  c.v6->public_ip.reset();
  leases.leases = {a, b, c};
  const NodeNames names(leases);
  EXPECT_EQ(names.OfNode(Ip("192.0.2.1")), "a");
  EXPECT_EQ(names.OfNode(Ip("192.0.2.9")), "");
  EXPECT_EQ(names.OfPod(Ip("10.244.1.255")), "a");
  EXPECT_EQ(names.OfPod(Ip("10.244.2.63")), "b");
  EXPECT_EQ(names.OfPod(Ip("10.244.2.64")), "");
  EXPECT_EQ(names.OfPod(Ip("fd00:2::9")), "b");
  EXPECT_EQ(names.OfPod(Ip("fd00:3::9")), "c");
  EXPECT_EQ(names.Text(Ip("192.0.2.1"), Ip("192.0.2.9"), false), "a to 192.0.2.9");
  EXPECT_EQ(names.Text(Ip("192.0.2.9"), Ip("192.0.2.1"), false), "192.0.2.9 to a");
  EXPECT_EQ(names.Text(Ip("10.244.2.3"), Ip("10.244.1.2"), true), "b to a");
  EXPECT_EQ(names.Text(Ip("192.0.2.8"), Ip("192.0.2.9"), false), "");
  EXPECT_EQ(names.Nodes().size(), 2u);
}

class CaptureOutputTest : public ::testing::Test {
 protected:
  CaptureOutputTest() : folder_(weft::testing::TestPath()) {
    std::filesystem::create_directories(folder_);
  }
  ~CaptureOutputTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) { return (folder_ / name).string(); }
  std::string Text(const std::string& name) {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t Files() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
  std::ostringstream out_;
};

TEST_F(CaptureOutputTest, OneFileOrStandardOutput) {
  CaptureOutput file({.path = Path("a.pcapng")}, "head ", out_);
  ASSERT_TRUE(file.Open().ok());
  EXPECT_TRUE(file.Write("pack").ok());
  EXPECT_TRUE(file.Write("et").ok());
  EXPECT_TRUE(file.Flush().ok());
  EXPECT_EQ(Text("a.pcapng"), "head packet");
  EXPECT_EQ(file.written(), 11u);
  CaptureOutput standard({.path = "-"}, "head ", out_);
  ASSERT_TRUE(standard.Open().ok());
  EXPECT_TRUE(standard.Write("packet").ok());
  EXPECT_EQ(out_.str(), "head packet");
}

TEST_F(CaptureOutputTest, EachFileOfARingIsWhole) {
  CaptureOutput ring({.path = Path("a.pcapng"), .file_size = 12, .files = 2}, "head ", out_);
  ASSERT_TRUE(ring.Open().ok());
  EXPECT_TRUE(ring.Write("longer than a file").ok());
  EXPECT_TRUE(ring.Flush().ok());
  EXPECT_EQ(Text("a-1.pcapng"), "head longer than a file");
  for (const char* packet : {"p2 ", "p3 ", "p4 "}) EXPECT_TRUE(ring.Write(packet).ok());
  EXPECT_TRUE(ring.Flush().ok());
  EXPECT_EQ(Files(), 2u);
  EXPECT_EQ(Text("a-1.pcapng"), "head p4 ");
  EXPECT_EQ(Text("a-2.pcapng"), "head p2 p3 ");
  EXPECT_EQ(ring.path(), Path("a-1.pcapng"));
}

TEST_F(CaptureOutputTest, NumbersComeBeforeTheExtension) {
  EXPECT_EQ(CaptureOutput({.path = "/d.x/ring", .file_size = 1}, "", out_).path(), "/d.x/ring-1");
  EXPECT_EQ(CaptureOutput({.path = "r.a.b", .file_size = 1}, "", out_).path(), "r.a-1.b");
  EXPECT_EQ(CaptureOutput({.path = "ring", .file_size = 1}, "", out_).path(), "ring-1");
}

TEST_F(CaptureOutputTest, AFileThatCannotBeWrittenIsNamed) {
  CaptureOutput output({.path = Path("none/a")}, "head", out_);
  const std::string message(output.Open().message());
  EXPECT_THAT(message, HasSubstr("cannot write " + Path("none/a") + ": "));
  EXPECT_THAT(message, HasSubstr("check the path and the free space"));
}

}  // namespace
}  // namespace weft::cli
