// SPDX-License-Identifier: Apache-2.0
#include "control/admin/admin_server.h"
#include "control/cli/status_text.h"
#include "gmock/gmock.h"
#include "tests/control/admin/golden.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"

namespace weft::cli {
namespace {

using admin::DegradedStatus;
using admin::FakeState;
using admin::RunningServer;
using admin::SampleStatus;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class StatusTest : public ::testing::Test {
 protected:
  Outcome Status(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"status", "--admin", server_.endpoint()});
    return Call(std::move(arguments));
  }
  void Set(const admin::Status& status) {
    server_.Do([&](admin::HttpServer&) { state_.status = status; });
  }
  FakeState state_;
  RunningServer server_{AdminHandler(state_)};
};

TEST_F(StatusTest, ReadyInEachForm) {
  for (const std::string form : {"text", "json", "yaml"}) {
    const Outcome outcome = Status({"-o", form});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_TRUE(MatchesGolden(outcome.out, "status/ready_" + form + ".txt"));
  }
}

TEST_F(StatusTest, WithPeers) {
  EXPECT_TRUE(MatchesGolden(Status({"--peers"}).out, "status/peers.txt"));
}

TEST_F(StatusTest, DegradedExitsWith1InEachForm) {
  Set(DegradedStatus());
  for (const std::string form : {"text", "json", "yaml"}) {
    const Outcome outcome = Status({"-o", form});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, IsEmpty());
  }
  EXPECT_TRUE(MatchesGolden(Status({}).out, "status/degraded.txt"));
}

TEST_F(StatusTest, JsonIsTheDocumentOfTheEndpoint) {
  EXPECT_EQ(admin::ParseStatus(Status({"-o", "json"}).out).value(), SampleStatus());
}

