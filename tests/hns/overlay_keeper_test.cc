// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_machine.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hns/base_network.h"
#include "tests/hns/overlay_stage.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

using Step = WatchedApi::Step;
using MaybeRefused = std::optional<Hresult>;

bool Says(const Step& step, std::string_view function, std::string_view text) {
  return step.function == function && step.document.find(text) != std::string::npos;
}

TEST(OverlayKeeperTest, FromAnEmptyHnsInOneRound) {
  OverlayStage stage;
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_EQ(outcome.sentence, "the HNS network flannel.4096 has 2 routes");
  EXPECT_EQ(outcome.next, std::nullopt);
  EXPECT_EQ(outcome.desired, 2u);
  EXPECT_EQ(outcome.applied, 2u);
  EXPECT_THAT(outcome.pending, IsEmpty());
  EXPECT_THAT(outcome.notes, IsEmpty());

  const Network network = stage.Overlay().value();
  EXPECT_EQ(outcome.network_id, network.id);
  EXPECT_EQ(outcome.management_ip, Ip("192.168.1.10"));
  EXPECT_EQ(outcome.dr_mac, network.dr_mac());
  EXPECT_EQ(outcome.base_network_id, std::nullopt);
  EXPECT_TRUE(network.Has("HostRoute"));
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_EQ(stage.api.changes.front(), NetworkJson(OverlayNetwork(Spec())));
}

TEST(OverlayKeeperTest, CallsGrowWithBatchesOnly) {
  for (const std::size_t peers : {0u, 1u, 100u, 1000u, 5000u}) {
    OverlayStage stage;
    stage.SetRoutes(ManyRoutes(peers));
    EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
    EXPECT_LE(stage.api.calls, peers / 100 + 20) << peers;
    EXPECT_EQ(stage.RoutesThere().size(), peers);
    RecordProperty("calls for " + std::to_string(peers), std::to_string(stage.api.calls));

    // The program is restarted, nothing changed.
    stage.api.changes.clear();
    stage.StartKeeper();
    const OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, OverlayState::kInSync);
    EXPECT_EQ(outcome.network_id, stage.Overlay()->id);
    EXPECT_THAT(stage.api.changes, IsEmpty());
  }
}

TEST(OverlayKeeperTest, TheSourceVipIsReadOnRequest) {
  OverlayStage stage;
  EXPECT_TRUE(stage.Round().source_vip_known) << "nothing is in a new network";
  const std::string broken = stage.AddPod("pod1", "10.244.3.5").ToString();
  stage.AddPod("pod2", "10.244.3.6");
  stage.api.before = [&](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnOpenEndpoint", broken)) return std::nullopt;
    return hresult::kUnspecified;
  };
  stage.StartKeeper();
  stage.Round();
  stage.keeper->ReadSourceVip();
  EXPECT_FALSE(stage.Round().source_vip_known) << "it may be the one that cannot be read";
  const auto refuse = std::exchange(stage.api.before, nullptr);
  stage.keeper->ReadSourceVip();
  EXPECT_TRUE(stage.Round().source_vip_known) << "there is none";
  stage.api.before = refuse;
  Endpoint source_vip;  // kube-proxy's
  source_vip.network = stage.Overlay()->id;
  source_vip.ip_configurations = {{Ip("10.244.3.4"), 24}};
  ASSERT_TRUE(stage.other_program.CreateEndpoint(source_vip).ok());
  stage.StartKeeper();
  EXPECT_FALSE(stage.Round().source_vip_known);
  stage.keeper->ReadSourceVip();
  const OverlayOutcome outcome = stage.Round();
  EXPECT_TRUE(outcome.source_vip_known);
  EXPECT_EQ(outcome.source_vip, Ip("10.244.3.4"));
}

// The adapter's name does not fit: HNS refuses what it does not know (0x803B0006) and what is
// virtual (0x80070057).
TEST(OverlayKeeperTest, WhereTheAdaptersNameIsRefusedTheNextChoiceIsTried) {
  using Adapter = weft::testing::NodeHost::Adapter;
  const Adapter nic{"Ethernet", {Ip("192.168.1.10")}};
  const Adapter vnic{"Host", {}, true, /*is_virtual=*/true};
  const struct {
    const char* description;
    std::string name, by_mac, ambiguous;
    std::size_t creates;
    OverlayState state;
  } rows[] = {
      {"by name", "Ethernet", "", "", 1, OverlayState::kInSync},
      {"a virtual one, then by MAC", "Host", "Ethernet", "", 2, OverlayState::kInSync},
      {"one that is not there, then by MAC", "Other", "Ethernet", "", 2, OverlayState::kInSync},
      {"a virtual one, then by the node's address", "Host", "", "", 2, OverlayState::kInSync},
      {"by the node's address", "", "", "", 1, OverlayState::kInSync},
      {"a virtual one, then several", "Host", "", "A and B have its MAC", 1,
       OverlayState::kNetwork},
      {"several", "", "", "A and B have its MAC", 0, OverlayState::kNetwork},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    OverlayStage stage;
    stage.host.Remove("Ethernet");
    stage.host.Add(nic);
    stage.host.Add(vnic);
    stage.spec.adapter = row.name;
    stage.spec.adapter_by_mac = row.by_mac;
    stage.spec.by_address = true;
    stage.spec.ambiguous = row.ambiguous;
    stage.StartKeeper();
    std::size_t creates = 0;
    stage.api.before = [&](const Step& step) -> MaybeRefused {
      if (Says(step, "HcnCreateNetwork", "")) ++creates;
      return std::nullopt;
    };
    const OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, row.state) << outcome.sentence;
    EXPECT_THAT(outcome.sentence, HasSubstr(row.ambiguous));
    EXPECT_EQ(creates, row.creates);
    EXPECT_THAT(outcome.notes, IsEmpty());
    EXPECT_EQ(stage.host.HasSwitch("Ethernet"), row.state == OverlayState::kInSync);
  }
}

