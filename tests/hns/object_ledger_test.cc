// SPDX-License-Identifier: Apache-2.0
// What the keepers enter in their ledger, and when.
#include "hns/object_ledger.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hns/base_network.h"
#include "hns/bridge_machine.h"
#include "tests/hns/overlay_stage.h"
#include "tests/hns/recording_api.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// Each line once in a row, after the number of changes requested from HNS so far.
class Lines final : public ObjectLedger {
 public:
  explicit Lines(WatchedApi& api) : api_(api) {}
  void Intend(const LedgerObject& object) override {
    Add(absl::StrCat("intend ", object.name, ": ", object.shape));
  }
  void Forget(const LedgerObject& object) override { Add("refused " + object.name); }
  void Confirm(const LedgerObject& object, const Guid& id) override {
    Add(absl::StrCat("confirm ", object.name, ": ", object.shape));
    ids[object.name] = id;
  }
  void Forget(Kind, const std::string& name) override { Add("forget " + name); }
  std::vector<KnownObject> Objects(Kind kind) override {
    return kind == Kind::kNetwork ? entries : std::vector<KnownObject>();
  }

  std::vector<std::string> lines;
  std::vector<KnownObject> entries;
  std::map<std::string, Guid> ids;

 private:
  void Add(const std::string& line) {
    if (!lines.empty() && lines.back().ends_with(" " + line)) return;
    lines.push_back(absl::StrCat(api_.changes.size(), " ", line));
  }
  WatchedApi& api_;
};

class OverlayLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }
  void Start() {
    ledger->lines.clear();
    stage.api.changes.clear();
    stage.keeper = std::make_unique<OverlayKeeper>(stage.api, stage.spec, ledger);
    hns::SetRoutes(*stage.keeper, {}, true);
  }

  OverlayStage stage;
  const std::shared_ptr<Lines> ledger = std::make_shared<Lines>(stage.api);
};

TEST_F(OverlayLedgerTest, BeforeAndAfterTheCreate) {
  stage.Round();
  EXPECT_THAT(ledger->lines,
              ElementsAre("0 intend flannel.4096: Overlay 10.244.3.0/24 VSID 4096",
                          "1 confirm flannel.4096: Overlay 10.244.3.0/24 VSID 4096"));
  EXPECT_EQ(ledger->ids["flannel.4096"], stage.Overlay()->id);
}

// An incompletely shown network stays ours, whichever of the two ways reads it first.
TEST_F(OverlayLedgerTest, OursIsEnteredWithTheShapeOfItsCreation) {
  for (const bool read_again : {false, true}) {
    SCOPED_TRACE(read_again);
    stage.hns.Set({.vsid_shown = false});
    stage.spec.port = 8472;
    stage.spec.name = read_again ? "flannel.2" : "flannel.1";
    Start();
    stage.api.before = [this, read_again, done = false](const WatchedApi::Step& step) mutable {
      std::optional<Hresult> refused;
      if (read_again && !done && step.function == "HcnQueryNetworkProperties" &&
          !stage.api.changes.empty()) {
        done = true;
        refused = hresult::kUnspecified;
      }
      return refused;
    };
    stage.Round();
    stage.Round();
    // Later notifications add nothing: its id is known by then.
    const auto first = std::find_if(
        ledger->lines.begin(), ledger->lines.end(),
        [](const std::string& line) { return line.find(" confirm ") != std::string::npos; });
    ASSERT_NE(first, ledger->lines.end());
    EXPECT_THAT(*first, ::testing::EndsWith("Overlay 10.244.3.0/24 VSID 4096 port 8472"));
  }
}

TEST_F(OverlayLedgerTest, AFoundNetworkIsNotEnteredAsMade) {
  stage.Round();
  Start();
  stage.Round();
  EXPECT_THAT(ledger->lines,
              ElementsAre("0 confirm flannel.4096: Overlay 10.244.3.0/24 VSID 4096"));
}

