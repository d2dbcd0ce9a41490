// SPDX-License-Identifier: Apache-2.0
// Calls as values; a decorator passes them on unchanged.
#include "hns/api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hns/recording_api.h"
#include "tests/support/counting_api.h"

namespace weft::hns {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const Guid kNetworkId = *Guid::Parse("00000100-0000-4000-8000-000000000001");

// Every function once, of the network where there is a choice.
void CallEach(Api& api) {
  api.Enumerate(Kind::kNetwork, "q");
  const Handle network = api.Create(Kind::kNetwork, Handle::kNone, kNetworkId, "s").handle;
  const Handle endpoint = api.Create(Kind::kEndpoint, network, kNetworkId, "e").handle;
  const Handle again = api.Open(Kind::kNetwork, kNetworkId).handle;
  api.Modify(Kind::kNetwork, again, "m");
  api.Query(Kind::kNetwork, again, "p");
  api.Close(Kind::kNetwork, again);
  api.Close(Kind::kEndpoint, endpoint);
  api.Delete(Kind::kNetwork, kNetworkId);
  api.Call("GET", "/globals/version", "");
  api.Call("POST", "/networks/", "{}");
  api.Call("DELETE", "/networks/1", "");
  const Handle subscription = api.Subscribe(nullptr).handle;
  api.Unsubscribe(subscription);
}

TEST(CountingApiTest, PassesEveryCallOn) {
  RecordingApi direct, behind;
  CountingApi counting(behind);
  CallEach(direct);
  CallEach(counting);
  EXPECT_EQ(behind.calls, direct.calls);
  EXPECT_EQ(behind.calls.size(), 14u);
  EXPECT_EQ(behind.open, direct.open);
}

TEST(CountingApiTest, PassesEveryAnswerBack) {
  RecordingApi behind;
  CountingApi counting(behind);
  Reply reply;
  reply.code = hresult::kInvalidJson;
  reply.text = "text";
  reply.error_record = "record";
  behind.Answer("HcnModifyNetwork", reply);
  behind.AnswerCode("HcnCloseNetwork", hresult::kInvalidHandle);
  const Reply got = counting.Modify(Kind::kNetwork, Handle{7}, "m");
  EXPECT_EQ(got.code, hresult::kInvalidJson);
  EXPECT_EQ(got.text, "text");
  EXPECT_EQ(got.error_record, "record");
  EXPECT_EQ(counting.Close(Kind::kNetwork, Handle{7}), hresult::kInvalidHandle);
}

TEST(CountingApiTest, CountsByFunctionAndWhatChangesHns) {
  RecordingApi behind;
  CountingApi counting(behind);
  CallEach(counting);
  const CallCounts counts = counting.counts();
  EXPECT_EQ(counts.total, 14u);
  EXPECT_EQ(counts.modifying, 6u);  // two Creates, Modify, Delete, POST, DELETE
  EXPECT_THAT(
      counts.by_function,
      ElementsAre(Pair("HNSCall", 3u), Pair("HcnCloseEndpoint", 1u), Pair("HcnCloseNetwork", 1u),
                  Pair("HcnCreateEndpoint", 1u), Pair("HcnCreateNetwork", 1u),
                  Pair("HcnDeleteNetwork", 1u), Pair("HcnEnumerateNetworks", 1u),
                  Pair("HcnModifyNetwork", 1u), Pair("HcnOpenNetwork", 1u),
                  Pair("HcnQueryNetworkProperties", 1u), Pair("HcnRegisterServiceCallback", 1u),
                  Pair("HcnUnregisterServiceCallback", 1u)));
}

TEST(ApiCallTest, NamesItsFunctionAndItsObject) {
  const std::string id = kNetworkId.ToString();
  const struct {
    ApiCall call;
    std::string function, object;
    bool modifying, releasing;
  } rows[] = {
      {{.operation = Operation::kEnumerate, .kind = Kind::kEndpoint, .text = "q"},
       "HcnEnumerateEndpoints",
       "q",
       false,
       false},
      {{.operation = Operation::kCreate, .id = kNetworkId, .text = "s"},
       "HcnCreateNetwork",
       id,
       true,
       false},
      {{.operation = Operation::kOpen, .kind = Kind::kNamespace, .id = kNetworkId},
       "HcnOpenNamespace",
       id,
       false,
       false},
      {{.operation = Operation::kModify, .handle = Handle{1}, .text = "m"},
       "HcnModifyNetwork",
       "",
       true,
       false},
      {{.operation = Operation::kQuery, .kind = Kind::kLoadBalancer, .text = "q"},
       "HcnQueryLoadBalancerProperties",
       "",
       false,
       false},
      {{.operation = Operation::kDelete, .id = kNetworkId}, "HcnDeleteNetwork", id, true, false},
      {{.operation = Operation::kClose, .handle = Handle{1}}, "HcnCloseNetwork", "", false, true},
      {{.text = "{}", .method = "GET", .path = "/networks/"},
       "HNSCall",
       "GET /networks/",
       false,
       false},
      {{.text = "{}", .method = "DELETE", .path = "/networks/1"},
       "HNSCall",
       "DELETE /networks/1",
       true,
       false},
      {{.operation = Operation::kSubscribe}, "HcnRegisterServiceCallback", "", false, false},
      {{.operation = Operation::kUnsubscribe}, "HcnUnregisterServiceCallback", "", false, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.function);
    EXPECT_EQ(row.call.function(), row.function);
    EXPECT_EQ(row.call.object(), row.object);
    EXPECT_EQ(row.call.is_modifying(), row.modifying);
    EXPECT_EQ(row.call.is_releasing(), row.releasing);
    EXPECT_TRUE(IsFunctionName(row.function));
  }
}

}  // namespace
}  // namespace weft::hns