// E_INVALIDARG may also be caused by another network that is being deleted. HNS, which may use any
// NIC, chooses the adapter only once the refusal has lasted. An HNS without the policy for the
// address refuses it by name.
TEST(OverlayKeeperTest, HnsChoosesTheAdapterAsALastResort) {
  const struct {
    const char* description;
    std::string name;
    Duration until;
  } rows[] = {
      {"no name", "", 0s},
      {"the name of nothing", "Other", 0s},
      {"a virtual one", "Host", 30s},
      {"the right name", "Ethernet", 0s},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    OverlayStage stage;
    stage.hns.Set({.network_provider_address = false});
    stage.host.Add({"Host", {}, true, /*is_virtual=*/true});
    stage.spec.adapter = row.name;
    stage.StartKeeper();
    const TimePoint begin = stage.Now();
    const OverlayOutcome outcome = stage.Drive();
    EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
    EXPECT_GE(stage.Now() - begin, row.until);
    EXPECT_LE(stage.Now() - begin, row.until + 10s);
  }
}

TEST(OverlayKeeperTest, HnsDoesNotChooseWhileAFormerNetworkIsDeleted) {
  OverlayStage stage;
  std::size_t without = 0, creates = 0;
  const TimePoint end = stage.Now() + 20s;
  stage.api.before = [&](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnCreateNetwork", "")) return std::nullopt;
    ++creates;
    if (!Says(step, "HcnCreateNetwork", "NetAdapterName") &&
        !Says(step, "HcnCreateNetwork", "ProviderAddress"))
      ++without;
    if (stage.Now() >= end) return std::nullopt;
    return hresult::kInvalidArgument;
  };
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_GT(creates, 4u);
  EXPECT_EQ(without, 0u);
}

// At last HNS chooses the adapter; then it starts with the name again.
TEST(OverlayKeeperTest, WhereNoChoiceWorksEachIsTriedInTurn) {
  OverlayStage stage;
  stage.spec.by_address = true;
  stage.StartKeeper();
  std::vector<std::string> told;
  stage.api.before = [&](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnCreateNetwork", "")) return std::nullopt;
    const auto names = [&](const char* what) { return Says(step, "HcnCreateNetwork", what); };
    told.push_back(names("NetAdapterName")    ? "name"
                   : names("ProviderAddress") ? "address"
                                              : "nothing");
    return hresult::kAdapterNotFound;
  };
  EXPECT_EQ(stage.Round().state, OverlayState::kNetwork);
  EXPECT_EQ(stage.Round().state, OverlayState::kNetwork);
  EXPECT_THAT(told, ElementsAre("name", "address", "nothing", "name", "address", "nothing"));
}

TEST(OverlayKeeperTest, NothingIsRemovedBeforeAllPeersAreKnown) {
  OverlayStage stage;
  stage.Drive();
  stage.StartKeeper();
  stage.keeper = std::make_unique<OverlayKeeper>(stage.api, stage.spec);
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kRoutes);
  EXPECT_THAT(outcome.sentence, HasSubstr("the peers are not known yet"));
  EXPECT_EQ(outcome.applied, 0u);
  EXPECT_TRUE(outcome.dr_mac) << "can be published already";

  hns::SetRoutes(*stage.keeper, RoutesTo({"10.244.1.0/24"}), false);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_THAT(stage.RoutesThere(), SizeIs(2));
  stage.SetRoutes(RoutesTo({"10.244.1.0/24"}));
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());

  // Known peers stay known.
  stage.routes = {};
  hns::SetRoutes(*stage.keeper, {}, false);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_THAT(stage.RoutesThere(), IsEmpty());
}

TEST(OverlayKeeperTest, TheSameSpecCostsNoCall) {
  OverlayStage stage;
  stage.Drive();
  stage.api.calls = 0;
  stage.keeper->SetSpec(stage.spec);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_EQ(stage.api.calls, 0u);
}

TEST(OverlayKeeperTest, AHostRouteThatIsNotReadBackYetIsNoNote) {
  OverlayStage stage;
  stage.keeper = std::make_unique<OverlayKeeper>(stage.api, stage.spec);
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kRoutes) << "the peers are not known";
  EXPECT_THAT(outcome.notes, IsEmpty());
  stage.api.changes.clear();
  stage.api.answer = [](const Step& step, Reply& reply) {
    if (step.function != "HcnQueryNetworkProperties") return;
    absl::StrReplaceAll({{R"("HostRoute")", R"("Other")"}}, &reply.text);
  };
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Round().notes, ElementsAre(HasSubstr("accepted it but does not show it")));
  EXPECT_THAT(stage.api.changes, IsEmpty()) << "not before its time";
}

// A lost call ends the round; a refusal of HNS is handled within it.
TEST(OverlayKeeperTest, AWriteThatMayNotHaveArrivedEndsTheRound) {
  const struct {
    const char *function, *text;
    Hresult code;
    OverlayState state;
  } rows[] = {
      {"HcnModifyNetwork", "HostRoute", hresult::kRpcCallFailed, OverlayState::kHns},
      {"HcnModifyNetwork", "HostRoute", hresult::kNetworkNotFound, OverlayState::kNetwork},
      {"HcnModifyNetwork", "HostRoute", hresult::kUnspecified, OverlayState::kInSync},
      {"HcnModifyNetwork", "RemoteSubnetRoute", hresult::kRpcCallFailed, OverlayState::kHns},
      {"HcnModifyNetwork", "RemoteSubnetRoute", hresult::kNetworkNotFound, OverlayState::kRoutes},
      {"HcnModifyNetwork", "RemoteSubnetRoute", hresult::kUnspecified, OverlayState::kRoutes},
      {"HcnCreateNetwork", "External", hresult::kRpcCallFailed, OverlayState::kHns},
      {"HcnEnumerateNetworks", "", hresult::kRpcCallFailed, OverlayState::kHns},
      {"HcnEnumerateNetworks", "", hresult::kUnspecified, OverlayState::kInSync},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.function) + " " + row.text + " " + std::string(Name(row.code)));
    OverlayStage stage;
    stage.spec.base_network = true;
    stage.StartKeeper();
    stage.api.before = [&, done = false](const Step& step) mutable -> MaybeRefused {
      if (done || !Says(step, row.function, row.text)) return std::nullopt;
      done = true;
      return row.code;
    };
    const OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, row.state) << outcome.sentence;
    EXPECT_EQ(outcome.sentence.starts_with("HNS does not answer: "),
              row.state == OverlayState::kHns);
  }
}