TEST_F(OverlayLedgerTest, TheBaseNetworkIsEnteredToo) {
  stage.spec.base_network = true;
  Start();
  stage.Round();
  EXPECT_THAT(ledger->lines,
              ElementsAre("0 intend External: Overlay 192.168.255.0/30 VSID 9999",
                          "1 confirm External: Overlay 192.168.255.0/30 VSID 9999",
                          "1 intend flannel.4096: Overlay 10.244.3.0/24 VSID 4096",
                          "2 confirm flannel.4096: Overlay 10.244.3.0/24 VSID 4096"));
}

TEST_F(OverlayLedgerTest, ARefusalMadeNothingAndADisconnectIsUnknown) {
  stage.spec.by_address = false;  // one way only
  Start();
  emulator::Fault fault{.function = "HcnCreateNetwork", .code = hresult::kAdapterNotFound};
  stage.hns.Add(fault);
  stage.Round();
  EXPECT_THAT(ledger->lines.back(), ::testing::HasSubstr("refused flannel.4096"));
  Start();
  fault.code = hresult::kManagerStopped;
  fault.done = true;
  stage.hns.Add(fault);
  stage.Round();
  EXPECT_THAT(ledger->lines, SizeIs(1)) << "the entry stays: it may have been made";
  stage.Drive();
  EXPECT_THAT(ledger->lines.back(), ::testing::HasSubstr("confirm flannel.4096"));
}

TEST_F(OverlayLedgerTest, AReplacementForgetsBeforeItIntends) {
  stage.Round();
  stage.spec.isolation_id = Vsid(4100);
  Start();
  stage.Round();
  EXPECT_THAT(
      ledger->lines,
      ElementsAre("1 forget flannel.4096", "1 intend flannel.4096: Overlay 10.244.3.0/24 VSID 4100",
                  "2 confirm flannel.4096: Overlay 10.244.3.0/24 VSID 4100"));
}

TEST_F(OverlayLedgerTest, OtherEnteredNetworksAreSearched) {
  ledger->entries = {{"flannel.4096", std::nullopt, true},
                     {"flannel.5000", std::nullopt, true},
                     {"External", std::nullopt, true}};
  ASSERT_TRUE(stage.other_program.Create(BaseNetwork(stage.spec)).ok());
  stage.Round();
  EXPECT_THAT(ledger->lines,
              ElementsAre("0 confirm External: Overlay 192.168.255.0/30 VSID 9999",
                          "0 intend flannel.4096: Overlay 10.244.3.0/24 VSID 4096",
                          "1 confirm flannel.4096: Overlay 10.244.3.0/24 VSID 4096"));
}

// Another's may have its name.
TEST_F(OverlayLedgerTest, AnIntendedOneIsFoundByItsNameAndShape) {
  const auto confirmed = [&](Api& api, const KnownObject& entry, const char* desired) {
    ledger->ids.clear();
    ledger->entries = {entry};
    Caller(api).Run(ConfirmIntended(*ledger, desired));
    return ledger->ids;
  };
  ASSERT_TRUE(stage.other_program.Create(OverlayNetwork(Spec())).ok());
  const Guid id = stage.Overlay()->id;
  const KnownObject intended{"flannel.4096", std::nullopt, true};
  EXPECT_THAT(confirmed(stage.api, intended, "x"), ElementsAre(Pair("flannel.4096", id)));
  EXPECT_THAT(confirmed(stage.api, intended, "flannel.4096"), IsEmpty());
  EXPECT_THAT(confirmed(stage.api, {"flannel.4096", Guid(), true}, "x"), IsEmpty());
  stage.api.before = [](const WatchedApi::Step&) { return hresult::kUnspecified; };
  EXPECT_THAT(confirmed(stage.api, intended, "x"), IsEmpty());

  RecordingApi two;
  const std::string ours = id.ToString(), theirs = "55fedb88-4b11-4da4-8cd1-59970718a804";
  two.AnswerText("HcnEnumerateNetworks", absl::StrCat("[\"", theirs, "\",\"", ours, "\"]"));
  for (const auto& [each, type] : {std::pair(theirs, "NAT"), std::pair(ours, "L2Bridge")}) {
    two.AnswerText("HcnQueryNetworkProperties",
                   absl::StrCat(R"({"ID":")", each, R"(","Name":"n","Type":")", type, R"("})"));
  }
  EXPECT_THAT(confirmed(two, {"n", std::nullopt, true, "L2Bridge"}, "x"),
              ElementsAre(Pair("n", id)));
}

