// SPDX-License-Identifier: Apache-2.0
// flannelctl explain as a whole: where the frame comes from, where the leases come from, what is
// printed, how it exits.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "control/admin/admin_server.h"
#include "control/admin/endpoint.h"
#include "control/admin/local_connection.h"
#include "dataplane/ports/capture_reader.h"
#include "gmock/gmock.h"
#include "tests/control/admin/golden.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/support/packet_builder.h"

namespace weft::cli {
namespace {

using admin::AdminHandler;
using admin::FakeState;
using admin::RunningServer;
using admin::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ByteVector Good(std::uint16_t port = 4789) {
  return VxlanBuilder(PacketBuilder("10.244.1.5", "10.244.4.7").Tcp(40000, 443).Payload(8).Build())
      .Outer("192.0.2.1", "192.0.2.4")
      .Macs(Mac("5e:00:00:00:00:01"), Mac("00:15:5d:00:00:04"))
      .Ports(50'000, port)
      .Build();
}
ByteVector Unroutable() { return PacketBuilder("10.244.4.7", "10.244.2.9").Payload(8).Build(); }

std::string HexOf(const ByteVector& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

class ExplainTest : public ::testing::Test {
 protected:
  Outcome Explain(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"explain", "--admin", server_.endpoint()});
    return Call(std::move(arguments), input);
  }
  FakeState state_;
  RunningServer server_{AdminHandler(state_)};
  TemporaryFolder folder_;
};

TEST_F(ExplainTest, AForwardedFrame) {
  const Outcome outcome = Explain({HexOf(Good())});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_TRUE(MatchesGolden(outcome.out, "explain/forwarded.txt"));
}

TEST_F(ExplainTest, ADroppedFrame) {
  const Outcome outcome = Explain({HexOf(Unroutable())});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_TRUE(MatchesGolden(outcome.out, "explain/dropped.txt"));
}

TEST_F(ExplainTest, AMalformedFrame) {
  ByteVector cut = Good();
  cut.resize(60);
  const Outcome outcome = Explain({"--start", "outer-ip", HexOf(cut)});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(MatchesGolden(outcome.out, "explain/malformed.txt"));
}

TEST_F(ExplainTest, ManyWordsAndStandardInputAreTheSame) {
  const std::string one = Explain({HexOf(Good())}).out;
  const std::string hex = HexOf(Good());
  EXPECT_EQ(Explain({hex.substr(0, 8), hex.substr(8, 10), hex.substr(18)}).out, one);
  EXPECT_EQ(Explain({"-"}, Dump(Good())).out, one);
  EXPECT_EQ(Explain({"-", hex}, "zz").out, one) << "next to other words it is a separator";
}

TEST_F(ExplainTest, FramesOfADumpAreChosenByNumber) {
  const std::string dumps = "00000000: 4500\n\n00000000: 6000 0000\n";
  EXPECT_THAT(Explain({"-", "--frame", "2"}, dumps).out, HasSubstr("4 bytes"));
  const Outcome third = Explain({"-", "--frame", "3"}, dumps);
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.err, HasSubstr("no frame 3 in standard input, which has 2"));
  EXPECT_EQ(Explain({"-", "--frame", "0"}, dumps).code, 2);
}

class ExplainCaptureTest : public ExplainTest {
 protected:
  void SetUp() override {
    const auto library = dataplane::PcapLibrary::Load();
    if (!library.ok() || !(*library)->open_offline) GTEST_SKIP() << "no libpcap that reads files";
  }
  void Write(const std::string& path, const std::vector<ByteVector>& frames,
             dataplane::LinkType link_type = dataplane::LinkType::kRaw) {
    std::string text;
    dataplane::pcapng::AppendSection(text, "test");
    dataplane::pcapng::AppendInterface(text, link_type, 65'536, "eth0");
    for (const ByteVector& frame : frames) {
      dataplane::pcapng::AppendPacket(
          text, {.original_length = static_cast<std::uint32_t>(frame.size()), .bytes = frame});
    }
    std::ofstream(path, std::ios::binary) << text;
  }
};

TEST_F(ExplainCaptureTest, FramesAreChosenByNumber) {
  const std::string path = (folder_.path() / "trace.pcap").string();
  Write(path, {Good(), Unroutable()});
  EXPECT_EQ(Explain({"--capture", path}).out, Explain({HexOf(Good())}).out);
  EXPECT_EQ(Explain({"--capture", path, "--frame", "2"}).out, Explain({HexOf(Unroutable())}).out);
  const Outcome third = Explain({"--capture", path, "--frame", "3"});
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.err, HasSubstr("no frame 3 in " + path + ", which has 2"));
}

TEST_F(ExplainCaptureTest, AnInvalidOneIsNamed) {
  const std::string path = (folder_.path() / "text.pcap").string();
  std::ofstream(path) << "not a capture at all";
  const Outcome outcome = Explain({"--capture", path});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("text.pcap"));
}