TEST(OverlayKeeperTest, AFailedReadIsRetried) {
  OverlayStage stage;
  stage.api.answer = [](const Step& step, Reply& reply) {
    if (step.function == "HcnQueryNetworkProperties") reply.text = "nonsense";
  };
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence, StartsWith("read the network flannel.4096: "));
  stage.api.answer = nullptr;
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, AReplacementWhoseDeleteIsRefusedCreatesNothing) {
  OverlayStage stage;
  stage.Drive();
  stage.spec.isolation_id = Vsid(4100);
  stage.keeper->SetSpec(stage.spec);
  stage.api.changes.clear();
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (step.function != "HcnDeleteNetwork") return std::nullopt;
    return hresult::kUnspecified;
  };
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence, StartsWith("delete the network flannel.4096: E_FAIL"));
  EXPECT_THAT(stage.api.changes, SizeIs(1));
}

// Its handle is another one's.
TEST(OverlayKeeperTest, ANetworkThatReplacedOursIsOpened) {
  OverlayStage stage;
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnModifyNetwork", "10.244.1.0")) return std::nullopt;
    return hresult::kInvalidPolicy;
  };
  EXPECT_EQ(stage.Round().state, OverlayState::kRoutes);
  stage.api.before = nullptr;
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  ASSERT_TRUE(stage.other_program.Create(OverlayNetwork(Spec())).ok());
  stage.keeper->Recheck();
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_EQ(outcome.network_id, stage.Overlay()->id);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
}

TEST(OverlayKeeperTest, TheManagementIpIsWaitedForWithoutADeadline) {
  OverlayStage stage({.management_ip = 20min});
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kManagementIp);
  EXPECT_THAT(outcome.sentence,
              AllOf(HasSubstr("flannel.4096"), HasSubstr("management IP yet: it binds")));
  EXPECT_EQ(outcome.next, stage.Now() + 500ms);
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_TRUE(outcome.network_id);
  outcome = stage.Drive(10min);
  EXPECT_THAT(outcome.sentence, HasSubstr(" min: it binds the adapter"));
  EXPECT_EQ(stage.Drive(20min).state, OverlayState::kInSync);
  EXPECT_THAT(stage.api.changes, SizeIs(4)) << "network, HostRoute, a route, the other";

  // Again, for a network that replaced it: the content of the old one is no longer used.
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.keeper->Recheck();
  stage.Round();
  outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kManagementIp);
  EXPECT_EQ(outcome.applied, 0u);
  // A peer that is added meanwhile does not delay the read.
  stage.clock.now += 20min;
  stage.SetRoutes(stage.routes);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, TheRouterMacIsWaitedForToo) {
  OverlayStage stage({.dr_mac = 20min});
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kManagementIp);
  EXPECT_THAT(outcome.sentence, AllOf(HasSubstr("flannel.4096"), HasSubstr("router MAC yet")));
  EXPECT_EQ(outcome.management_ip, Ip("192.168.1.10"));
  EXPECT_EQ(outcome.dr_mac, std::nullopt);
  EXPECT_EQ(outcome.next, stage.Now() + 500ms);
  outcome = stage.Drive(10min);
  EXPECT_THAT(outcome.sentence, HasSubstr("router MAC for "));
  EXPECT_THAT(stage.RoutesThere(), IsEmpty());
  outcome = stage.Drive(20min);
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_EQ(outcome.dr_mac, stage.Overlay()->dr_mac());
}

TEST(OverlayKeeperTest, AChangedPeerIsUnreachedForTwoCallsOnly) {
  OverlayStage stage;
  stage.Drive();
  stage.api.changes.clear();
  const RemoteSubnetRoute changed = RouteTo("10.244.1.0/24", "0e:2a:00:00:00:99");
  stage.routes.insert_or_assign(changed.destination, changed);
  stage.keeper->routes().Put(changed);
  stage.keeper->RoutesChanged();
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_THAT(stage.api.changes, ElementsAre(HasSubstr("Remove"), HasSubstr("Add")));
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());

  stage.keeper->routes().Erase(changed.destination);
  stage.keeper->RoutesChanged();
  stage.routes.erase(changed.destination);
  stage.api.calls = 0;
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_EQ(stage.api.calls, 2u) << "remove, read back: the network stayed open";
}

TEST(OverlayKeeperTest, AfterADeleteHnsMaySettle) {
  OverlayStage stage({.settle = 15s});
  stage.spec.ambiguous = "A and B have its MAC";
  stage.StartKeeper();
  stage.Drive();
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.keeper->Recheck();
  stage.Round();
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence, HasSubstr("may still be finishing a delete"));
  EXPECT_EQ(outcome.network_id, std::nullopt);
  EXPECT_EQ(outcome.applied, 0u);
  outcome = stage.Drive(30s);
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
}

TEST(OverlayKeeperTest, ANameThatIsTakenAndNotListed) {
  OverlayStage stage;
  stage.hns.TakeName("flannel.4096");
  bool all = false;
  stage.api.before = [&](const Step& step) -> MaybeRefused {
    all = all || (Says(step, "HcnEnumerateNetworks", "") &&
                  !Says(step, "HcnEnumerateNetworks", "flannel.4096"));
    return std::nullopt;
  };
  const OverlayOutcome outcome = stage.Drive(1min);
  EXPECT_TRUE(all) << "listed again, without its name";
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence,
              AllOf(StartsWith("create the network flannel.4096: "),
                    HasSubstr("HCN_E_NETWORK_ALREADY_EXISTS"), HasSubstr("did not list it"),
                    HasSubstr("service hns"), HasSubstr("not help, reboot this node")));
  EXPECT_LE(*outcome.next - stage.Now(), 10s);
  stage.hns.ReleaseName("flannel.4096");
  EXPECT_EQ(stage.Drive(1min).state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, OneThatIsMadeMeanwhileIsAdopted) {
  OverlayStage stage;
  stage.api.before = [&](const Step& step) -> MaybeRefused {
    if (Says(step, "HcnCreateNetwork", "flannel.4096") && !stage.Overlay())
      EXPECT_TRUE(stage.other_program.Create(OverlayNetwork(Spec())).ok());
    return std::nullopt;
  };
  EXPECT_EQ(stage.Round().next, stage.Now()) << "at once";
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, AHostRouteThatHnsDoesNotTakeIsANote) {
  OverlayStage stage;
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnModifyNetwork", "HostRoute")) return std::nullopt;
    return hresult::kInvalidPolicyType;
  };
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_THAT(outcome.notes, ElementsAre(AllOf(HasSubstr("its own pods"), HasSubstr("HostRoute"),
                                               HasSubstr("HCN_E_INVALID_POLICY_TYPE"))));
  EXPECT_EQ(outcome.next, stage.Now() + 1s);
  stage.api.calls = 0;
  stage.Round();
  EXPECT_EQ(stage.api.calls, 0u) << "not before its time";
  stage.api.before = nullptr;
  stage.clock.now += 1s;
  outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_TRUE(stage.Overlay()->Has("HostRoute"));
}