TEST_F(OverlayLedgerTest, OthersAreFoundInAListOfAllByTheirNamesAndIds) {
  stage.spec.base_network = true;
  std::vector<Guid> ids;
  for (const char* name : {"a", "b", "c"}) {
    Network other = OverlayNetwork(Spec());
    other.name = name;
    ASSERT_TRUE(stage.other_program.Create(other).ok());
    ids.push_back(stage.Named(name)->id);
  }
  Start();
  stage.Round();
  const Guid base = stage.Named("External").value().id;
  stage.api.answer = [](const WatchedApi::Step&, Reply& reply) {
    for (const char* name : {R"("Name":"a")", R"("Name":"b")", R"("Name":"c")"})
      absl::StrReplaceAll({{name, R"("Name":"n")"}}, &reply.text);
  };
  for (const Guid& id : ids) {
    ledger->entries = {{"n", id, false}, {"x", std::nullopt, false}, {"External", base, true}};
    stage.keeper->Recheck();
    EXPECT_EQ(stage.Round().state, OverlayState::kInSync);
    EXPECT_EQ(ledger->ids["n"], id);
  }
  EXPECT_EQ(ledger->ids.count("x"), 0u);
  EXPECT_EQ(stage.Named("External").value().id, base) << "it is no former one";
}

// At boot HNS answers before it lists what outlived the boot.
TEST_F(OverlayLedgerTest, OneThatIsNotListedIsForgottenAfterTenMinutes) {
  const auto gone = Contains(HasSubstr("forget flannel.5000"));
  ledger->entries = {{"flannel.5000", std::nullopt, true}};
  const auto poll = [&](std::chrono::minutes later) {
    stage.clock.now += later;
    stage.keeper->Recheck();
    stage.Round();
  };
  poll(std::chrono::minutes(0));
  poll(std::chrono::minutes(9));
  EXPECT_THAT(ledger->lines, Not(gone));
  Network restored = OverlayNetwork(Spec());
  restored.name = "flannel.5000";
  const auto made = stage.other_program.Create(restored);
  ASSERT_TRUE(made.ok()) << made.status();
  poll(std::chrono::minutes(9));
  EXPECT_THAT(ledger->lines, Contains(HasSubstr("confirm flannel.5000")));
  const Guid id = stage.Named("flannel.5000").value().id;
  ASSERT_TRUE(stage.other_program.DeleteNetwork(id, "flannel.5000").ok());
  poll(std::chrono::minutes(0));
  poll(std::chrono::minutes(9));
  EXPECT_THAT(ledger->lines, Not(gone)) << "it was there meanwhile";
  poll(std::chrono::minutes(1));
  EXPECT_THAT(ledger->lines, gone);
}

TEST_F(OverlayLedgerTest, ANetworkOfAnEarlierProcessUnderAnotherNameIsDeleted) {
  for (const bool made : {true, false}) {
    OverlayStage other_stage;
    other_stage.Drive();
    const auto known = std::make_shared<Lines>(other_stage.api);
    known->entries = {{"flannel.4096", other_stage.Overlay()->id, made}};
    other_stage.spec.name = "flannel.4097";
    other_stage.spec.isolation_id = Vsid(4097);
    other_stage.keeper = std::make_unique<OverlayKeeper>(other_stage.api, other_stage.spec, known);
    other_stage.SetRoutes({});
    EXPECT_EQ(other_stage.Drive().state, OverlayState::kInSync);
    EXPECT_NE(other_stage.Named("flannel.4096").has_value(), made);
    EXPECT_EQ(known->lines.back().ends_with("forget flannel.4096"), made);
  }
}

