// SPDX-License-Identifier: Apache-2.0
// `flannelctl capture` of adapters in a network namespace of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <utility>

#include "control/cli/capture/capture_output.h"
#include "control/cli/flannelctl.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const MacAddress kA = Mac("02:00:00:00:00:0a"), kB = Mac("02:00:00:00:00:0b");

VxlanBuilder Outer() {
  return VxlanBuilder(PacketBuilder("10.244.1.2", "10.244.4.3").Payload(20).Build())
      .Outer("192.0.2.1", "192.0.2.4")
      .Ports(50'000, 14789);
}
ByteVector OuterFrame() { return Outer().BuildFrame(kA, kB); }

// Datagrams that a device is to cut.
ByteVector Aggregate(int datagrams) {
  ByteVector all;
  for (int i = 0; i < datagrams; ++i) all = Concatenate(all, Outer().BuildPayload());
  return PacketBuilder("192.0.2.1", "192.0.2.4").Udp(50'000, 14789).Payload(all).BuildFrame(kA, kB);
}

// Calls `flushed` whenever it is flushed; false: it fails.
class Stream : public std::stringbuf {
 public:
  std::function<bool(const std::string& text)> flushed = [](const std::string&) { return true; };

 private:
  int sync() override { return flushed(str()) ? 0 : -1; }
};

class CaptureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    ASSERT_EQ(AddQuietVeth(), "");
    ASSERT_EQ(RunIp("link add pods type veth peer name behind"), "");
    for (const std::string end : {"pods", "behind"}) {
      ASSERT_TRUE(SetNetSysctl("ipv6/conf/" + end + "/disable_ipv6", "1"));
      ASSERT_EQ(RunIp("link set " + end + " up"), "");
    }
    state_.status.interface_name = "near";
    state_.status.tunnels[0].device = "pods";
    state_.status.tunnels[0].port = 14789;
    state_.status.tunnels.push_back(state_.status.tunnels[0]);  // of the other family
    state_.leases.leases[2].node = "six";
    state_.leases.leases[2].v6 = std::exchange(state_.leases.leases[2].v4, std::nullopt);
    state_.leases.leases[2].v6->public_ip = Ip("2001:db8::6");
    state_.leases.leases[2].v6->subnet = *IpPrefix::Parse("fd00:6::/64");
    server_.emplace(AdminHandler(state_));
  }

  // `start` runs once the adapters are open.
  Outcome Capture(
      std::vector<std::string> words, std::function<void()> start = [] {}) {
    words.insert(words.begin(), {"capture", "--admin=" + server_->endpoint()});
    Stream err_text;
    err_text.flushed = [&](const std::string& text) {
      if (text.starts_with("capturing ")) std::exchange(start, [] {})();
      return true;
    };
    std::istringstream in;
    std::ostream out(&out_), err(&err_text);
    Io io{in, out, err};
    Outcome outcome;
    outcome.code = static_cast<int>(RunFlannelctl(std::move(words), io));
    outcome.out = out_.str();
    outcome.err = err_text.str();
    return outcome;
  }
  static void Send(const std::string& device, const std::vector<ByteVector>& frames) {
    PacketSocket socket(device);
    for (const ByteVector& frame : frames) EXPECT_EQ(socket.Send(frame), "");
  }
  static std::string FileText(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  admin::FakeState state_;
  std::optional<admin::RunningServer> server_;
  Stream out_;
  admin::TemporaryFolder folder_;
};

TEST_F(CaptureTest, TheAdaptersAreFlanneldsUnlessFlagsNameOthers) {
  const struct {
    std::vector<std::string> words;
    const char* adapters;
  } rows[] = {
      {{}, "near, UDP port 14789, every VNI, "},
      {{"--inner", "--vni=7", "--port=9"}, "pods (pods), UDP port 9, VNI 7, "},
      {{"--both"}, "near, pods (pods), UDP "},
      {{"--adapter=far"}, "far, UDP "},
      {{"--inner", "--pod-adapter=near"}, "near (pods), UDP "},
  };
  for (auto row : rows) {
    row.words.emplace_back("--duration=1ms");
    const Outcome outcome = Capture(row.words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith(std::string("capturing ") + row.adapters));
  }
}

TEST_F(CaptureTest, BothSidesAreDecodedAndCounted) {
  const Outcome outcome = Capture({"--both", "--duration=1ms"}, [] {
    const ByteVector without_frame = PacketBuilder("192.0.2.1", "192.0.2.4")
                                         .Udp(50'000, 14789)
                                         .Payload(Hex("0800000000100000"))
                                         .BuildFrame(kA, kB);
    Send("far", {OuterFrame(), without_frame});
    Send("behind", {Aggregate(2)});  // of a tunnel in pods
  });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(" near, linux-1 to win-1, 112 bytes\n"),
                                 HasSubstr(" pods, 182 bytes\n")));
  EXPECT_THAT(outcome.err, HasSubstr("\nnear: 1 frames, 0 lost\npods (pods): 1 frames, 0 lost\n"));
}

TEST_F(CaptureTest, TheEndIsAfterTheGivenTime) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Capture({"--duration=500ms"}).code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
}

