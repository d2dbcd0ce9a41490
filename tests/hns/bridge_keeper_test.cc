// SPDX-License-Identifier: Apache-2.0
#include "hns/bridge_machine.h"

#include <cstdio>
#include <memory>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/bridge_stage.h"
#include "tests/hns/drift_text.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

using Step = WatchedApi::Step;
using MaybeRefused = std::optional<Hresult>;

// The calls are those of a trace of upstream's, but for a list less.
TEST(BridgeKeeperTest, FromAnEmptyHnsInOneRound) {
  BridgeStage stage;
  const BridgeOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
  EXPECT_EQ(outcome.next, std::nullopt);
  EXPECT_TRUE(stage.IsInSync());
  EXPECT_EQ(outcome.network_id, stage.Networks()[0].id);
  EXPECT_EQ(outcome.endpoint_id, stage.Endpoints()[0].id);
  EXPECT_EQ(outcome.management_ip, Ip("192.168.1.10"));
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_THAT(stage.api.changes,
              ElementsAre(StartsWith("POST /networks/ {"), StartsWith("POST /endpoints/ {"),
                          AllOf(StartsWith("POST /endpoints/"), HasSubstr("/attach {"))));
}

// The network of an earlier process of ours for vxlan.
struct FormerLedger final : ObjectLedger {
  void Forget(const LedgerObject&) override {}
  void Forget(Kind kind, const std::string& name) override {
    if (kind == Kind::kNetwork) gone.push_back(name);
  }
  std::vector<KnownObject> Objects(Kind kind) override {
    return kind == Kind::kNetwork ? networks : std::vector<KnownObject>();
  }
  std::vector<KnownObject> networks;
  std::vector<std::string> gone;
};