// Nothing is known of one that cannot be listed; one that was made again is entered by its new id,
// and is no longer ours to delete.
TEST_F(OverlayLedgerTest, AnotherThatCannotBeListedOrHasAnotherId) {
  const Guid before = *Guid::Parse("00000100-0000-4000-8000-000000000001");
  ledger->entries = {{"flannel.4097", before, true}};
  Network other = OverlayNetwork(Spec());
  other.name = "flannel.4097";
  ASSERT_TRUE(stage.other_program.Create(other).ok());
  stage.api.before = [](const WatchedApi::Step& step) -> std::optional<Hresult> {
    if (step.document.find("flannel.4097") == std::string::npos) return std::nullopt;
    return hresult::kUnspecified;
  };
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(ledger->ids.count("flannel.4097"), 0u);
  stage.api.before = nullptr;
  stage.keeper->Recheck();
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
  EXPECT_EQ(ledger->ids["flannel.4097"], stage.Named("flannel.4097").value().id);
  EXPECT_THAT(ledger->lines, Not(Contains(HasSubstr("forget "))));
}

// Found again at each read, it is former once; the desired one never is.
TEST_F(OverlayLedgerTest, EachFormerOnceAndNotTheDesiredOne) {
  stage.Round();
  const Guid id = stage.Overlay()->id;
  stage.AddPod("pod1", "10.244.3.5");
  stage.hns.Set({.management_ip = std::chrono::minutes(20)});
  stage.spec.name = "flannel.4097";
  stage.spec.isolation_id = Vsid(4097);
  Start();
  ledger->entries = {{"flannel.4096", id, true}};
  for (int rounds = 0; rounds < 2; ++rounds) {
    const OverlayOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, OverlayState::kManagementIp);
    EXPECT_THAT(outcome.former, ElementsAre(FormerNetwork{id, "flannel.4096"}));
    ledger->entries = {{"flannel.4096", id, true}, {"flannel.4097", stage.Overlay()->id, true}};
    stage.keeper->Recheck();
  }
}

TEST(ShapeTest, HasWhatHnsDoesNotShow) {
  OverlaySpec spec = Spec();
  for (const std::uint16_t port : {std::uint16_t{4789}, std::uint16_t{8472}}) {
    spec.port = port;
    const std::string shape = ShapeOf(OverlayNetwork(spec));
    EXPECT_EQ(shape, port == 4789 ? "Overlay 10.244.3.0/24 VSID 4096"
                                  : "Overlay 10.244.3.0/24 VSID 4096 port 8472");
    Network shown = OverlayNetwork(spec);
    shown.policies.clear();
    shown.subnets[0].isolation_id.reset();
    FillFromShape(shape, shown);
    EXPECT_EQ(shown.subnets[0].isolation_id, 4096u);
    EXPECT_EQ(shown.vxlan_port(), port);
  }
  Network usual = OverlayNetwork(Spec());
  usual.policies = {VxlanPortPolicy(4789)};
  EXPECT_EQ(ShapeOf(usual), "Overlay 10.244.3.0/24 VSID 4096");
}