TEST(StatusWithoutDaemonTest, ExitsWith2) {
  const admin::TemporaryFolder folder;
  const Outcome outcome = Call({"status", "--admin", folder.Endpoint(), "-o", "json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("start it on this node"));
}

TEST(StatusTextTest, EachCauseOfADegradedStatus) {
  EXPECT_TRUE(IsWell(SampleStatus()));
  admin::Status status = SampleStatus();
  status.ready = false;
  EXPECT_FALSE(IsWell(status));
  EXPECT_THAT(StatusText(status, false), HasSubstr("NOT READY"));
  status = SampleStatus();
  status.source.in_sync = false;
  EXPECT_FALSE(IsWell(status));
  EXPECT_THAT(StatusText(status, false), HasSubstr("ready, but degraded"));
  status = SampleStatus();
  status.source.condition = "gone";
  EXPECT_FALSE(IsWell(status));
  status.checks.push_back({"source", false, "gone"});
  const std::string once = StatusText(status, false);
  EXPECT_EQ(once.find("  source: gone\n"), once.rfind("  source: gone\n"));
  status = SampleStatus();
  status.conditions = {{.subject = "net-conf", .condition = "net-conf.json is gone", .times = 1}};
  EXPECT_FALSE(IsWell(status));
  EXPECT_THAT(StatusText(status, false), HasSubstr("net-conf, 1 time\n"));
  EXPECT_THAT(StatusText(status, false), HasSubstr("Next steps:\n  net-conf.json is gone\n"));
  status = SampleStatus();
  status.sinks[0].pending = {"x"};
  EXPECT_FALSE(IsWell(status));
}

TEST(StatusTextTest, APeerThatIsNotProgrammedIsCountedAndDegradesTheStatus) {
  admin::Status status = SampleStatus();
  EXPECT_THAT(StatusText(status, false), Not(HasSubstr("  peers ")));
  status.reach = admin::Reach{.peers = 17, .programmed = 17};
  EXPECT_TRUE(IsWell(status));
  EXPECT_THAT(StatusText(status, false), HasSubstr("  peers      17 of 17 programmed\n"));
  status.reach->programmed = 11;
  status.reach->heard = 0;
  EXPECT_FALSE(IsWell(status));
  status.not_joined_nodes = 2;
  const std::string text = StatusText(status, false);
  EXPECT_THAT(text, HasSubstr(": ready, but degraded\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  peers      11 of 17 programmed, 0 heard in the last minute; 2 not joined\n"));
  EXPECT_THAT(text, HasSubstr("  2 not-joined: their Nodes lack flannel's annotations"));
  status.reach->programmed = 17;
  EXPECT_TRUE(IsWell(status))
      << "who has not joined is no peer yet, and a silent one may have nothing to say";
}

TEST(StatusTextTest, WhatHasNoEffectIsANoteAndDegradesNothing) {
  admin::Status status = SampleStatus();
  status.notes = {"--busy-poll=5 has no effect"};
  EXPECT_TRUE(IsWell(status));
  EXPECT_THAT(StatusText(status, false), HasSubstr("\n  note       --busy-poll=5 has no effect\n"));
}

TEST(StatusTextTest, NodesThatNeedAttentionAreNamed) {
  admin::Status status = SampleStatus();
  status.leases[3].examples = {{"linux-2", "no MAC"}};
  status.leases[4].count = 2;
  status.leases[4].examples = {{"linux-3", "host-gw"}};
  status.leases.push_back({"family-off", "Not enabled.", 3});
  const std::string text = StatusText(status, false);
  EXPECT_THAT(text, HasSubstr("If this lasts, check its flanneld.\n    linux-2: no MAC\n  2 "));
  EXPECT_THAT(text, HasSubstr("    linux-3: host-gw\n    and more; \"flannelctl leases -o wide\""));
  EXPECT_THAT(text, Not(HasSubstr("Not enabled.")));
}

TEST(StatusTextTest, ADropHasAnExample) {
  admin::Status status = SampleStatus();
  admin::DropExample example{.at = 1'795'046'461,
                             .outer = IpAddress::Parse("198.51.100.9"),
                             .peer = "linux-1",
                             .vni = 7,
                             .source_mac = MacAddress::Parse("02:00:00:00:00:09"),
                             .destination_mac = MacAddress::Parse("02:00:00:00:00:07"),
                             .inner_source = IpAddress::Parse("10.244.1.7"),
                             .inner_destination = IpAddress::Parse("10.244.4.9")};
  status.tunnels[0].to_pods.packets[1].example = example;
  status.tunnels[0].to_wire.packets[2].example = example;
  example = {.at = 1'795'046'461,
             .inner_source = IpAddress::Parse("10.244.4.9"),
             .inner_destination = IpAddress::Parse("10.244.9.1")};
  status.tunnels[0].to_wire.packets[1].example = example;
  const std::string text = StatusText(status, false);
  EXPECT_THAT(text, HasSubstr("the VNI is not ours; one at 2026-11-19 00:01:01 UTC: from "
                              "198.51.100.9 (node linux-1), VNI 7, MAC 02:00:00:00:00:09 to "
                              "02:00:00:00:00:07, 10.244.1.7 to 10.244.4.9\n"));
  EXPECT_THAT(text, HasSubstr("no lease covers the destination; one at 2026-11-19 00:01:01 UTC: "
                              "10.244.4.9 to 10.244.9.1\n"));
  EXPECT_THAT(text, Not(HasSubstr("too-big"))) << "there was none";
  example = {.at = 1'795'046'461, .outer = IpAddress::Parse("198.51.100.9")};
  status.tunnels[0].to_pods.packets[1].example = example;
  EXPECT_THAT(StatusText(status, false), HasSubstr("UTC: from 198.51.100.9\n"));
  example.outer.reset();
  status.tunnels[0].to_pods.packets[1].example = example;
  EXPECT_THAT(StatusText(status, false), HasSubstr("one at 2026-11-19 00:01:01 UTC\n"));
}

TEST(StatusTextTest, IcmpErrorsNameTheirPeersTheMostFirst) {
  admin::Status status = SampleStatus();
  status.peers[1].icmp_errors = {.count = 3,
                                 .type = 3,
                                 .code = 3,
                                 .from = *IpAddress::Parse("192.0.2.5"),
                                 .at = 1'795'046'461};
  EXPECT_THAT(
      StatusText(status, false),
      HasSubstr("  peer win-2: 3 ICMP errors, one from 192.0.2.5 at 2026-11-19 00:01:01 UTC: "
                "type 3, code 3 (port unreachable: no program receives there)\n"));
  const struct {
    const char* from;
    std::uint32_t type, code;
    const char* text;
  } rows[] = {
      {"192.0.2.1", 3, 1, ": type 3, code 1\n"},
      {"192.0.2.1", 11, 3, ": type 11, code 3\n"},
      {"2001:db8::1", 1, 4, ": type 1, code 4 (port unreachable: no program receives there)\n"},
      {"2001:db8::1", 3, 3, ": type 3, code 3\n"},
  };
  for (const auto& row : rows) {
    status.peers[0].icmp_errors = {.count = 9,
                                   .type = row.type,
                                   .code = row.code,
                                   .from = *IpAddress::Parse(row.from),
                                   .at = 0};
    const std::string text = StatusText(status, false);
    EXPECT_THAT(text, HasSubstr(row.text));
    EXPECT_LT(text.find("peer linux-1: 9"), text.find("peer win-2: 3"));
  }
  status.peers.resize(7, status.peers[0]);
  EXPECT_THAT(StatusText(status, false), HasSubstr("  2 more peers; "));
}

TEST(StatusTextTest, WhatWasRestoredInHnsIsAFact) {
  admin::Status status = SampleStatus();
  status.hns->restored = {.count = 3, .last = 1'795'046'461, .what = "the network flannel.4096"};
  EXPECT_THAT(StatusText(status, false),
              HasSubstr("restored 3 in 24 h, last 2026-11-19 00:01:01 UTC: the network "
                        "flannel.4096\n"));
  EXPECT_TRUE(IsWell(status));
}

TEST(StatusTextTest, AnOldAnswerOfTheApiServerIsAFact) {
  admin::Status status = SampleStatus();
  status.source.last_answer_age = 95;
  EXPECT_THAT(StatusText(status, false), HasSubstr(", in sync, last answer 95 s ago\n"));
  EXPECT_TRUE(IsWell(status));
}

TEST(StatusTextTest, DropsThatDidNotHappenAreNotShown) {
  const std::string text = StatusText(SampleStatus(), false);
  EXPECT_THAT(text, HasSubstr("no-route"));
  EXPECT_THAT(text, HasSubstr("no lease covers the destination"));
  EXPECT_THAT(text, HasSubstr("socket-overflow"));
  admin::Status forged = SampleStatus();
  forged.tunnels[0].kernel = {{"icmp-unexpected", 1}};
  EXPECT_THAT(StatusText(forged, false), HasSubstr("icmp-unexpected   an ICMP error that matches"));
  EXPECT_THAT(text, Not(HasSubstr("too-big")));
  EXPECT_THAT(text, Not(HasSubstr("tun-dropped")));
}

TEST(StatusTextTest, DropsAreShownWhereverTheyHappened) {
  const struct {
    const char* description;
    std::uint64_t to_wire, to_pods, kernel;
    bool shown;
  } rows[] = {
      {"nowhere", 0, 0, 0, false},
      {"to the wire", 1, 0, 0, true},
      {"to the pods", 0, 1, 0, true},
      {"in the kernel", 0, 0, 1, true},
  };
  for (const auto& row : rows) {
    admin::Status status = SampleStatus();
    status.tunnels.resize(1);
    admin::TunnelStatus& tunnel = status.tunnels[0];
    tunnel.to_wire.packets = {{"forward", "", 7}, {"no-route", "", row.to_wire}};
    tunnel.to_pods.packets = {{"forward", "", 7}, {"not-vxlan", "", row.to_pods}};
    tunnel.kernel = {{"tun-dropped", row.kernel}};
    const std::string text = StatusText(status, false);
    EXPECT_EQ(text.find("Dropped since") != std::string::npos, row.shown) << row.description;
  }
}

TEST(StatusTextTest, ReportsWhatStrictWouldHaveDropped) {
  admin::Status status = SampleStatus();
  EXPECT_THAT(StatusText(status, false), Not(HasSubstr("strict")));
  status.tunnels[0].peer_check = "lease";
  status.tunnels[0].strict_would_drop = 0;
  EXPECT_THAT(StatusText(status, false),
              HasSubstr("peer check lease, strict would have dropped nothing since the "
                        "tunnel came up"));
  status.tunnels[0].strict_would_drop = 7;
  EXPECT_THAT(StatusText(status, false), HasSubstr("strict would have dropped 7 packets since"));
}

TEST(StatusTextTest, ReportsSeveralThreads) {
  admin::Status status = SampleStatus();
  status.tunnels[0].workers = 1;
  EXPECT_THAT(StatusText(status, false), Not(HasSubstr("threads")));
  status.tunnels[0].workers = 4;
  EXPECT_THAT(StatusText(status, false), HasSubstr(", MTU 1450, 4 threads\n"));
}

TEST(StatusTextTest, ReportsHowSuperframesAreSent) {
  admin::Status status = SampleStatus();
  EXPECT_THAT(StatusText(status, false), Not(HasSubstr("superframes")));
  status.tunnels[0].superframes = "cut";
  EXPECT_THAT(StatusText(status, false), HasSubstr("superframes cut\n"));
  status.tunnels[0].superframes = "whole: past the host's rules";
  status.tunnels[0].superframes_whole = 7;
  EXPECT_THAT(StatusText(status, false),
              HasSubstr("superframes whole: past the host's rules (7 sent whole)\n"));
}

TEST(StatusTextTest, NamesPeersThatSendFromElsewhere) {
  admin::Status status = SampleStatus();
  status.peers[1].other_source = IpAddress::Parse("198.51.100.9");
  status.peers[1].other_source_packets = 37;
  status.tunnels[0].peer_check = "lease";
  EXPECT_THAT(StatusText(status, false),
              HasSubstr("peer win-2 sends from 198.51.100.9, not from its public IP: 37 packets "
                        "accepted by inner MAC and address only"));
  EXPECT_TRUE(IsWell(status)) << "behind NAT that is as it should be";
  status.tunnels[0].peer_check = "strict";
  EXPECT_THAT(StatusText(status, false), HasSubstr("37 packets dropped (unknown-peer)"));
  status.peers[1].other_source.reset();  // it was just being written
  EXPECT_THAT(StatusText(status, false), HasSubstr("peer win-2 sends from another address"));
}

TEST(StatusTextTest, NamesPathsThatAreTooNarrowForPods) {
  admin::Status status = SampleStatus();
  status.peers[0].path_mtu = 590;
  status.peers[0].sent_without_df = 12;
  EXPECT_THAT(StatusText(status, false),
              HasSubstr("peer linux-1: the path carries 590 bytes, less than pods can follow: 12 "
                        "packets were sent without DF"));
  status.peers[0].path_mtu.reset();
  EXPECT_THAT(StatusText(status, false), HasSubstr("the path carried less than pods can follow"));
}

TEST(StatusTextTest, ManyPeersAreCut) {
  admin::Status status = SampleStatus();
  status.peers.resize(1);
  for (int i = 0; i < 20; ++i) {
    admin::PeerStatus peer;
    peer.node = "far-" + std::to_string(i);
    peer.other_source_packets = 1;
    status.peers.push_back(peer);
  }
  const std::string text = StatusText(status, false);
  EXPECT_THAT(text, HasSubstr("peer far-4 "));
  EXPECT_THAT(text, Not(HasSubstr("peer far-5 ")));
  EXPECT_THAT(text, HasSubstr("15 more of the kind"));
}

TEST(StatusTextTest, ARouterMacIsShownOnceItIsKnown) {
  admin::Status status = SampleStatus();
  status.hns.emplace();
  status.hns->management_ip = IpAddress::Parse("192.0.2.4");
  EXPECT_THAT(StatusText(status, false), HasSubstr("management IP 192.0.2.4, 0 calls"));
  status.hns->router_mac = MacAddress::Parse("00:15:5d:00:00:04");
  EXPECT_THAT(StatusText(status, false), HasSubstr(", router MAC 00:15:5d:00:00:04, 0 calls"));
}

TEST(StatusTextTest, NothingToInspectIsNotShown) {
  admin::Status status = SampleStatus();
  status.leases.resize(2);  // usable and self
  status.refused_nodes = 0;
  status.tunnels.clear();
  const std::string text = StatusText(status, false);
  EXPECT_THAT(text, Not(HasSubstr("Next steps")));
  EXPECT_THAT(text, Not(HasSubstr("Dropped")));
}

TEST(StatusTextTest, ManyPendingItemsAreCut) {
  admin::Status status = SampleStatus();
  for (int i = 0; i < 100; ++i) status.sinks[0].pending.push_back("peer " + std::to_string(i));
  const std::string text = StatusText(status, false);
  EXPECT_THAT(text, HasSubstr("peer 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("peer 5\n")));
  EXPECT_THAT(text, HasSubstr("95 more pending"));
}

TEST(StatusTextTest, ADaemonThatHasJustStarted) {
  const std::string text = StatusText(admin::Status(), false);
  EXPECT_THAT(text, HasSubstr("NOT READY"));
  EXPECT_THAT(text, HasSubstr("NOT in sync"));
  EXPECT_THAT(text, HasSubstr("leases     none\n"));
}

}  // namespace
}  // namespace weft::cli
