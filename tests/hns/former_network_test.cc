// SPDX-License-Identifier: Apache-2.0
// Another VNI in net-conf is another network. These tests are about the former one.
#include "hns/former_network.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/drift_text.h"
#include "tests/hns/overlay_stage.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// flannel.4096 exists, made by a keeper; flannel.4097 is desired.
struct ChangeOfVni : OverlayStage {
  explicit ChangeOfVni(emulator::Settings settings = {}) : OverlayStage(settings) {
    EXPECT_EQ(Drive().state, OverlayState::kInSync);
    former = {Overlay().value().id, spec.name};
  }
  void Change() {
    spec.name = "flannel.4097";
    spec.isolation_id = Vsid(4097);
    for (auto& [destination, route] : routes) route.isolation_id = spec.isolation_id;
  }
  // The same process, or a new one that reads the ledger.
  OverlayOutcome Go(bool restart, std::vector<FormerNetwork> made) {
    Change();
    if (restart) {
      StartKeeper();
      keeper->SetFormer(std::move(made));
    } else {
      keeper->SetSpec(spec);
      SetRoutes(routes);
    }
    api.changes.clear();
    return Drive();
  }
  FormerNetwork former;
};

// The ledger of a process that made `endpoints`; it records which of them were deleted.
struct EndpointLedger final : ObjectLedger {
  explicit EndpointLedger(std::vector<KnownObject> made) : endpoints(std::move(made)) {}
  void Forget(const LedgerObject&) override {}
  void Forget(Kind kind, const std::string& name) override {
    if (kind == Kind::kEndpoint) gone.push_back(name);
  }
  std::vector<KnownObject> Objects(Kind kind) override {
    return kind == Kind::kEndpoint ? endpoints : std::vector<KnownObject>();
  }
  std::vector<KnownObject> endpoints;
  std::vector<std::string> gone;
};

TEST(FormerNetworkTest, IsDeletedOnceTheDesiredOneIsInSync) {
  for (const bool restart : {false, true}) {
    ChangeOfVni stage;
    const OverlayOutcome outcome = stage.Go(restart, {stage.former});
    EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
    EXPECT_TRUE(outcome.made);
    EXPECT_THAT(outcome.former, IsEmpty());
    EXPECT_THAT(outcome.notes, IsEmpty());
    EXPECT_FALSE(stage.Named("flannel.4096"));
    EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
    ASSERT_FALSE(stage.api.changes.empty());
    EXPECT_THAT(stage.api.changes.front(), HasSubstr("flannel.4097"));
    EXPECT_THAT(stage.api.changes.back(), HasSubstr(stage.former.id.ToString()))
        << "last of all, so that the switch stays";
  }
}

