// SPDX-License-Identifier: Apache-2.0
#include "hns/api/renewed_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/hns/recording_api.h"

namespace weft::hns {
namespace {

using ::testing::ElementsAre;

constexpr Hresult kUnserved = hresult::kRpcCallFailedDne;
const Guid kRenewedId = *Guid::Parse("00000100-0000-4000-8000-000000000001");

// One of the Apis that were opened, which outlives what was made of it.
class Borrowed final : public Api {
 public:
  explicit Borrowed(Api& api) : api_(api) {}
  Reply Make(const ApiCall& call) override { return api_.Make(call); }

 private:
  Api& api_;
};

class RenewedApiTest : public ::testing::Test {
 protected:
  // `times` answers of `function`, as a process gets them that HNS no longer serves.
  void RefuseNext(int times, std::string_view function = "HcnEnumerateNetworks") {
    while (times-- > 0) opened_.back().AnswerCode(function, kUnserved);
  }
  Hresult QueryNetwork() { return api_.Enumerate(Kind::kNetwork, "").code; }

  std::deque<RecordingApi> opened_;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  RenewedApi api_{[this] { return std::make_unique<Borrowed>(opened_.emplace_back()); },
                  [this] { return now_; }};
};

TEST_F(RenewedApiTest, OpensAgainAfterTwoCallsThatWereNotServed) {
  RefuseNext(2);
  EXPECT_THAT((std::vector{QueryNetwork(), QueryNetwork(), QueryNetwork()}),
              ElementsAre(kUnserved, kUnserved, hresult::kOk));
  ASSERT_EQ(opened_.size(), 2u);
  EXPECT_EQ(opened_[0].calls.size(), 2u);
  EXPECT_EQ(opened_[1].calls.size(), 1u);
}

TEST_F(RenewedApiTest, OneFailureMayBeTheConnectionsEnd) {
  RefuseNext(1);
  QueryNetwork();
  QueryNetwork();
  RefuseNext(1);
  QueryNetwork();
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 1u);
}

TEST_F(RenewedApiTest, OtherFailuresDoNotCount) {
  for (int times = 0; times < 3; ++times)
    opened_.back().AnswerCode("HcnEnumerateNetworks", hresult::kRpcServerUnavailable);
  for (int times = 0; times < 4; ++times) QueryNetwork();
  EXPECT_EQ(opened_.size(), 1u);
}

TEST_F(RenewedApiTest, WaitsUntilNothingIsOpen) {
  const Handle network = api_.Open(Kind::kNetwork, kRenewedId).handle;
  const Handle subscription = api_.Subscribe(nullptr).handle;
  ASSERT_TRUE(network != Handle::kNone && subscription != Handle::kNone);
  RefuseNext(4);
  QueryNetwork();
  QueryNetwork();
  api_.Close(Kind::kNetwork, network);
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 1u) << "the subscription is still open";
  api_.Unsubscribe(subscription);
  now_ += RenewedApi::kRest;
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 2u);
}

TEST_F(RenewedApiTest, RestsAfterASubscriptionsEnd) {
  const Handle subscription = api_.Subscribe(nullptr).handle;
  RefuseNext(4);
  QueryNetwork();
  QueryNetwork();
  api_.Unsubscribe(subscription);
  QueryNetwork();
  now_ += RenewedApi::kRest - std::chrono::milliseconds(1);
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 1u);
  now_ += std::chrono::milliseconds(1);
  EXPECT_EQ(QueryNetwork(), hresult::kOk);
  EXPECT_EQ(opened_.size(), 2u);
}

TEST_F(RenewedApiTest, AHandleFromBeforeARestartDoesNotCount) {
  const Handle network = api_.Open(Kind::kNetwork, kRenewedId).handle;
  RefuseNext(2, "HcnQueryNetworkProperties");
  RefuseNext(2, "HcnModifyNetwork");
  api_.Query(Kind::kNetwork, network, "");
  api_.Query(Kind::kNetwork, network, "");
  api_.Modify(Kind::kNetwork, network, "");
  api_.Modify(Kind::kNetwork, network, "");
  api_.Close(Kind::kNetwork, network);
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 1u);
}

TEST_F(RenewedApiTest, AHandleThatIsNotOpenMayBeClosed) {
  api_.Close(Kind::kNetwork, Handle{7});
  RefuseNext(2);
  QueryNetwork();
  QueryNetwork();
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 2u);
}

TEST_F(RenewedApiTest, OpensAgainWhereTheNewOneIsNotServedEither) {
  RefuseNext(2);
  QueryNetwork();
  QueryNetwork();
  QueryNetwork();
  RefuseNext(2);
  QueryNetwork();
  QueryNetwork();
  QueryNetwork();
  EXPECT_EQ(opened_.size(), 3u);
}

}  // namespace
}  // namespace weft::hns