TEST(BridgeKeeperTest, TheFormerOverlayIsDeletedOnceItHasNoPods) {
  BridgeStage stage;
  const auto ledger = std::make_shared<FormerLedger>();
  const auto make = [&](const char* name, const char* subnet, bool made) {
    OverlaySpec each = Spec();
    each.name = name;
    each.subnet = Cidr(subnet);
    const Network network = OverlayNetwork(each);
    const Guid id = stage.other_program.Create(network).value().Read().value().id;
    ledger->networks.push_back({name, id, made});
    return id;
  };
  const Guid ours = make("flannel.4096", "10.244.9.0/24", true);
  make("theirs", "10.9.0.0/24", false);
  make("External", "192.168.255.0/30", true);
  ledger->networks.push_back(
      {"gone.1", *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804"), true});
  ledger->networks.push_back({"begun.2", std::nullopt, true});
  Endpoint pod;
  pod.name = "pod1";
  pod.network = ours;
  const Guid in_it = stage.other_program.CreateEndpoint(pod).value().id;
  stage.keeper = std::make_unique<BridgeKeeper>(stage.api, stage.spec, ledger);
  BridgeOutcome outcome = stage.Drive();
  EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
  EXPECT_THAT(outcome.notes, ElementsAre(AllOf(HasSubstr("flannel.4096"), HasSubstr("(pod1)"))));
  EXPECT_THAT(ledger->gone, IsEmpty());

  ASSERT_TRUE(stage.other_program.DeleteEndpoint(in_it, "pod1").ok());
  ledger->networks.push_back({stage.spec.name, outcome.network_id, true});
  stage.keeper->Recheck();
  outcome = stage.Drive();
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_THAT(ledger->gone, ElementsAre("flannel.4096"));
  EXPECT_THAT(stage.Networks(), SizeIs(3)) << "cbr0, theirs, External";
}

// Some HNS accept no network next to another of the same subnet.
TEST(BridgeKeeperTest, FormerObjectsAreDeletedFirst) {
  emulator::Settings settings;
  settings.overlapping_subnets_accepted = false;
  BridgeStage stage(settings);
  OverlaySpec before = Spec();
  before.subnet = stage.spec.subnet;
  const Guid ours = stage.other_program.Create(OverlayNetwork(before)).value().Read().value().id;
  const auto ledger = std::make_shared<FormerLedger>();
  ledger->networks.push_back({before.name, ours, true});
  Endpoint pod;
  pod.name = "pod1";
  pod.network = ours;
  const Guid in_it = stage.other_program.CreateEndpoint(pod).value().id;
  stage.keeper = std::make_unique<BridgeKeeper>(stage.api, stage.spec, ledger);
  BridgeOutcome outcome = stage.Drive();
  EXPECT_EQ(outcome.state, BridgeState::kNetwork);
  EXPECT_THAT(outcome.notes, ElementsAre(AllOf(HasSubstr(before.name), HasSubstr("(pod1)"))));

  ASSERT_TRUE(stage.other_program.DeleteEndpoint(in_it, "pod1").ok());
  outcome = stage.Drive();
  EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_THAT(stage.Networks(), SizeIs(1));
}

// A network that HNS shows differently from its request is made once, in this process and, by the
// ledger, in the next ones until the next boot.
TEST(BridgeKeeperTest, ANetworkThatReadsBackDifferentlyIsNotMadeAgain) {
  BridgeStage stage;
  stage.api.answer = [](const Step& step, Reply& reply) {
    if (step.document.starts_with("GET "))
      absl::StrReplaceAll({{"10.244.3.0/24", "10.244.4.0/24"}}, &reply.text);
  };
  stage.Drive(1h);
  stage.keeper->Recheck();
  BridgeOutcome outcome = stage.Drive(1h);
  EXPECT_EQ(outcome.state, BridgeState::kNetwork);
  EXPECT_THAT(outcome.sentence, HasSubstr("not replaced again"));
  EXPECT_THAT(stage.keeper->Inspect()->refused, HasSubstr("not replaced again"));
  EXPECT_THAT(stage.Networks(), SizeIs(1));
  const Guid id = stage.Networks()[0].id;

  const auto ledger = std::make_shared<FormerLedger>();
  ledger->networks.push_back(
      {stage.spec.name, id, true, "L2Bridge 10.244.3.0/24", /*this_boot=*/true});
  stage.keeper = std::make_unique<BridgeKeeper>(stage.api, stage.spec, ledger);
  outcome = stage.Drive(1h);
  EXPECT_THAT(outcome.sentence, HasSubstr("not replaced again"));
  EXPECT_EQ(stage.Networks()[0].id, id);
}

// It attaches as upstream does, whatever state HNS reports for the endpoint.
TEST(BridgeKeeperTest, ARestartWithNothingChangedAttachesOnceAndChangesNothing) {
  BridgeStage stage;
  stage.Drive();
  stage.api.changes.clear();
  stage.StartKeeper();
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
  EXPECT_THAT(stage.api.changes, ElementsAre(HasSubstr("/attach {")));
}

TEST(BridgeKeeperTest, TheManagementIpIsWaitedForWithoutADeadline) {
  BridgeStage stage({.management_ip = 10min});
  BridgeOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, BridgeState::kManagementIp);
  EXPECT_THAT(outcome.sentence, AllOf(HasSubstr("cbr0"), HasSubstr("management IP yet")));
  EXPECT_EQ(outcome.next, stage.Now() + 500ms);
  EXPECT_EQ(stage.Drive(20min).state, BridgeState::kInSync);
}

// RFC 3927: it is HNS's, while the adapter is being bound.
TEST(BridgeKeeperTest, ALinkLocalAddressIsNoManagementIpUnlessTheNodeHasIt) {
  BridgeStage stage({.link_local = 10s});
  EXPECT_EQ(stage.Round().state, BridgeState::kManagementIp);
  EXPECT_EQ(stage.Drive(20s).state, BridgeState::kInSync);

  BridgeStage node({.link_local = 10s});
  node.spec.node_address = Ip("169.254.149.216");
  node.StartKeeper();
  EXPECT_EQ(node.Round().state, BridgeState::kInSync);
}

TEST(BridgeKeeperTest, SomeHnsGiveTheManagementIpAfterTheAttach) {
  BridgeStage stage({.management_ip_after_attach = true});
  EXPECT_EQ(stage.Drive(1min).state, BridgeState::kInSync);
  EXPECT_TRUE(stage.IsInSync());
}

TEST(BridgeKeeperTest, AlreadyAttachedIsRecognizedByItsNumber) {
  BridgeStage stage({.language = "de"});
  stage.api.after = [](const Step& step) -> MaybeRefused {
    if (step.document.find("/attach") == std::string::npos) return std::nullopt;
    return hresult::kEndpointAlreadyAttached;
  };
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
}

TEST(BridgeKeeperTest, AnEndpointWithoutItsAdapterIsMadeAgain) {
  BridgeStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  EXPECT_EQ(repairs->ReadLast(stage.Now()).all, 0u) << "the first ones are no repairs";
  const Guid before = stage.Endpoints()[0].id;
  stage.keeper->SetAdapterPresent(false);
  BridgeOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, BridgeState::kEndpoint);
  EXPECT_EQ(outcome.sentence, "no adapter has 10.244.3.2 yet: HNS is creating it");
  EXPECT_EQ(outcome.next, stage.Now() + 30s);
  stage.clock.now += 29s;
  EXPECT_EQ(stage.Round().endpoint_id, before);
  stage.clock.now += 1s;
  stage.api.before = [done = false](const Step& step) mutable -> MaybeRefused {
    if (done || !step.document.starts_with("POST /endpoints/ {")) return std::nullopt;
    done = true;
    return hresult::kUnspecified;
  };
  EXPECT_THAT(stage.Round().sentence, StartsWith("create the endpoint cbr0_ep: E_FAIL"));
  EXPECT_THAT(stage.Endpoints(), IsEmpty());
  outcome = stage.Round();
  EXPECT_NE(outcome.endpoint_id, before);
  EXPECT_EQ(outcome.endpoint_id, stage.Endpoints()[0].id);
  EXPECT_TRUE(stage.Endpoints()[0].attached);
  EXPECT_GT(*outcome.next, stage.Now() + 30s) << "with a growing delay";
  stage.keeper->SetAdapterPresent(true);
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).all, 0u) << "no other program deleted it";

  ASSERT_TRUE(stage.other_program.DeleteEndpoint(stage.Endpoints()[0].id, "cbr0_ep").ok());
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Drive().state, BridgeState::kInSync);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kEndpoint), 1u);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).what, "the endpoint cbr0_ep");
}