TEST(FormerNetworkTest, ItsDeletionIsPlanned) {
  ChangeOfVni stage;
  stage.Change();
  stage.StartKeeper();
  const FormerNetwork gone{*Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804"), "flannel.1"};
  stage.keeper->SetFormer({stage.former, gone});
  stage.api.changes.clear();
  const Drift drift = stage.keeper->Inspect().value();
  EXPECT_THAT(stage.api.changes, IsEmpty());
  EXPECT_THAT(CallsText(drift),
              EndsWith("delete the network flannel.4096 (" + stage.former.id.ToString() +
                       "), made for an earlier net-conf\n"));
}

TEST(FormerNetworkTest, StaysUnderRunningPods) {
  for (const bool restart : {false, true}) {
    ChangeOfVni stage;
    const Guid pod = stage.AddPod("pod1", "10.244.3.5");
    OverlayOutcome outcome = stage.Go(restart, {stage.former});
    EXPECT_EQ(outcome.state, OverlayState::kInSync) << "the new one does not wait for it";
    EXPECT_THAT(outcome.former, ElementsAre(stage.former));
    EXPECT_THAT(outcome.notes,
                ElementsAre(AllOf(HasSubstr("flannel.4096"), HasSubstr("1 endpoint is in it"),
                                  HasSubstr("pod1"), HasSubstr("drain this node"))));
    EXPECT_TRUE(stage.Named("flannel.4096"));
    EXPECT_EQ(CallsText(stage.keeper->Inspect().value()), "") << "nor is its end planned";
    stage.api.calls = 0;
    stage.Round();
    EXPECT_EQ(stage.api.calls, 0u) << "nor is it read again before a Recheck";

    ASSERT_TRUE(stage.other_program.DeleteEndpoint(pod, "pod1").ok());
    stage.keeper->Recheck();
    outcome = stage.Drive();
    EXPECT_THAT(outcome.notes, IsEmpty());
    EXPECT_THAT(outcome.former, IsEmpty());
    EXPECT_FALSE(stage.Named("flannel.4096"));
  }
}

TEST(FormerNetworkTest, EndpointsOfKubeProxyAreDeletedWithIt) {
  ChangeOfVni stage;
  Endpoint remote;
  remote.network = stage.former.id;
  remote.ip_configurations = {{Ip("10.244.1.7"), 24}};
  remote.flags = kRemoteEndpoint;
  ASSERT_TRUE(stage.other_program.CreateEndpoint(remote).ok());
  Endpoint source_vip;  // kube-proxy's
  source_vip.network = stage.former.id;
  source_vip.ip_configurations = {{Ip("10.244.3.2"), 24}};
  ASSERT_TRUE(stage.other_program.CreateEndpoint(source_vip).ok());
  EXPECT_THAT(stage.Go(true, {stage.former}).former, IsEmpty());
  EXPECT_FALSE(stage.Named("flannel.4096"));
}

// Objects in it that weft made are deleted with it, by their ids; any other object keeps it.
TEST(FormerNetworkTest, OnlyOurEndpointsAreDeletedWithIt) {
  ChangeOfVni stage;
  const Guid own = stage.AddPod("weft-10.244.3.9", "10.244.3.9");
  const Guid pod = stage.AddPod("pod1", "10.244.3.5");
  const auto ledger = std::make_shared<EndpointLedger>(std::vector<KnownObject>{
      {"weft-10.244.3.9", own, true}, {"pod1", pod, false}, {"pod1", std::nullopt, true}});
  stage.Change();
  stage.keeper = std::make_unique<OverlayKeeper>(stage.api, stage.spec, ledger);
  stage.keeper->SetFormer({stage.former});
  stage.SetRoutes(stage.routes);
  EXPECT_THAT(stage.Drive().notes,
              ElementsAre(AllOf(HasSubstr("1 endpoint is in it"), HasSubstr("(pod1)"))));
  EXPECT_THAT(ledger->gone, IsEmpty());

  ASSERT_TRUE(stage.other_program.DeleteEndpoint(pod, "pod1").ok());
  EXPECT_THAT(CallsText(stage.keeper->Inspect().value()),
              AllOf(HasSubstr("delete the endpoint weft-10.244.3.9\n"),
                    HasSubstr("delete the network flannel.4096 (")));
  stage.api.before = [](const WatchedApi::Step& step) -> std::optional<Hresult> {
    if (step.function != "HcnDeleteEndpoint") return std::nullopt;
    return hresult::kUnspecified;
  };
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Drive().notes,
              ElementsAre(HasSubstr("still exists: delete the endpoint weft-10.244.3.9: E_FAIL")));
  EXPECT_THAT(ledger->gone, IsEmpty());
  EXPECT_TRUE(stage.Named("flannel.4096"));

  stage.api.before = nullptr;
  stage.keeper->Recheck();
  EXPECT_THAT(stage.Drive().notes, IsEmpty());
  EXPECT_THAT(ledger->gone, ElementsAre("weft-10.244.3.9"));
  EXPECT_FALSE(stage.Named("flannel.4096"));
}

// A process that was killed may have made one without learning its id.
TEST(FormerNetworkTest, AnIntendedEndpointIsOursByNameAddressAndBoot) {
  const struct {
    const char* description;
    KnownObject entry;
    bool ours;
  } rows[] = {
      {"the same", {"weft-1", std::nullopt, true, "10.244.3.9", true}, true},
      {"another name", {"weft-2", std::nullopt, true, "10.244.3.9", true}, false},
      {"another address", {"weft-1", std::nullopt, true, "10.244.3.8", true}, false},
      {"another boot", {"weft-1", std::nullopt, true, "10.244.3.9", false}, false},
      {"found, not made", {"weft-1", std::nullopt, false, "10.244.3.9", true}, false},
      {"no address", {"weft-1", std::nullopt, true, "", true}, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    ChangeOfVni stage;
    stage.AddPod("weft-1", "10.244.3.9");
    const auto ledger = std::make_shared<EndpointLedger>(std::vector{row.entry});
    stage.Change();
    stage.keeper = std::make_unique<OverlayKeeper>(stage.api, stage.spec, ledger);
    stage.keeper->SetFormer({stage.former});
    stage.SetRoutes(stage.routes);
    stage.api.answer = [&](const WatchedApi::Step&, Reply& reply) {
      if (row.entry.shape.empty()) absl::StrReplaceAll({{"IpConfigurations", "No"}}, &reply.text);
    };
    EXPECT_EQ(stage.Drive().former.empty(), row.ours);
    EXPECT_EQ(stage.Named("flannel.4096").has_value(), !row.ours);
  }
}

// Its existence and its endpoints must be known before it is deleted.
TEST(FormerNetworkTest, AnUnreadableOneStays) {
  const struct {
    const char* function;
    Hresult code;  // kOk: it succeeds with nonsense
  } rows[] = {{"HcnEnumerateNetworks", hresult::kUnspecified},
              {"HcnEnumerateNetworks", hresult::kOk},
              {"HcnEnumerateEndpoints", hresult::kUnspecified}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.function + (" " + std::to_string(row.code)));
    ChangeOfVni stage;
    const auto concerned = [&](const WatchedApi::Step& step) {
      return step.function == row.function &&
             (step.document.find("flannel.4096") != std::string::npos ||
              step.document.find(stage.former.id.ToString()) != std::string::npos);
    };
    stage.api.before = [&](const WatchedApi::Step& step) -> std::optional<Hresult> {
      if (row.code == hresult::kOk || !concerned(step)) return std::nullopt;
      return row.code;
    };
    stage.api.answer = [&](const WatchedApi::Step& step, Reply& reply) {
      if (concerned(step)) reply.text = "nonsense";
    };
    const OverlayOutcome outcome = stage.Go(true, {stage.former});
    EXPECT_EQ(outcome.state, OverlayState::kInSync);
    EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("still exists: list the ")));
    EXPECT_THAT(outcome.former, ElementsAre(stage.former));
    EXPECT_TRUE(stage.Named("flannel.4096"));
    EXPECT_FALSE(stage.keeper->Inspect().ok());
  }
}