TEST_F(ExplainCaptureTest, ADamagedRecordAfterTheRequestedOneIsIgnored) {
  const std::string path = (folder_.path() / "cut.pcap").string();
  Write(path, {Good(), Good()});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(Explain({"--capture", path}).code, 0);
  const Outcome second = Explain({"--capture", path, "--frame", "2"});
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("the records before it are good"));
}

TEST_F(ExplainCaptureTest, FramesAreCountedFromOne) {
  const std::string path = (folder_.path() / "trace.pcap").string();
  Write(path, {Good()});
  const Outcome outcome = Explain({"--capture", path, "--frame", "0"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("no frame 0 in " + path + ", which has 1; frames are counted"));
}

TEST_F(ExplainCaptureTest, AnotherLinkTypeNamesTheNextStep) {
  const std::string path = (folder_.path() / "any.pcap").string();
  Write(path, {Good()}, static_cast<dataplane::LinkType>(113));  // tcpdump -i any
  const Outcome outcome = Explain({"--capture", path});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("any.pcap has frames of link type 113; capture on an Ethernet "
                                     "device, or convert it to Ethernet or raw IP"));
}

TEST_F(ExplainCaptureTest, FromAnEthernetDevice) {
  const std::string path = (folder_.path() / "eth.pcap").string();
  Write(path,
        {PacketBuilder("10.244.4.7", "10.244.1.5")
             .BuildFrame(Mac("02:00:00:00:00:01"), Mac("02:00:00:00:00:02"))},
        dataplane::LinkType::kEthernet);
  const Outcome outcome = Explain({"--capture", path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("read as inner-ethernet\n"));
}

TEST_F(ExplainTest, ThePeerCheckFollowsTheFlag) {
  const std::string foreign = HexOf(VxlanBuilder(PacketBuilder("10.244.1.5", "10.244.4.7").Build())
                                        .Outer("198.51.100.1", "192.0.2.4")
                                        .Macs(Mac("5e:00:00:00:00:01"), Mac("00:15:5d:00:00:04"))
                                        .Build());
  EXPECT_EQ(Explain({foreign}).code, 0) << "lease: MAC and inner address agree";
  EXPECT_EQ(Explain({"--peer-check", "lease", foreign}).code, 0);
  const Outcome strict = Explain({"--peer-check", "strict", foreign});
  EXPECT_EQ(strict.code, 1);
  EXPECT_THAT(strict.out, HasSubstr("Verdict, wire to pod: dropped, unknown-peer\n"));
  const std::string unknown = HexOf(VxlanBuilder(PacketBuilder("10.99.1.5", "10.244.4.7").Build())
                                        .Outer("198.51.100.1", "192.0.2.4")
                                        .Macs(Mac("02:00:00:00:00:99"), Mac("00:15:5d:00:00:04"))
                                        .Build());
  EXPECT_EQ(Explain({unknown}).code, 1);
  EXPECT_EQ(Explain({"--peer-check", "off", unknown}).code, 0);
}

// The layers are printed even without a verdict; the exit code distinguishes the two.
TEST_F(ExplainTest, AFrameThatTheTunnelNeverSeesHasLayersOnly) {
  const Outcome outcome = Explain({"--start", "outer-ethernet",
                                   "ffffffffffff020000000099080600010800060400010200000000"
                                   "990af40102000000000000c0000201"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("Who has 192.0.2.1?"));
  EXPECT_THAT(outcome.err, HasSubstr("no verdict: the outer frame is not IP"));
}

TEST_F(ExplainTest, WithoutOurLeaseItNamesTheMissingOne) {
  server_.Do(
      [&](admin::HttpServer&) { state_.leases.leases.erase(state_.leases.leases.begin() + 3); });
  const Outcome outcome = Explain({HexOf(Good())});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, Not(HasSubstr("Verdict")));
  EXPECT_THAT(outcome.err, HasSubstr("no verdict: no IPv4 lease of this node is in"));
}

TEST_F(ExplainTest, AVniOfTheFileThatIsNotOursDropsTheFrame) {
  const std::string path = (folder_.path() / "nodes.json").string();
  std::ofstream(path) << SampleNodes();
  const Outcome other = Call(
      {"explain", "--from", path, "--node-name", "win-1", "--vni", "4097", HexOf(Unroutable())});
  EXPECT_EQ(other.code, 1);
  const Outcome refused = Call({"explain", "--from", path, "--vni", "16777216", HexOf(Good())});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no verdict: --vni 16777216 does not fit into 24 bits"));
}

TEST_F(ExplainTest, LeasesFromAFile) {
  const std::string path = (folder_.path() / "nodes.json").string();
  std::ofstream(path) << SampleNodes();
  const Outcome good = Call({"explain", "--from", path, "--node-name", "win-1", HexOf(Good())});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, Explain({HexOf(Good())}).out +
                          "  the tunnel's UDP port, 4789, is assumed: only a running flanneld "
                          "knows it\n");
  const Outcome outcome =
      Call({"explain", "--from", path, "--node-name", "win-1", HexOf(Good(14'789))});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("UDP port, 14789, is assumed"));
  const Outcome nameless = Call({"explain", "--from", path, HexOf(Good())});
  EXPECT_EQ(nameless.code, 2);
  EXPECT_THAT(nameless.out, HasSubstr("Transmission Control Protocol"));
  EXPECT_THAT(nameless.err, HasSubstr("name this node with --node-name"));
}

TEST_F(ExplainTest, ADaemonThatWasNamedAndDoesNotAnswerIsAnError) {
  const Outcome outcome = Call({"explain", "--admin", folder_.Endpoint("none"), HexOf(Good())});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("VNI: 4096"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Verdict")));
  EXPECT_THAT(outcome.err, HasSubstr("no verdict: flanneld does not answer"));
}

TEST_F(ExplainTest, ADaemonThatTellsItsLeasesAloneIsAnError) {
  struct : FakeState {
    admin::Status ReadStatus() override { throw std::runtime_error("none"); }
  } state;
  const RunningServer server{AdminHandler(state)};
  const Outcome outcome = Call({"explain", "--admin", server.endpoint(), HexOf(Good())});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no verdict: flanneld at " + server.endpoint() + " refuses "));
}

// No verdict was requested: a machine without flanneld still shows the layers.
TEST_F(ExplainTest, WithoutADaemonOnlyLayersAreShownUnlessOneWasNamed) {
  if (admin::ConnectLocal(std::string(admin::DefaultEndpoint()), std::chrono::seconds(1)).ok())
    GTEST_SKIP() << "a flanneld answers on this machine";
  const Outcome outcome = Call({"explain", HexOf(Good())});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("VNI: 4096"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Verdict")));
  EXPECT_THAT(outcome.err, HasSubstr("no verdict: "));
  EXPECT_THAT(outcome.err, HasSubstr("; a verdict needs leases: from flanneld on this node, or "
                                     "--from FILE --node-name NAME\n"));
}

TEST_F(ExplainTest, TheMtuIsTheDaemonsTunnelsUnlessGiven) {
  server_.Do([&](admin::HttpServer&) {
    state_.status.mtu = 1330;  // of the pods: the least of both families
    state_.status.tunnels[0].mtu = 1350;
  });
  const std::string big =
      HexOf(PacketBuilder("10.244.4.7", "10.244.1.5").TotalLength(1351).Build());
  const Outcome outcome = Explain({big});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1350 fit (outer MTU 1400"));
  EXPECT_EQ(Explain({"--mtu", "1500", big}).code, 0);
  server_.Do([&](admin::HttpServer&) { state_.status.tunnels[0].family = "ipv6"; });
  EXPECT_THAT(Explain({big}).out, HasSubstr("1370 fit (outer MTU 1420"));
  server_.Do([&](admin::HttpServer&) { state_.status.tunnels.clear(); });  // HNS encapsulates
  EXPECT_THAT(Explain({big}).out, HasSubstr("1330 fit (outer MTU 1380"));
  server_.Do([&](admin::HttpServer&) { state_.status.backend = "host-gw"; });
  EXPECT_THAT(Explain({big}).out, HasSubstr("(outer MTU 1330"));
  server_.Do([&](admin::HttpServer&) {
    state_.status.backend = "vxlan";
    state_.status.mtu = 0;  // not known yet
  });
  EXPECT_EQ(Explain({big}).code, 0);
  server_.Do([&](admin::HttpServer&) { state_.status.mtu = 65'535; });  // of no link
  const Outcome absurd = Explain({big});
  EXPECT_EQ(absurd.code, 2);
  EXPECT_THAT(absurd.err, HasSubstr("no verdict: --mtu 65585 is not the MTU of a link"));
}

TEST_F(ExplainTest, TheSenderIsCheckedAsTheDaemonDoesUnlessGiven) {
  const std::string other = HexOf(
      VxlanBuilder(PacketBuilder("10.244.1.5", "10.244.4.7").Tcp(40000, 443).Payload(8).Build())
          .Outer("198.51.100.1", "192.0.2.4")
          .Macs(Mac("5e:00:00:00:00:01"), Mac("00:15:5d:00:00:04"))
          .Build());
  EXPECT_EQ(Explain({other}).code, 0);
  server_.Do([&](admin::HttpServer&) { state_.status.tunnels[0].peer_check = "strict"; });
  const Outcome outcome = Explain({other});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("dropped, unknown-peer\n  --peer-check refuses the sender: "));
  EXPECT_THAT(outcome.out, HasSubstr("  checked by --peer-check=strict\n"));
  EXPECT_EQ(Explain({"--peer-check=lease", other}).code, 0);
}

TEST_F(ExplainTest, ThePortIsTheDaemons) {
  const std::string frame = HexOf(Good(14'789));
  EXPECT_THAT(Explain({frame}).out, HasSubstr("dropped, not-vxlan"));
  server_.Do([&](admin::HttpServer&) {
    state_.status.tunnels.clear();
    state_.status.dataplane = "hns";
    state_.status.hns->port = 14'789;
  });
  const Outcome outcome = Explain({frame});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("here the data plane is hns, which has its own rules\n"));
}

TEST_F(ExplainTest, TheStartCanBeForced) {
  const Outcome outcome = Explain({"--start", "inner-ip", HexOf(Good())});
  EXPECT_THAT(outcome.out, HasSubstr("read as inner-ip"));
  EXPECT_THAT(outcome.out, HasSubstr("Verdict, pod to wire"));
}

TEST_F(ExplainTest, TextThatIsNoFrameIsNamed) {
  const Outcome outcome = Explain({"zz"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("\"zz\" is not hexadecimal"));
}

}  // namespace
}  // namespace weft::cli