TEST(BridgeKeeperTest, AChangedSpecIsNoLoss) {
  BridgeStage stage({.settle = 15s});
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  stage.spec.subnet = Cidr("10.244.9.0/24");
  stage.keeper->SetSpec(stage.spec);
  for (const char* when : {"after the delete", "a round later"})
    EXPECT_THAT(stage.Round().sentence, StartsWith("create the network cbr0: ")) << when;
  EXPECT_EQ(stage.Drive().state, BridgeState::kInSync);
  EXPECT_TRUE(stage.IsInSync());
  EXPECT_EQ(repairs->ReadLast(stage.Now()).all, 0u);
}

// The keeper did not make the network, so that it replaces what another program put in its place.
TEST(BridgeKeeperTest, ANetworkThatAnotherProgramReplacedIsRestored) {
  BridgeStage stage({.settle = 15s});
  stage.Drive();
  stage.StartKeeper();
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  const BridgeNetwork before = stage.Networks()[0];
  ASSERT_TRUE(stage.other_program.DeleteNetwork(before.id, before.name).ok());
  stage.clock.now += 15s;
  BridgeSpec other = stage.spec;
  other.subnet = Cidr("10.244.9.0/24");
  BridgeStage::Output(stage.hns.Call("POST", "/networks/", BridgeNetworkJson(other)));
  EXPECT_THAT(CallsText(stage.keeper->Inspect().value()), StartsWith("delete the network cbr0 ("));
  stage.keeper->Recheck();
  for (const char* when : {"after the delete", "a round later"})
    EXPECT_THAT(stage.Round().sentence, StartsWith("create the network cbr0: ")) << when;
  EXPECT_EQ(stage.Drive().state, BridgeState::kInSync);
  EXPECT_TRUE(stage.IsInSync());
  EXPECT_EQ(repairs->Count(Repairs::Kind::kNetwork), 1u);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).all, 1u) << "with its endpoint";
}

TEST(BridgeKeeperTest, ALostNetworkIsMadeAgainWithItsEndpoint) {
  BridgeStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  const BridgeNetwork before = stage.Networks()[0];
  ASSERT_TRUE(stage.other_program.DeleteNetwork(before.id, before.name).ok());
  stage.keeper->Recheck();
  BridgeOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, BridgeState::kNetwork);
  EXPECT_THAT(outcome.sentence, StartsWith("the HNS network cbr0 is gone: "));
  outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
  EXPECT_NE(outcome.network_id, before.id);
  EXPECT_TRUE(stage.IsInSync());
  EXPECT_EQ(repairs->Count(Repairs::Kind::kNetwork), 1u);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kEndpoint), 0u) << "it went with its network";

  for (const std::int64_t pause : {0, 0, 5, 10}) {
    const BridgeNetwork again = stage.Networks()[0];
    ASSERT_TRUE(stage.other_program.DeleteNetwork(again.id, again.name).ok());
    stage.keeper->Recheck();
    EXPECT_EQ(stage.Round().next, stage.Now() + std::chrono::seconds(pause));
    EXPECT_EQ(stage.Drive(1min).state, BridgeState::kInSync);
  }
}