TEST(ShapeTest, ReplacesNothingThatIsShownAndNonsenseFillsInNothing) {
  Network network = OverlayNetwork(Spec());
  network.policies = {VxlanPortPolicy(8472)};
  FillFromShape("Overlay 10.244.3.0/24 VSID 5000 port 4790", network);
  EXPECT_EQ(network.subnets[0].isolation_id, 4096u);
  EXPECT_THAT(network.policies, ElementsAre(VxlanPortPolicy(8472)));
  network.policies.clear();
  network.subnets[0].isolation_id.reset();
  FillFromShape("Overlay 10.244.3.0/24 VSID x port 70000", network);
  EXPECT_EQ(network.subnets[0].isolation_id, std::nullopt);
  EXPECT_EQ(network.vxlan_port(), std::nullopt);
  FillFromShape("port 77", network);
  EXPECT_EQ(network.subnets[0].isolation_id, std::nullopt);
  EXPECT_EQ(network.vxlan_port(), 4789);
  network.policies.clear();
  network.subnets.clear();
  EXPECT_EQ(ShapeOf(network), "Overlay");
  FillFromShape("Overlay 10.244.3.0/24 VSID 4096", network);
  EXPECT_THAT(network.policies, IsEmpty());
}

// Otherwise a network that HNS shows otherwise than it was made would be deleted without end.
TEST_F(OverlayLedgerTest, ANetworkMadeSinceBootIsNotReplaced) {
  OverlaySpec other = stage.spec;
  other.isolation_id = Vsid(4100);
  const auto opened = stage.other_program.Create(OverlayNetwork(other));
  ASSERT_TRUE(opened.ok());
  const auto entry = [&](bool made, bool this_boot, const OverlaySpec& as) {
    return KnownObject{"flannel.4096", std::nullopt, made, ShapeOf(OverlayNetwork(as)), this_boot};
  };
  stage.api.changes.clear();
  ledger->entries = {entry(true, true, stage.spec)};
  const OverlayOutcome outcome = stage.Drive(1min);
  EXPECT_EQ(outcome.state, OverlayState::kNetwork);
  EXPECT_THAT(outcome.sentence,
              AllOf(HasSubstr("VSID 4100 instead of 4096"), HasSubstr("not replaced again")));
  EXPECT_THAT(stage.api.changes, IsEmpty());
  for (const KnownObject& allowed :
       {entry(true, false, stage.spec), entry(false, true, stage.spec), entry(true, true, other),
        KnownObject{"flannel.9", std::nullopt, true, ShapeOf(OverlayNetwork(stage.spec)), true}}) {
    ledger->entries = {allowed};
    Start();
    EXPECT_EQ(stage.Drive(1min).state, OverlayState::kInSync);
    ASSERT_TRUE(stage.other_program.DeleteNetwork(stage.Overlay()->id, "flannel.4096").ok());
    ASSERT_TRUE(stage.other_program.Create(OverlayNetwork(other)).ok());
  }
}

TEST(BridgeLedgerTest, NetworkAndEndpoint) {
  OverlayStage stage;
  stage.api.changes.clear();
  const auto ledger = std::make_shared<Lines>(stage.api);
  const BridgeSpec spec{.name = "cbr0",
                        .subnet = Cidr("10.244.3.0/24"),
                        .dns_servers = "",
                        .node_address = Ip("192.168.1.10")};
  BridgeKeeper keeper(stage.api, spec, ledger);
  for (int rounds = 0; rounds < 10; ++rounds) {
    stage.clock.now += std::chrono::seconds(30);
    keeper.Round(stage.Now());
  }
  EXPECT_THAT(
      ledger->lines,
      ElementsAre("0 intend cbr0: L2Bridge 10.244.3.0/24", "1 confirm cbr0: L2Bridge 10.244.3.0/24",
                  "1 intend cbr0_ep: 10.244.3.2", "2 confirm cbr0_ep: 10.244.3.2"));
  EXPECT_EQ(ShapeOf(*stage.Named("cbr0")), "L2Bridge 10.244.3.0/24") << "as reset will see it";

  const auto again = std::make_shared<Lines>(stage.api);
  BridgeKeeper next(stage.api, spec, again);
  next.Round(stage.Now());
  EXPECT_THAT(again->lines, SizeIs(2)) << "both are found";
  EXPECT_EQ(again->ids, ledger->ids);
}

}  // namespace
}  // namespace weft::hns
