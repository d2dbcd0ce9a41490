// SPDX-License-Identifier: Apache-2.0
// flannelctl explain as a whole: where the frame comes from, where the leases come from, what is
// printed, how it exits.
#include <fstream>

#include "control/admin/admin_server.h"
#include "dataplane/ports/capture_file.h"
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
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Octets Good() {
  return VxlanBuilder(PacketBuilder("10.244.1.5", "10.244.4.7").Tcp(40000, 443).Payload(8).Build())
      .Outer("192.0.2.1", "192.0.2.4")
      .Macs(Mac("5e:00:00:00:00:01"), Mac("00:15:5d:00:00:04"))
      .Build();
}
Octets Unroutable() { return PacketBuilder("10.244.4.7", "10.244.2.9").Payload(8).Build(); }

std::string HexOf(const Octets& octets) {
  std::string text;
  for (const std::byte octet : octets) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(octet) >> 4];
    text += kDigits[std::to_integer<unsigned>(octet) & 15];
  }
  return text;
}

class ExplainTest : public testing::Test {
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
  Octets cut = Good();
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
}

TEST_F(ExplainTest, FramesOfADumpAreChosenByNumber) {
  const std::string dumps = "00000000: 4500\n\n00000000: 6000 0000\n";
  EXPECT_THAT(Explain({"-", "--frame", "2"}, dumps).out, HasSubstr("4 octets"));
  const Outcome third = Explain({"-", "--frame", "3"}, dumps);
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.err, HasSubstr("no frame 3 in standard input, which has 2"));
  EXPECT_EQ(Explain({"-", "--frame", "0"}, dumps).code, 2);
}

TEST_F(ExplainTest, FramesOfACaptureFile) {
  const std::string path = (folder_.path() / "trace.pcap").string();
  {
    auto writer = dataplane::CaptureWriter::Open(path, dataplane::LinkType::kRaw);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Write({}, Good()).ok());
    ASSERT_TRUE(writer->Write({}, Unroutable()).ok());
    ASSERT_TRUE(writer->Flush().ok());
  }
  EXPECT_EQ(Explain({"--capture", path}).out, Explain({HexOf(Good())}).out);
  EXPECT_EQ(Explain({"--capture", path, "--frame", "2"}).out, Explain({HexOf(Unroutable())}).out);
  const Outcome third = Explain({"--capture", path, "--frame", "3"});
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.err, HasSubstr("no frame 3 in " + path + ", which has 2"));
}

TEST_F(ExplainTest, WhatIsNoCaptureIsNamed) {
  const std::string path = (folder_.path() / "text.pcap").string();
  std::ofstream(path) << "not a capture at all";
  const Outcome outcome = Explain({"--capture", path});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("text.pcap"));
}

TEST_F(ExplainTest, LeasesFromAFile) {
  const std::string path = (folder_.path() / "nodes.json").string();
  std::ofstream(path) << SampleNodes();
  const Outcome good = Call({"explain", "--from", path, "--node-name", "win-1", HexOf(Good())});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, Explain({HexOf(Good())}).out);
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

TEST_F(ExplainTest, TheLinksMtuIsThatOfTheDaemonUnlessGiven) {
  server_.Do([&](admin::HttpServer&) { state_.status.mtu = 1350; });
  const std::string big =
      HexOf(PacketBuilder("10.244.4.7", "10.244.1.5").TotalLength(1351).Build());
  const Outcome outcome = Explain({big});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1350 fit (link MTU 1400"));
  EXPECT_EQ(Explain({"--mtu", "1500", big}).code, 0);
  server_.Do([&](admin::HttpServer&) { state_.status.mtu = 0; });  // not known yet
  EXPECT_EQ(Explain({big}).code, 0);
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