TEST(BridgeKeeperTest, NeverUnderRunningPods) {
  BridgeStage stage;
  stage.Drive();
  Endpoint pod;
  pod.name = "pod1";
  pod.network = stage.Networks()[0].id;
  pod.ip_configurations = {{Ip("10.244.3.5"), 24}};
  const Guid id = stage.other_program.CreateEndpoint(pod).value().id;
  stage.spec.subnet = Cidr("10.244.3.0/25");
  stage.keeper->SetSpec(stage.spec);
  stage.api.changes.clear();
  BridgeOutcome outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, BridgeState::kNetwork);
  EXPECT_THAT(outcome.sentence, HasSubstr("1 endpoint in it has an address of our 10.244.3.0/25"));
  EXPECT_THAT(stage.api.changes, IsEmpty());
  ASSERT_TRUE(stage.other_program.DeleteEndpoint(id, "pod1").ok());
  outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
  EXPECT_THAT(outcome.notes, ElementsAre(StartsWith("re-created: ")));
  EXPECT_TRUE(stage.IsInSync());
}

TEST(BridgeInspectTest, PredictsTheKeepersActions) {
  BridgeStage stage;
  const auto text = [&] {
    stage.api.changes.clear();
    const BridgePlan plan = Caller(stage.api).Run(InspectBridge(stage.spec)).value();
    EXPECT_THAT(stage.api.changes, IsEmpty());
    return CallsText(DriftOf(plan, stage.spec));
  };
  EXPECT_EQ(text(),
            "create the network cbr0\n"
            "create the endpoint cbr0_ep\n"
            "attach the endpoint cbr0_ep to the host\n");
  stage.Drive();
  EXPECT_EQ(text(), "");
  stage.spec.subnet = Cidr("10.244.9.0/24");
  EXPECT_THAT(text(), AllOf(StartsWith("delete the network cbr0 ("),
                            HasSubstr("\ncreate the network cbr0\ndelete the endpoint cbr0_ep (")));
  stage.StartKeeper();
  stage.Drive();
  EXPECT_EQ(text(), "");
  const std::string detach = BridgeEndpointPath(stage.Endpoints()[0].id) + "/detach";
  ASSERT_TRUE(stage.hns.Call("POST", detach, "").ok());
  EXPECT_EQ(text(), "attach the endpoint cbr0_ep to the host\n");
}

// Each call fails once, twice or until it is mended, before or after it was carried out.
TEST(BridgeKeeperTest, CallsFail) {
  std::size_t cases = 0;
  std::size_t calls = 0;
  {
    BridgeStage stage;
    stage.Drive();
    calls = stage.api.calls;
  }
  for (std::size_t number = 1; number <= calls; ++number) {
    for (const Hresult code :
         {hresult::kUnspecified, hresult::kNoMoreEndpoints, hresult::kElementNotFound}) {
      for (const std::size_t times : {1u, 2u, 1'000'000u}) {
        for (const bool carried_out : {false, true}) {
          SCOPED_TRACE("call " + std::to_string(number) + " fails " + std::to_string(times) +
                       " times with " + std::string(Name(code)) +
                       (carried_out ? " after" : " before"));
          ++cases;
          BridgeStage stage;
          (carried_out ? stage.api.after : stage.api.before) =
              [number, code, times](const Step& step) -> MaybeRefused {
            if (step.number < number || step.number - number >= times) return std::nullopt;
            return code;
          };
          BridgeOutcome outcome = stage.Drive(1min);
          EXPECT_FALSE(outcome.sentence.empty());
          if (outcome.state == BridgeState::kInSync) EXPECT_TRUE(stage.IsInSync());
          stage.api.before = stage.api.after = nullptr;
          outcome = stage.Drive(1min);
          EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
          EXPECT_TRUE(stage.IsInSync());
          EXPECT_LE(stage.api.calls, 150u);
        }
      }
    }
  }
  std::printf("%zu cases\n", cases);
}