TEST(OverlayKeeperTest, WhatIsDueCausesNoWakeUpBeforeTheNetworkIsFound) {
  OverlayStage stage;
  stage.spec.base_network = true;
  stage.StartKeeper();
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnCreateNetwork", "External") && !Says(step, "HcnModifyNetwork", "HostRoute"))
      return std::nullopt;
    return hresult::kUnspecified;
  };
  EXPECT_EQ(stage.Round().next, stage.Now() + 1s);
  stage.clock.now += 1s;
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnEnumerateNetworks", "")) return std::nullopt;
    return hresult::kUnspecified;
  };
  EXPECT_EQ(stage.Round().next, stage.Now());
  EXPECT_EQ(stage.Round().next, stage.Now() + 500ms);
}

// The network exists, so HNS fails to find something else.
TEST(OverlayKeeperTest, AHostRouteThatFindsNothingIsANoteOnceTheNetworkIsFoundAgain) {
  OverlayStage stage;
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnModifyNetwork", "HostRoute")) return std::nullopt;
    return hresult::kElementNotFound;
  };
  EXPECT_EQ(stage.Round().next, stage.Now()) << "it is searched at once";
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("ERROR_NOT_FOUND")));
}

// Each cycle would remove the node's addresses for up to 20 s.
TEST(OverlayKeeperTest, ANetworkThatReadsBackDifferentlyIsNotMadeAgain) {
  OverlayStage stage;
  stage.api.answer = [](const Step& step, Reply& reply) {
    if (step.function != "HcnQueryNetworkProperties") return;
    absl::StrReplaceAll({{R"("IsolationId":4096)", R"("IsolationId":4097)"}}, &reply.text);
  };
  const OverlayOutcome outcome = stage.Drive(1h);
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence,
              AllOf(HasSubstr("VSID 4097 instead of 4096"), HasSubstr("not replaced again")));
  EXPECT_THAT(stage.api.changes, SizeIs(1)) << "the create";
  EXPECT_THAT(stage.keeper->Inspect()->refused, HasSubstr("not replaced again")) << "as it does";
  // Another desired state is another network.
  stage.spec.subnet = Cidr("10.244.9.0/24");
  stage.keeper->SetSpec(stage.spec);
  stage.Drive(1h);
  EXPECT_THAT(stage.api.changes, SizeIs(3)) << "one delete, one create";
}

// As upstream: HNS may report the management IP before the host has the adapter.
TEST(OverlayKeeperTest, HostRouteWaitsForTheHostsAdapter) {
  for (const bool comes : {true, false}) {
    SCOPED_TRACE(comes);
    OverlayStage stage;
    stage.keeper->SetAdapterPresent(false);
    OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, OverlayState::kManagementIp);
    EXPECT_THAT(outcome.sentence, HasSubstr("no adapter has 192.168.1.10, the management IP"));
    EXPECT_TRUE(outcome.awaits_adapter);
    EXPECT_EQ(outcome.next, stage.Now() + 45s);
    stage.clock.now += 44s;
    EXPECT_EQ(stage.Round().state, OverlayState::kManagementIp);
    EXPECT_FALSE(stage.Overlay()->Has(policy_type::kHostRoute));
    stage.keeper->SetAdapterPresent(false);
    if (comes) {
      stage.keeper->SetAdapterPresent(true);
      outcome = stage.Drive();
    } else {
      stage.clock.now += 1s;
      outcome = stage.Round();
      EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("no adapter has the management IP")));
      EXPECT_TRUE(outcome.awaits_adapter) << "so that the note ends";
      stage.keeper->SetAdapterPresent(true);
      outcome = stage.Drive();
    }
    EXPECT_EQ(outcome.state, OverlayState::kInSync);
    EXPECT_THAT(outcome.notes, IsEmpty());
    EXPECT_FALSE(outcome.awaits_adapter);
    EXPECT_TRUE(stage.Overlay()->Has(policy_type::kHostRoute));

    // The next one's adapter is another.
    ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, stage.spec.name).ok());
    stage.keeper->Recheck();
    stage.Round();
    EXPECT_TRUE(stage.Round().awaits_adapter);
    EXPECT_FALSE(stage.Overlay()->Has(policy_type::kHostRoute));
  }
}

TEST(OverlayKeeperTest, WithItsHostRouteNoAdapterIsWaitedFor) {
  OverlayStage stage;
  ASSERT_EQ(stage.Drive().state, OverlayState::kInSync);
  stage.StartKeeper();
  stage.keeper->SetAdapterPresent(false);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_FALSE(stage.Round().awaits_adapter);
}

// RFC 3927: it is HNS's, while the adapter is being bound.
TEST(OverlayKeeperTest, ALinkLocalAddressIsNoManagementIp) {
  OverlayStage stage({.link_local = 30s});
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kManagementIp);
  EXPECT_THAT(outcome.sentence, HasSubstr("management IP (169.254.149.216 is none)"));
  outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_EQ(outcome.management_ip, Ip("192.168.1.10"));
}

TEST(OverlayKeeperTest, ALinkLocalAddressIsTheManagementIpOfANodeThatHasIt) {
  OverlayStage stage;
  stage.host.Remove("Ethernet");
  stage.host.Add({"Ethernet", {Ip("169.254.7.7")}});
  stage.spec.node_address = Ip("169.254.7.7");
  stage.StartKeeper();
  EXPECT_EQ(stage.Drive(1min).state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, HnsStopsThenStartsWithoutObjects) {
  OverlayStage stage;
  stage.Drive();
  stage.hns.Stop();
  EXPECT_TRUE(absl::IsUnavailable(stage.keeper->Inspect().status()));
  stage.keeper->OnServiceGone();
  OverlayOutcome outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, OverlayState::kHns);
  EXPECT_THAT(outcome.sentence,
              AllOf(StartsWith("HNS does not answer: "), HasSubstr("Start-Service hns")));
  EXPECT_TRUE(outcome.dr_mac) << "what was";
  EXPECT_EQ(outcome.applied, 0u);
  stage.hns.Start({.networks = emulator::Restart::Networks::kLost});
  outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_EQ(outcome.network_id, stage.Overlay()->id);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
}