TEST(FormerNetworkTest, TheDesiredNetworkIsNoFormerOne) {
  OverlayStage stage;
  stage.Drive();
  const Guid id = stage.Overlay()->id;
  stage.keeper->SetFormer({{id, stage.spec.name}});
  stage.api.changes.clear();
  EXPECT_THAT(stage.Drive().former, IsEmpty());
  EXPECT_THAT(stage.api.changes, IsEmpty());
}

TEST(FormerNetworkTest, StaysUntilTheDesiredOneIsInSync) {
  ChangeOfVni stage;
  stage.Change();
  stage.keeper = std::make_unique<OverlayKeeper>(stage.api, stage.spec);
  stage.keeper->SetFormer({stage.former});
  EXPECT_EQ(stage.Round().state, OverlayState::kRoutes) << "the peers are not known yet";
  EXPECT_TRUE(stage.Named("flannel.4096"));
  stage.SetRoutes(stage.routes);
  EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
  EXPECT_FALSE(stage.Named("flannel.4096"));
}

TEST(FormerNetworkTest, AForeignOneIsIgnored) {
  ChangeOfVni stage;
  // Without an entry in the ledger: upstream's, adopted by us.
  EXPECT_EQ(stage.Go(true, {}).state, OverlayState::kInSync);
  EXPECT_TRUE(stage.Named("flannel.4096"));

  // Ours was deleted, and another program made one of that name.
  ChangeOfVni other;
  ASSERT_TRUE(other.other_program.DeleteNetwork(other.former.id, "").ok());
  ASSERT_TRUE(other.other_program.Create(OverlayNetwork(Spec())).ok());
  EXPECT_THAT(other.Go(true, {other.former}).former, IsEmpty());
  EXPECT_TRUE(other.Named("flannel.4096"));
  EXPECT_THAT(other.api.changes, Not(Contains(other.former.id.ToString())));
}

TEST(FormerNetworkTest, AnAdoptedOneIsNotMadeByTheKeeper) {
  OverlayStage stage;
  ASSERT_TRUE(stage.other_program.Create(OverlayNetwork(stage.spec)).ok());
  EXPECT_FALSE(stage.Drive().made);
  stage.spec.name = "flannel.4097";
  stage.keeper->SetSpec(stage.spec);
  EXPECT_TRUE(stage.Drive().made);
  EXPECT_TRUE(stage.Named("flannel.4096"));
}

TEST(FormerNetworkTest, ChangedAndChangedBack) {
  ChangeOfVni stage;
  stage.AddPod("pod1", "10.244.3.5");
  EXPECT_THAT(stage.Go(false, {}).former, ElementsAre(stage.former));
  stage.spec = Spec();
  stage.keeper->SetSpec(stage.spec);
  const OverlayOutcome outcome = stage.Drive();
  EXPECT_EQ(outcome.network_id, stage.former.id) << "the pod's network was kept";
  EXPECT_TRUE(outcome.made);
  EXPECT_THAT(outcome.former, IsEmpty());
  EXPECT_FALSE(stage.Named("flannel.4097"));
}

