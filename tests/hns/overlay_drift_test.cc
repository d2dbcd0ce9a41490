// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_drift.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/drift_text.h"
#include "tests/hns/overlay_stage.h"
#include "tests/hns/recording_api.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class OverlayInspectTest : public ::testing::Test {
 protected:
  OverlayInspection Inspect() {
    stage.api.calls = 0;
    stage.api.changes.clear();
    Caller caller(stage.api);
    OverlayInspection look = caller.Run(InspectOverlay(stage.spec, stage.routes)).value();
    EXPECT_THAT(stage.api.changes, IsEmpty());
    return look;
  }
  std::string Text() { return CallsText(DriftOf(Inspect(), stage.spec)); }
  // The plan equals the keeper's calls, document by document.
  void ExpectDone(const OverlayInspection& look) {
    std::vector<std::string> planned;
    for (const PlannedCall& call : PlannedCalls(look, stage.spec)) {
      planned.push_back(call.document.empty() ? look.network.existing->id.ToString()
                                              : call.document);
    }
    stage.StartKeeper();
    stage.Drive();
    EXPECT_EQ(stage.api.changes, planned);
    EXPECT_EQ(Text(), "");
  }

  OverlayStage stage;
};

TEST_F(OverlayInspectTest, AnEmptyHns) {
  stage.spec.base_network = true;
  stage.routes = ManyRoutes(201);
  EXPECT_EQ(Text(),
            "create the network External, which keeps the vSwitch across reboots\n"
            "create the network flannel.4096\n"
            "add HostRoute to the network flannel.4096\n"
            "add 1 remote subnet to the network flannel.4096\n"
            "add 30 remote subnets to the network flannel.4096\n"
            "add 60 remote subnets to the network flannel.4096\n"
            "add 110 remote subnets to the network flannel.4096\n");
  ExpectDone(Inspect());
}

TEST_F(OverlayInspectTest, Drift) {
  stage.Drive();
  stage.RemovePolicy(HostRoutePolicy());
  stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.9.0/24")));
  const RemoteSubnetRoute changed = RouteTo("10.244.1.0/24", "0e:2a:00:00:00:99");
  stage.routes.insert_or_assign(changed.destination, changed);
  EXPECT_EQ(Text(),
            "add HostRoute to the network flannel.4096\n"
            "remove 1 remote subnet from the network flannel.4096\n"
            "add 1 remote subnet to the network flannel.4096\n"
            "remove 1 remote subnet from the network flannel.4096\n");
  const Drift drift = DriftOf(Inspect(), stage.spec);
  EXPECT_THAT(drift.differences,
              ElementsAre("HostRoute is missing from the network flannel.4096",
                          AllOf(StartsWith("the route to 10.244.1.0/24 differs from the desired "
                                           "one: by "),
                                ::testing::EndsWith(" with 0e:2a:00:00:00:99")),
                          "the route to 10.244.9.0/24 belongs to no peer or is a duplicate"));
  EXPECT_THAT(drift.objects,
              ElementsAre("HostRoute", "the route to 10.244.1.0/24", "the route to 10.244.9.0/24"));
  ExpectDone(Inspect());
}

// The old route was removed, and the new one refused: that one is not put right.
TEST(RepairedTest, IsWhatNoLongerDiffers) {
  Drift before, after;
  before.Add("the route to 10.244.1.0/24", "differs from the desired one");
  before.Add("the route to 10.244.2.0/24", "is missing");
  after.Add("the route to 10.244.1.0/24", "is missing");
  after.Add("the network External", "is missing");
  EXPECT_THAT(Repaired(before, after), ElementsAre("the route to 10.244.2.0/24 is missing"));
  EXPECT_EQ(Repaired(before, Drift()), before.differences);
}

TEST_F(OverlayInspectTest, AReplacementGivesTheReason) {
  stage.Drive();
  stage.spec.isolation_id = Vsid(4100);
  EXPECT_THAT(Text(), AllOf(StartsWith("delete the network flannel.4096 ("),
                            HasSubstr("VSID 4096 instead of 4100"),
                            HasSubstr("\ncreate the network flannel.4096\n")));
  ExpectDone(Inspect());
}

TEST_F(OverlayInspectTest, ARefusalGivesTheReason) {
  stage.Drive();
  stage.AddPod("pod1", "10.244.3.5");
  stage.spec.isolation_id = Vsid(4100);
  EXPECT_THAT(Text(), AllOf(StartsWith("refused: "), HasSubstr("pod1")));
  EXPECT_THAT(PlannedCalls(Inspect(), stage.spec), IsEmpty());
}

TEST_F(OverlayInspectTest, WithoutHnsItReportsThat) {
  stage.hns.Stop();
  Caller caller(stage.api);
  EXPECT_TRUE(absl::IsUnavailable(caller.Run(InspectOverlay(stage.spec, stage.routes)).status()));
}

TEST_F(OverlayInspectTest, AListThatFailsIsAnErrorIfItIsNeeded) {
  stage.Drive();
  const auto without = [&](std::string_view function) {
    stage.api.before = [=](const WatchedApi::Step& step) -> std::optional<Hresult> {
      if (step.function != function) return std::nullopt;
      return hresult::kUnspecified;
    };
    return Caller(stage.api).Run(InspectOverlay(stage.spec, stage.routes)).status();
  };
  EXPECT_TRUE(without("HcnEnumerateEndpoints").ok()) << "the network is right";
  stage.spec.isolation_id = Vsid(4100);
  for (const char* function : {"HcnEnumerateNetworks", "HcnEnumerateEndpoints"})
    EXPECT_EQ(HresultOf(without(function)), hresult::kUnspecified) << function;
  stage.api.before = nullptr;
}

TEST(FillUnshownTest, OurNetworkIsCompletedFromTheLedgerIfWeftMadeItElseFromSchema1) {
  RecordingApi api;
  Network ours = OverlayNetwork(Spec());
  ours.id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  ours.subnets[0].isolation_id.reset();
  Network other = ours;
  other.name = "other";
  const auto vsid = [&](const Guid& id, bool made) {
    const KnownObject entry{ours.name, id, made, "Overlay 10.244.3.0/24 VSID 5000"};
    return Caller(api).Run(FillUnshown(Spec(), {entry}, {ours, other}))[0].subnets[0].isolation_id;
  };
  EXPECT_EQ(vsid(ours.id, true), 5000u);
  EXPECT_THAT(api.calls, IsEmpty());
  EXPECT_EQ(vsid(ours.id, false), std::nullopt);
  EXPECT_EQ(vsid(Guid(), true), std::nullopt);
  EXPECT_THAT(api.calls, SizeIs(2));
}

}  // namespace
}  // namespace weft::hns