TEST(OverlayKeeperTest, AnUnreportedRestartIsFoundByTheDeadHandle) {
  OverlayStage stage;
  stage.Drive();
  stage.hns.RestartService({.routes_kept = false});
  stage.keeper->routes().Put(RouteTo("10.244.7.0/24"));
  stage.keeper->RoutesChanged();
  stage.routes.emplace(Cidr("10.244.7.0/24"), RouteTo("10.244.7.0/24"));
  EXPECT_EQ(stage.Drive(1s).state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_TRUE(stage.Overlay()->Has("HostRoute"));
}

TEST(OverlayKeeperTest, ARecheckFindsForeignChanges) {
  OverlayStage stage;
  stage.Drive();
  const Policy strange{"ProviderAddress", R"({"ProviderAddress":"10.9.9.9"})"};
  const Policy theirs = RemoteSubnetRoutePolicy(RouteTo("10.244.9.0/24"));
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")));
  stage.RemovePolicy(HostRoutePolicy());
  stage.AddPolicy(theirs);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync) << "nothing was read";
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_TRUE(stage.Overlay()->Has("HostRoute"));
}

// A write is a repair if the same was in sync before.
TEST(OverlayKeeperTest, RepairsAreCountedOnce) {
  OverlayStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  const auto counts = [&] {
    using Kind = Repairs::Kind;
    return std::vector<std::uint64_t>{repairs->Count(Kind::kNetwork),
                                      repairs->Count(Kind::kHostRoute),
                                      repairs->Count(Kind::kRoute)};
  };
  const auto repaired = [&] {
    stage.keeper->Recheck();
    EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
    return counts();
  };
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_THAT(counts(), ElementsAre(0, 0, 0)) << "the first writes";
  stage.SetRoutes(RoutesTo({"10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"}));
  EXPECT_THAT(repaired(), ElementsAre(0, 0, 0)) << "a new peer";
  stage.SetRoutes(stage.routes);
  EXPECT_THAT(repaired(), ElementsAre(0, 0, 0)) << "the same peers again";

  const auto last = [&] { return repairs->ReadLast(stage.Now()).what; };
  stage.RemovePolicy(RemoteSubnetRoutePolicy(stage.routes.begin()->second));
  EXPECT_THAT(repaired(), ElementsAre(0, 0, 1)) << "a route";
  EXPECT_EQ(last(), "the route to 10.244.1.0/24 of flannel.4096");
  EXPECT_THAT(repaired(), ElementsAre(0, 0, 1));
  stage.RemovePolicy(HostRoutePolicy());
  EXPECT_THAT(repaired(), ElementsAre(0, 1, 1)) << "the HostRoute";
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  EXPECT_THAT(repaired(), ElementsAre(1, 1, 1)) << "the network with all it has";
  EXPECT_EQ(last(), "the network flannel.4096");
  EXPECT_THAT(repaired(), ElementsAre(1, 1, 1));
}

TEST(OverlayKeeperTest, ARouteThatIsLostDuringARoundIsARepair) {
  OverlayStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  stage.RemovePolicy(HostRoutePolicy());
  stage.api.after = [&, done = false](const Step& step) mutable -> MaybeRefused {
    if (!done && Says(step, "HcnModifyNetwork", "HostRoute")) {
      done = true;
      stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")));
    }
    return std::nullopt;
  };
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 1u);
}

TEST(OverlayKeeperTest, ARouteThatHnsDoesNotTakeBackIsNoRepair) {
  OverlayStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")));
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.2.0/24")));
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (step.function != "HcnModifyNetwork") return std::nullopt;
    return hresult::kInvalidPolicy;
  };
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kRoutes);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 0u);
  const auto refuse = std::exchange(stage.api.before, nullptr);
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 0u) << "they went with the network";
  EXPECT_EQ(repairs->Count(Repairs::Kind::kNetwork), 1u);

  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")));
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.2.0/24")));
  stage.api.before = refuse;
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kRoutes);
  stage.api.before = nullptr;
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 2u);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).what,
            "the route to 10.244.1.0/24 and 1 more of flannel.4096");
}

TEST(OverlayKeeperTest, OnlyARouteThatIsWrittenAgainIsARepair) {
  OverlayStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.9.0/24")));
  stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24", "0e:2a:00:00:00:99")));
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 0u) << "another program's were removed";

  stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.0.0/24")));
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.2.0/24")));
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 1u);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).what, "the route to 10.244.2.0/24 of flannel.4096");

  // The lease of the first one goes before HNS takes them back.
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")));
  stage.RemovePolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.2.0/24")));
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (step.function != "HcnModifyNetwork") return std::nullopt;
    return hresult::kInvalidPolicy;
  };
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kRoutes);
  stage.api.before = nullptr;
  stage.SetRoutes(RoutesTo({"10.244.2.0/24"}));
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kRoute), 2u);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).what, "the route to 10.244.2.0/24 of flannel.4096");
}

TEST(OverlayKeeperTest, AHostRouteIsARepairOnceHnsShowsIt) {
  OverlayStage stage;
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  const auto count = [&] { return repairs->Count(Repairs::Kind::kHostRoute); };
  const auto recheck = [&] {
    stage.keeper->Recheck();
    return stage.Round();
  };
  stage.RemovePolicy(HostRoutePolicy());
  stage.api.answer = [](const Step& step, Reply& reply) {
    if (step.function != "HcnQueryNetworkProperties") return;
    absl::StrReplaceAll({{R"("HostRoute")", R"("Other")"}}, &reply.text);
  };
  EXPECT_THAT(recheck().notes, ElementsAre(HasSubstr("accepted it but does not show it")));
  EXPECT_EQ(count(), 0u);
  stage.api.answer = nullptr;
  EXPECT_THAT(recheck().notes, IsEmpty());
  EXPECT_EQ(count(), 1u);

  stage.RemovePolicy(HostRoutePolicy());
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnModifyNetwork", "HostRoute")) return std::nullopt;
    return hresult::kInvalidPolicyType;
  };
  EXPECT_THAT(recheck().notes, SizeIs(1));
  EXPECT_EQ(count(), 1u) << "refused";
  stage.api.before = nullptr;
  stage.clock.now += 1s;
  EXPECT_THAT(recheck().notes, IsEmpty());
  EXPECT_EQ(count(), 2u);

  stage.RemovePolicy(HostRoutePolicy());
  stage.keeper->SetAdapterPresent(false);
  EXPECT_TRUE(recheck().awaits_adapter);
  stage.AddPolicy(HostRoutePolicy());
  EXPECT_EQ(recheck().state, OverlayState::kInSync);
  EXPECT_EQ(count(), 2u) << "another program's";
}