// It is unknown whether real HNS accepts two overlay networks with one subnet.
TEST(FormerNetworkTest, IsDeletedFirstWhereHnsAcceptsNoSecondOne) {
  ChangeOfVni empty({.overlapping_subnets_accepted = false});
  EXPECT_EQ(empty.Go(true, {empty.former}).state, OverlayState::kInSync);
  EXPECT_FALSE(empty.Named("flannel.4096"));
  EXPECT_TRUE(empty.Named("flannel.4097"));

  ChangeOfVni stage({.overlapping_subnets_accepted = false});
  stage.AddPod("pod1", "10.244.3.5");
  const OverlayOutcome outcome = stage.Go(true, {stage.former});
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.notes, ElementsAre(HasSubstr("pod1"))) << "the obstacle is reported";
  EXPECT_THAT(outcome.sentence, HasSubstr("HCN_E_INVALID_SUBNET"));
  EXPECT_GT(outcome.next, stage.Now()) << "there was nothing to make room";
  EXPECT_TRUE(stage.Named("flannel.4096"));
}

TEST(FormerNetworkTest, StaysWhereHnsRefusesTheDesiredOneForAnotherReason) {
  ChangeOfVni stage;
  stage.api.before = [](const WatchedApi::Step& step) -> std::optional<Hresult> {
    if (step.function != "HcnCreateNetwork") return std::nullopt;
    return hresult::kUnspecified;
  };
  EXPECT_EQ(stage.Go(true, {stage.former}).state, OverlayState::kNetwork);
  EXPECT_TRUE(stage.Named("flannel.4096"));
}

// The same of one VSID: E_INVALIDARG, which may be about the adapter, too.
TEST(FormerNetworkTest, IsDeletedBeforeHnsChoosesTheAdapter) {
  ChangeOfVni stage({.same_vsid_accepted = false});
  stage.spec.name = "another name";
  stage.StartKeeper();
  stage.keeper->SetFormer({stage.former});
  std::size_t without = 0;
  stage.api.before = [&](const WatchedApi::Step& step) -> std::optional<Hresult> {
    const auto contains = [&](const char* what) {
      return step.document.find(what) != std::string::npos;
    };
    if (step.function == "HcnCreateNetwork" && !contains("NetAdapterName") &&
        !contains("ProviderAddress"))
      ++without;
    return std::nullopt;
  };
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_FALSE(stage.Named("flannel.4096"));
  EXPECT_EQ(without, 0u);
}

TEST(FormerNetworkTest, ARefusedDeleteIsANoteUntilItSucceeds) {
  ChangeOfVni stage;
  stage.api.before = [&](const WatchedApi::Step& step) -> std::optional<Hresult> {
    if (step.function != "HcnDeleteNetwork") return std::nullopt;
    return hresult::kSharedSwitchModification;
  };
  OverlayOutcome outcome = stage.Go(true, {stage.former});
  EXPECT_EQ(outcome.state, OverlayState::kInSync);
  EXPECT_THAT(outcome.notes, ElementsAre(AllOf(HasSubstr("flannel.4096"), HasSubstr("still exists"),
                                               HasSubstr("SHARED_SWITCH"))));
  stage.api.before = nullptr;
  stage.keeper->Recheck();
  outcome = stage.Drive();
  EXPECT_THAT(outcome.notes, IsEmpty());
  EXPECT_FALSE(stage.Named("flannel.4096"));
}

TEST(FormerNetworkTest, HnsMayStopDuringIt) {
  ChangeOfVni stage;
  bool first = true;
  stage.api.before = [&](const WatchedApi::Step& step) -> std::optional<Hresult> {
    if (step.function != "HcnDeleteNetwork" || !std::exchange(first, false)) return std::nullopt;
    return hresult::kRpcCallFailed;
  };
  const OverlayOutcome outcome = stage.Go(true, {stage.former});
  EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
  EXPECT_FALSE(stage.Named("flannel.4096"));

  // The same while it makes room: that is no refusal of the new one.
  ChangeOfVni room({.overlapping_subnets_accepted = false});
  first = true;
  room.api.before = stage.api.before;
  room.Change();
  room.StartKeeper();
  room.keeper->SetFormer({room.former});
  EXPECT_EQ(room.Round().state, OverlayState::kHns);
  EXPECT_EQ(room.Drive().state, OverlayState::kInSync);
}

TEST(FormerNetworkTest, OfManyInhabitantsThreeAreNamed) {
  const FormerNetwork former{Guid(), "flannel.4096"};
  EXPECT_THAT(LeftText(former, {"a", "b", "c"}), HasSubstr("3 endpoints are in it (a, b, c);"));
  EXPECT_THAT(LeftText(former, {"a", "b", "c", "d"}),
              HasSubstr("4 endpoints are in it (a, b, c, ...);"));
}

}  // namespace
}  // namespace weft::hns