// At a start whose network has no management IP yet: a failure ends the round, is reported and
// retried at once.
TEST(BridgeKeeperTest, EachStepMayFail) {
  constexpr Hresult kFails = hresult::kUnspecified, kGone = hresult::kRpcCallFailed;
  const struct {
    std::size_t call;
    Hresult code;  // kOk: it succeeds with an empty list
    BridgeState state;
    const char* begins;
  } rows[] = {
      {1, kFails, BridgeState::kHns, "list the networks: E_FAIL"},
      {2, kFails, BridgeState::kHns, "list the endpoints: E_FAIL"},
      {3, kFails, BridgeState::kNetwork, "create the network cbr0: E_FAIL"},
      {3, kGone, BridgeState::kHns, "HNS does not answer: create the network cbr0: "},
      {3, hresult::kOk, BridgeState::kNetwork, "HNS created the network cbr0 and returned no id"},
      {4, kFails, BridgeState::kNetwork, "read the network cbr0: E_FAIL"},
      {5, kFails, BridgeState::kEndpoint, "create the endpoint cbr0_ep: E_FAIL"},
      {5, hresult::kOk, BridgeState::kEndpoint, "create the endpoint cbr0_ep: HNS returned no id"},
      {6, kFails, BridgeState::kEndpoint, "attach the endpoint cbr0_ep to the host: E_FAIL"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.begins);
    BridgeStage stage({.management_ip = 10min});
    stage.spec.ambiguous = "A and B have its MAC";
    stage.StartKeeper();
    stage.api.before = [&](const Step& step) -> MaybeRefused {
      if (step.number != row.call || row.code == hresult::kOk) return std::nullopt;
      return row.code;
    };
    stage.api.answer = [&](const Step& step, Reply& reply) {
      if (step.number == row.call) reply.text = R"({"Success":true,"Output":[]})";
    };
    const BridgeOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, row.state);
    EXPECT_THAT(outcome.sentence,
                AllOf(StartsWith(row.begins), Not(HasSubstr(stage.spec.ambiguous))));
    EXPECT_EQ(outcome.next, stage.Now());
    EXPECT_EQ(stage.api.calls, row.call);
  }
}

TEST(BridgeKeeperTest, ADeleteThatFailsIsReported) {
  const auto refuse = [](const Step& step) -> MaybeRefused {
    if (!step.document.starts_with("DELETE ")) return std::nullopt;
    return hresult::kUnspecified;
  };
  BridgeStage stage;
  stage.Drive();
  stage.keeper->SetAdapterPresent(false);
  stage.Round();
  stage.clock.now += 30s;
  stage.api.before = refuse;
  EXPECT_THAT(stage.Round().sentence, StartsWith("delete the endpoint cbr0_ep: E_FAIL"));
  stage.spec.subnet = Cidr("10.244.9.0/24");
  stage.StartKeeper();
  EXPECT_THAT(stage.Round().sentence, StartsWith("delete the network cbr0: E_FAIL"));
}

TEST(BridgeKeeperTest, AnExistingNetworkNeedsNoAdapter) {
  BridgeStage stage;
  stage.Drive();
  stage.spec.adapter.clear();
  stage.spec.ambiguous = "A and B have its MAC";
  stage.StartKeeper();
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
}

TEST(BridgeKeeperTest, AWrongEndpointIsReplacedOrReported) {
  BridgeStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  const BridgeEndpoint ours = stage.Endpoints()[0];
  ASSERT_TRUE(stage.other_program.DeleteEndpoint(ours.id, ours.name).ok());
  Endpoint wrong;
  wrong.name = ours.name;
  wrong.network = ours.network;
  wrong.ip_configurations = {{Ip("10.244.3.77"), 24}};
  ASSERT_TRUE(stage.other_program.CreateEndpoint(wrong).ok());
  EXPECT_THAT(CallsText(stage.keeper->Inspect().value()),
              AllOf(StartsWith("delete the endpoint cbr0_ep ("), HasSubstr("\ncreate the endpoint"),
                    HasSubstr("\nattach the endpoint")));
  stage.keeper->Recheck();
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!step.document.starts_with("DELETE ")) return std::nullopt;
    return hresult::kUnspecified;
  };
  BridgeOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, BridgeState::kEndpoint);
  EXPECT_THAT(outcome.sentence, StartsWith("delete the endpoint cbr0_ep: E_FAIL"));
  EXPECT_EQ(outcome.endpoint_id, std::nullopt) << "it is not the desired one";
  EXPECT_THAT(stage.Endpoints(), SizeIs(1));
  stage.api.before = nullptr;
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
  EXPECT_TRUE(stage.IsInSync());
  EXPECT_EQ(repairs->Count(Repairs::Kind::kEndpoint), 1u) << "another program had replaced it";
}