TEST(OverlayKeeperTest, ALostNetworkIsReportedBeforeItIsMadeAgain) {
  OverlayStage stage;
  stage.Drive();
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.keeper->Recheck();
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence,
              AllOf(StartsWith("the HNS network flannel.4096 is gone: "), Not(HasSubstr("times"))));
  EXPECT_EQ(outcome.network_id, std::nullopt);
  EXPECT_EQ(outcome.next, stage.Now()) << "at once";
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
}

// The second program acts a second after each creation.
TEST(OverlayKeeperTest, ANetworkThatIsDeletedAgainAndAgainIsMadeAgainAfterPauses) {
  OverlayStage stage;
  stage.Drive();
  const auto pause_after_a_loss = [&] {
    EXPECT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
    stage.keeper->Recheck();
    const TimePoint lost = stage.Now();
    const OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, OverlayState::kNetwork);
    EXPECT_EQ(stage.Round().state == OverlayState::kNetwork, outcome.next > lost)
        << "not before its time";
    EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
    return std::chrono::duration_cast<std::chrono::seconds>(stage.Now() - lost).count();
  };
  std::vector<std::int64_t> pauses;
  for (int i = 0; i < 9; ++i) {
    stage.clock.now += 1s;
    pauses.push_back(pause_after_a_loss());
  }
  EXPECT_THAT(pauses, ElementsAre(0, 0, 0, 4, 9, 19, 39, 59, 59));

  stage.clock.now += 1s;
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Round().sentence, AllOf(HasSubstr(", 10 times in a short time; "),
                                            HasSubstr("find the program that deletes it")));
  stage.keeper->RetryNow();
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync) << "an operator's repair does not wait";

  for (int i = 0; i < 4; ++i) pause_after_a_loss();
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.keeper->Recheck();
  EXPECT_GT(stage.Round().next, stage.Now() + 1s);
  ASSERT_TRUE(stage.other_program.Create(OverlayNetwork(stage.spec)).ok());
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync) << "another program has made it";
  stage.clock.now += 11min;
  EXPECT_EQ(pause_after_a_loss(), 0) << "ten quiet minutes";
  EXPECT_EQ(pause_after_a_loss(), 0);
}

TEST(OverlayKeeperTest, AChangedSpecIsNoLoss) {
  OverlayStage stage({.settle = 15s});
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  // HNS refuses the new network for a while after our delete of the old one.
  stage.spec.subnet = Cidr("10.244.9.0/24");
  stage.keeper->SetSpec(stage.spec);
  for (const char* when : {"after the delete", "a round later"})
    EXPECT_THAT(stage.Round().sentence, HasSubstr("may still be finishing a delete")) << when;
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(stage.Overlay()->subnets[0].prefix, stage.spec.subnet);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).all, 0u);
  stage.hns.Set({});
  stage.spec.name = "flannel.4097";
  stage.keeper->SetSpec(stage.spec);
  EXPECT_THAT(stage.Round().sentence, Not(HasSubstr("is gone")));
  // Nor does another network's pause concern it.
  stage.Drive();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
    stage.keeper->Recheck();
    if (i < 3) EXPECT_EQ(stage.Drive(1s).state, OverlayState::kInSync);
  }
  EXPECT_GT(stage.Round().next, stage.Now());
  stage.spec.name = "flannel.4098";
  stage.keeper->SetSpec(stage.spec);
  EXPECT_THAT(stage.Round().sentence, Not(HasSubstr("is gone")));
}

// The keeper did not make the network, so that it replaces what another program put in its place.
TEST(OverlayKeeperTest, ANetworkThatAnotherProgramReplacedIsRestored) {
  OverlayStage stage({.settle = 15s});
  stage.Drive();
  stage.StartKeeper();
  const auto repairs = std::make_shared<Repairs>();
  stage.keeper->SetRepairs(repairs);
  stage.Drive();
  ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "").ok());
  stage.clock.now += 15s;
  OverlaySpec other = stage.spec;
  other.isolation_id = Vsid(4100);
  ASSERT_TRUE(stage.other_program.Create(OverlayNetwork(other)).ok());
  EXPECT_EQ(stage.keeper->Inspect().value().refused, "");
  stage.keeper->Recheck();
  for (const char* when : {"after the delete", "a round later"})
    EXPECT_THAT(stage.Round().sentence, HasSubstr("may still be finishing a delete")) << when;
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(repairs->Count(Repairs::Kind::kNetwork), 1u);
  EXPECT_EQ(repairs->ReadLast(stage.Now()).all, 1u) << "with all that it had";
}

TEST(RepairsTest, TheLastDayIsCounted) {
  using std::chrono::hours;
  Repairs repairs;
  const TimePoint start{hours(100)};
  repairs.Add(Repairs::Kind::kRoute, 2, "a", start);
  repairs.Add(Repairs::Kind::kRoute, 1, "b", start + 30s);
  repairs.Add(Repairs::Kind::kNetwork, 1, "c", start + hours(23));
  const auto recent = [&](TimePoint now) { return repairs.ReadLast(now).recent; };
  EXPECT_EQ(recent(start + hours(23)), 4u);
  EXPECT_EQ(recent(start + hours(24)), 1u);
  EXPECT_EQ(recent(start + hours(47)), 0u);
  repairs.Add(Repairs::Kind::kEndpoint, 1, "d", start + hours(48));
  const Repairs::Last last = repairs.ReadLast(start + hours(48));
  EXPECT_EQ(last.recent, 1u);
  EXPECT_EQ(last.all, 5u);
  EXPECT_EQ(last.what, "d");
  EXPECT_EQ(last.at, start + hours(48));
}