TEST_F(CaptureTest, TheEndIsAtTheGivenCount) {
  for (const auto& frames :
       {std::vector<ByteVector>(3, OuterFrame()), std::vector<ByteVector>{Aggregate(3)}}) {
    const Outcome outcome = Capture({"--count=2"}, [&] { Send("far", frames); });
    EXPECT_THAT(outcome.err, HasSubstr("\nnear: 2 frames, 0 lost\n"));
  }
}

TEST_F(CaptureTest, TheEndIsAtAnInterrupt) {
  out_.flushed = [raised = false](const std::string&) mutable {
    return std::exchange(raised, true) || std::raise(SIGINT) == 0;
  };
  EXPECT_EQ(Capture({}).code, 0);
}

TEST_F(CaptureTest, SelectsByPeerAndPod) {
  const ByteVector frames[] = {OuterFrame(),
                               Outer().Outer("2001:db8::1", "2001:db8::4").BuildFrame(kA, kB),
                               Outer().Outer("192.0.2.2", "192.0.2.4").BuildFrame(kA, kB),
                               VxlanBuilder(PacketBuilder("10.244.2.2", "10.244.4.3").Build())
                                   .Outer("192.0.2.5", "192.0.2.4")
                                   .Ports(50'000, 14789)
                                   .BuildFrame(kA, kB)};
  const std::pair<const char*, const char*> rows[] = {{"--peer=LINUX-1", "near: 2 frames"},
                                                      {"--peer=linux-2", "near: 1 frames"},
                                                      {"--peer=six", "near: 0 frames"},
                                                      {"--pod=10.244.2.2", "near: 1 frames"}};
  for (const auto& [word, kept] : rows) {
    EXPECT_THAT(Capture({word, "--duration=1ms"},
                        [&] {
                          Send("far", {std::begin(frames), std::end(frames)});
                        })
                    .err,
                HasSubstr(kept))
        << word;
  }
}

TEST_F(CaptureTest, AFileHasTheFramesAndTheNamesOfNodes) {
  const auto path = folder_.path() / "a.pcapng";
  const auto capture = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--write=" + path.string(), "--count=1"});
    return Capture(std::move(words), [] { Send("far", {OuterFrame()}); });
  };
  const Outcome silent = capture({});
  EXPECT_EQ(silent.code, 0);
  EXPECT_EQ(silent.out, "");
  EXPECT_THAT(silent.err, HasSubstr(" bytes written to " + path.string() + "\n"));
  EXPECT_THAT(FileText(path), HasSubstr("linux-1 to win-1"));
  EXPECT_THAT(capture({"--decode"}).out, HasSubstr(" near, linux-1 to win-1, 112 bytes\n"));
}

TEST_F(CaptureTest, WhatCannotBeCapturedIsNamedBeforeTheStart) {
  const std::pair<std::vector<std::string>, std::string> rows[] = {
      {{"--adapter=eth9"}, "adapter eth9 does not exist; this host has lo, "},
      {{"tcp prot 80"}, "the filter \"(tcp prot 80)\" is not understood"},
      {{"--peer=nobody"}, "--peer=nobody: no node of that name has a lease"},
      {{"--write=" + (folder_.path() / "none/a").string()}, "none/a: No such file or directory"},
  };
  for (const auto& [words, error] : rows) {
    const Outcome outcome = Capture(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(error), Not(HasSubstr("capturing "))));
  }
}

TEST_F(CaptureTest, AnAdapterThatIsGoneEndsIt) {
  const Outcome outcome = Capture({}, [] { EXPECT_EQ(RunIp("link del near"), ""); });
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("flannelctl capture: adapter near: "));
}

TEST_F(CaptureTest, AFullDiskEndsIt) {
  const auto path = folder_.path() / "full";
  std::filesystem::create_symlink("/dev/full", path);
  const auto send = [] { Send("far", {OuterFrame()}); };
  EXPECT_THAT(Capture({"--write=" + path.string(), "--count=1"}, send).err,
              HasSubstr("cannot write " + path.string() + ": No space left on device"));
  out_.flushed = [](const std::string&) { return false; };
  EXPECT_THAT(Capture({}, send).err, HasSubstr("cannot write to standard output; is the disk"));
}

TEST_F(CaptureTest, StatisticsThatCannotBeWrittenAreAnError) {
  // pcapng: a block of type 5.
  out_.flushed = [](const std::string& text) {
    return text.find(std::string("\5\0\0\0", 4)) == std::string::npos;
  };
  EXPECT_THAT(Capture({"--write=-", "--duration=1ms"}).err,
              HasSubstr("cannot write standard output"));
}

TEST_F(CaptureTest, AFileOfARingThatIsNotWholeIsAnError) {
  std::filesystem::create_symlink("/dev/full", folder_.path() / "a-1");
  std::ostringstream out;
  CaptureOutput ring({.path = (folder_.path() / "a").string(), .file_size = 8}, "head ", out);
  ASSERT_TRUE(ring.Open().ok());
  EXPECT_TRUE(ring.Write("p1 ").ok());
  EXPECT_THAT(std::string(ring.Write("p2 ").message()), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace weft::cli