TEST(BridgeKeeperTest, TheSameSpecCostsNoCall) {
  BridgeStage stage;
  stage.Drive();
  stage.api.calls = 0;
  stage.keeper->SetSpec(stage.spec);
  EXPECT_EQ(stage.Round().state, BridgeState::kInSync);
  EXPECT_EQ(stage.api.calls, 0u);
}

TEST(BridgeInspectTest, WithoutHnsItReportsThat) {
  BridgeStage stage;
  stage.hns.Stop();
  EXPECT_TRUE(absl::IsUnavailable(stage.keeper->Inspect().status()));
}

TEST(BridgeInspectTest, ARefusalMayBeInTheAnswerAlone) {
  BridgeStage stage;
  stage.api.answer = [](const Step&, Reply& reply) {
    reply.text = R"({"Success":false,"Error":"no","ErrorCode":2147942405})";
  };
  EXPECT_EQ(HresultOf(stage.keeper->Inspect().status()), hresult::kAccessDenied);
}

TEST(BridgeKeeperTest, HnsRestarts) {
  for (const auto networks :
       {emulator::Restart::Networks::kKept, emulator::Restart::Networks::kLost}) {
    BridgeStage stage;
    stage.Drive();
    stage.hns.RestartService({.networks = networks});
    stage.keeper->OnServiceGone();
    EXPECT_EQ(stage.Drive(1min).state, BridgeState::kInSync);
    EXPECT_TRUE(stage.IsInSync());
  }
}

TEST(BridgeKeeperTest, WhereTheAdaptersNameIsRefusedTheNextChoiceIsTried) {
  const struct {
    const char* description;
    std::string name, by_mac, ambiguous;
    std::vector<std::string> told;
    BridgeState state;
  } rows[] = {
      {"by name", "Ethernet", "", "", {"Ethernet"}, BridgeState::kInSync},
      {"a virtual one, then by MAC",
       "Host",
       "Ethernet",
       "",
       {"Host", "Ethernet"},
       BridgeState::kInSync},
      {"a virtual one, then HNS chooses", "Host", "", "", {"Host", ""}, BridgeState::kInSync},
      {"a virtual one, then several",
       "Host",
       "",
       "A and B have its MAC",
       {"Host"},
       BridgeState::kNetwork},
      {"several", "", "", "A and B have its MAC", {}, BridgeState::kNetwork},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    BridgeStage stage;
    stage.host.Add({"Host", {}, true, /*is_virtual=*/true});
    stage.spec.adapter = row.name;
    stage.spec.adapter_by_mac = row.by_mac;
    stage.spec.any_adapter = true;
    stage.spec.ambiguous = row.ambiguous;
    stage.StartKeeper();
    std::vector<std::string> told;
    stage.api.before = [&](const Step& step) -> MaybeRefused {
      if (!step.document.starts_with("POST /networks/")) return std::nullopt;
      const std::string key = R"("NetworkAdapterName":")";
      const std::size_t at = step.document.find(key);
      told.push_back(
          at == std::string::npos
              ? ""
              : step.document.substr(at + key.size(),
                                     step.document.find('"', at + key.size()) - at - key.size()));
      return std::nullopt;
    };
    BridgeOutcome outcome = stage.Round();
    if (row.told.size() > 1 && row.told.back().empty()) {
      EXPECT_EQ(outcome.state, BridgeState::kNetwork) << "not at once: HNS may take any NIC";
      EXPECT_THAT(outcome.sentence, EndsWith("The parameter is incorrect."));
      EXPECT_THAT(told, ElementsAre("Host"));
      stage.clock.now += 30s;
      told.clear();
      outcome = stage.Round();
    }
    EXPECT_EQ(outcome.state == BridgeState::kNetwork, row.state == BridgeState::kNetwork)
        << outcome.sentence;
    EXPECT_THAT(outcome.sentence, HasSubstr(row.ambiguous));
    EXPECT_EQ(told, row.told);
  }
}

TEST(BridgeKeeperTest, HnsOnAnotherAdapterIsANote) {
  BridgeStage stage;
  stage.spec.node_address = Ip("192.168.2.10");
  stage.StartKeeper();
  EXPECT_THAT(stage.Drive().notes,
              ElementsAre(::testing::AllOf(HasSubstr("on the adapter with 192.168.1.10"),
                                           HasSubstr("end what adds the first one"))));
}

}  // namespace
}  // namespace weft::hns