TEST(OverlayKeeperTest, NeverUnderRunningPods) {
  OverlayStage stage;
  stage.Drive();
  const Guid pod = stage.AddPod("pod1", "10.244.3.5");
  const Guid before = stage.Overlay()->id;
  stage.spec.isolation_id = Vsid(4100);
  stage.keeper->SetSpec(stage.spec);
  stage.api.changes.clear();
  OverlayOutcome outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence, AllOf(HasSubstr("VSID 4096 instead of 4100"),
                                      HasSubstr("1 endpoint"), HasSubstr("pod1")));
  EXPECT_THAT(stage.api.changes, IsEmpty());
  EXPECT_EQ(stage.Overlay()->id, before);

  ASSERT_TRUE(stage.other_program.DeleteEndpoint(pod, "pod1").ok());
  outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_THAT(outcome.notes, ElementsAre(StartsWith("re-created: ")));
  EXPECT_NE(stage.Overlay()->id, before);
  EXPECT_EQ(stage.Overlay()->subnets[0].isolation_id, 4100u);
}

// A Node that was made again has another PodCIDR, and its pods end a while later.
TEST(OverlayKeeperTest, PodsOfAnotherPodCidrHaveFiveMinutes) {
  for (const bool they_end : {true, false}) {
    OverlayStage stage;
    stage.Drive();
    const Guid before = stage.Overlay()->id, pod = stage.AddPod("pod1", "10.244.3.5");
    stage.AddPod("source-vip", "10.244.3.6");
    const Reply space = stage.hns.Create(Kind::kNamespace, Handle::kNone, Guid(),
                                         R"({"Type":"Guest","SchemaVersion":{"Major":2}})");
    Endpoint remote;
    remote.name = "remote";
    remote.network = before;
    remote.ip_configurations = {{Ip("10.244.1.7"), 24}};
    remote.flags = kRemoteEndpoint;
    for (const Guid& each : {pod, stage.other_program.CreateEndpoint(remote).value().id}) {
      ASSERT_TRUE(stage.hns
                      .Modify(Kind::kNamespace, space.handle,
                              R"({"ResourceType":"Endpoint","RequestType":"Add",)"
                              R"("Settings":{"EndpointId":")" +
                                  each.ToString() + R"("}})")
                      .ok());
    }
    stage.spec.subnet = Cidr("10.244.4.0/24");
    stage.keeper->SetSpec(stage.spec);
    OverlayOutcome outcome = stage.Drive(4min);
    EXPECT_EQ(outcome.state, OverlayState::kNetwork);
    EXPECT_THAT(outcome.sentence,
                AllOf(HasSubstr("subnet 10.244.3.0/24 instead of 10.244.4.0/24"),
                      HasSubstr("1 pod of another PodCIDR runs in it"), HasSubstr("5 minutes")));
    EXPECT_EQ(stage.Overlay()->id, before);
    if (they_end) ASSERT_TRUE(stage.other_program.DeleteEndpoint(pod, "pod1").ok());
    outcome = stage.Drive(they_end ? 10s : 2min);
    EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
    EXPECT_NE(stage.Overlay()->id, before);
  }
}

TEST(OverlayKeeperTest, TheBaseNetworkComesFirstAndStopsNothing) {
  OverlayStage stage;
  stage.spec.base_network = true;
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HcnCreateNetwork", "External")) return std::nullopt;
    return hresult::kUnspecified;
  };
  stage.StartKeeper();
  OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_THAT(stage.api.changes.front(), HasSubstr("External"));
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("may not outlive a reboot")));
  stage.api.calls = 0;
  stage.Round();
  EXPECT_EQ(stage.api.calls, 0u) << "not before its time";
  stage.api.changes.clear();
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_THAT(stage.api.changes, IsEmpty()) << "not before its time";
  stage.api.before = nullptr;
  stage.clock.now =
      std::chrono::duration_cast<emulator::Milliseconds>(outcome.next.value().time_since_epoch());
  outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_EQ(outcome.base_network_id, stage.Named("External").value().id);

  stage.hns.Reboot();
  stage.StartKeeper();
  stage.api.changes.clear();
  outcome = stage.Drive();
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_EQ(outcome.base_network_id, std::nullopt) << "not made by this one";
  EXPECT_THAT(stage.api.changes.front(), HasSubstr("flannel.4096"));
}

// calico#11840: its NIC has another identity after a reboot, and nothing mends it.
TEST(OverlayKeeperTest, ABaseNetworkThatLostItsAdapterIsNamed) {
  OverlayStage stage;
  stage.spec.base_network = true;
  stage.StartKeeper();
  EXPECT_THAT(stage.Drive().notes, IsEmpty());
  emulator::Restart reboot = emulator::kReboot;
  reboot.adapter_ids_new = true;
  stage.hns.Reboot(reboot);
  stage.StartKeeper();
  const auto named =
      ::testing::Contains(AllOf(HasSubstr("the base network External"),
                                HasSubstr("its adapter as gone"), HasSubstr("drain this node")));
  EXPECT_THAT(stage.Drive(1min).notes, named);
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Round().notes, named) << "for as long as it lasts";
}

// A foreign one is used as well, and inspected as well.
TEST(OverlayKeeperTest, AnyNetworkThatKeepsTheSwitchIsInspected) {
  OverlayStage stage;
  Network other = OverlayNetwork(Spec());
  other.name = "ovn";
  other.flags = 0;  // persistent
  ASSERT_TRUE(stage.other_program.Create(other).ok());
  stage.spec.base_network = true;
  stage.StartKeeper();
  EXPECT_THAT(stage.Drive().notes, IsEmpty());
  EXPECT_FALSE(stage.Named("External"));
  emulator::Restart reboot = emulator::kReboot;
  reboot.adapter_ids_new = true;
  stage.hns.Reboot(reboot);
  stage.StartKeeper();
  EXPECT_THAT(stage.Drive(1min).notes,
              ::testing::Contains(AllOf(HasSubstr("the base network ovn does not"),
                                        HasSubstr("with the program that created it"))));
  // One that does keep it is enough.
  ASSERT_TRUE(stage.other_program.Create(BaseNetwork(stage.spec)).ok());
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Drive(1min).notes, IsEmpty());
}

TEST(OverlayKeeperTest, ABaseNetworkThatIsNotDesiredIsNotInspected) {
  for (const bool namesake : {true, false}) {
    OverlayStage stage;
    Network other = OverlayNetwork(Spec());
    other.name = "ovn";
    other.flags = 0;  // persistent
    ASSERT_TRUE(stage.other_program.Create(other).ok());
    stage.spec.node_address = Ip("192.168.1.11");  // and not ovn's
    stage.spec.base_network = namesake;
    if (namesake)
      stage.spec.name = kBaseNetworkName;
    else
      stage.hns.TakeName(stage.spec.name);  // so that all are listed
    stage.StartKeeper();
    EXPECT_THAT(stage.Drive(1min).notes, Not(::testing::Contains(HasSubstr("ovn"))));
  }
}

TEST(OverlayKeeperTest, OnlyAnothersNetworkIsAssumedToBeRightInWhatHnsDoesNotShow) {
  OverlayStage stage({.vsid_shown = false});
  stage.SetRoutes({});
  stage.api.before = [](const Step& step) -> MaybeRefused {
    if (!Says(step, "HNSCall", "/networks/")) return std::nullopt;
    return hresult::kUnspecified;
  };
  stage.Drive();
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Round().notes, IsEmpty());
  stage.StartKeeper();
  EXPECT_THAT(stage.Round().notes, ElementsAre(HasSubstr("the VSID 4096: assumed")));
}

// A foreign network that HNS cannot show: nothing waits for it.
TEST(OverlayKeeperTest, OnlyTheBaseNetworkReadsAllNetworks) {
  for (const bool base : {false, true}) {
    OverlayStage stage;
    Network other = OverlayNetwork(Spec());
    other.name = "vxlan0";
    ASSERT_TRUE(stage.other_program.Create(other).ok());
    const std::string broken = stage.Named("vxlan0")->id.ToString();
    stage.spec.base_network = base;
    stage.api.before = [&](const Step& step) -> MaybeRefused {
      if (!Says(step, "HcnOpenNetwork", broken)) return std::nullopt;
      return hresult::kDegradedOperation;
    };
    stage.StartKeeper();
    const OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
    EXPECT_THAT(outcome.notes, SizeIs(base ? 1 : 0));
    EXPECT_FALSE(stage.Named("External"));
  }
}

TEST(OverlayKeeperTest, SmallBatchesCostMoreCalls) {
  const struct {
    std::uint64_t limit;
    std::size_t calls;
  } rows[] = {{100, 30}, {50, 45}, {1, 1030}};
  for (const auto& row : rows) {
    OverlayStage stage({.batch_limit = row.limit});
    stage.SetRoutes(ManyRoutes(1000));
    EXPECT_EQ(stage.Round().state, row.limit == 1 ? OverlayState::kRoutes : OverlayState::kInSync);
    EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
    EXPECT_LE(stage.api.calls, row.calls) << row.limit;
    RecordProperty("calls with batches of " + std::to_string(row.limit),
                   std::to_string(stage.api.calls));
  }
}

TEST(OverlayKeeperTest, ARoundIsNotMuchLongerThanFiveSeconds) {
  OverlayStage stage({.policy_cost = 700ms});
  stage.SetRoutes(ManyRoutes(50));
  const OverlayOutcome outcome = stage.Round();
  EXPECT_EQ(outcome.state, OverlayState::kRoutes);
  EXPECT_EQ(outcome.sentence, "routes to 50 peers are being written");
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, AnOldHnsIsReportedAndMayBeUpdated) {
  OverlayStage stage({.version = {9, 1}});
  EXPECT_THAT(stage.Round().sentence, HasSubstr("HNS 9.1 knows no remote subnets"));
  stage.hns.Set({.version = {9, 5}});
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
}

TEST(OverlayKeeperTest, ADifferentAdapterOrAddressIsANote) {
  OverlayStage stage;
  stage.Drive();
  stage.spec.adapter = "vEthernet (Ethernet 2)";
  stage.spec.node_address = Ip("192.168.1.11");
  stage.keeper->SetSpec(stage.spec);
  const OverlayOutcome outcome = stage.Drive();
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_THAT(outcome.notes,
              ElementsAre(HasSubstr("is on the adapter Ethernet, not on Ethernet 2"),
                          ::testing::AllOf(HasSubstr("HNS sends from 192.168.1.10"),
                                           HasSubstr("flannel.4096 has both, remove 192.168.1.10"),
                                           HasSubstr("drain and reboot it"))));

  // By its name alone.
  stage.spec = Spec();
  stage.keeper->SetSpec(stage.spec);
  EXPECT_THAT(stage.Drive().notes, IsEmpty());
  stage.spec.adapter = "Ethernet 2";
  stage.keeper->SetSpec(stage.spec);
  EXPECT_THAT(stage.Drive().notes, ElementsAre(HasSubstr("Ethernet, not on Ethernet 2")));
  stage.hns.Set({.adapter_shown = false});
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Drive().notes, IsEmpty());
  stage.hns.Set({});

  // Any adapter is accepted where none was configured.
  stage.spec.adapter = "";
  stage.keeper->SetSpec(stage.spec);
  EXPECT_THAT(stage.Drive().notes, IsEmpty());
}

// The address is read again while HNS answers; it causes no wake-up while HNS is stopped.
TEST(OverlayKeeperTest, ADifferentAddressWaitsForHns) {
  OverlayStage stage;
  stage.spec.node_address = Ip("192.168.1.11");
  stage.StartKeeper();
  EXPECT_EQ(stage.Drive().next, stage.Now() + 1s);
  stage.api.calls = 0;
  stage.Round();
  EXPECT_EQ(stage.api.calls, 0u) << "not before its time";
  stage.clock.now += 1s;
  EXPECT_EQ(stage.Round().next, stage.Now() + 2s);
  stage.hns.Stop();
  stage.keeper->OnServiceGone();
  stage.clock.now += 1800ms;
  EXPECT_EQ(stage.Round().next, stage.Now());
  EXPECT_EQ(stage.Round().next, stage.Now() + 500ms);
}

}  // namespace
}  // namespace weft::hns
