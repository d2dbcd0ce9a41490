// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/api_status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/codec/answer_recorder.h"

namespace weft::kube {
namespace {

using testing::StatusFacts;

class StatusContract : public ::testing::TestWithParam<Encoding> {
 protected:
  ApiStatus Decode(const StatusFacts& facts, int http_status = 500) const {
    return DecodeApiStatus(http_status, answers.content_type(), answers.Status(facts));
  }
  const testing::Answers answers{GetParam()};
};

TEST_P(StatusContract, RepeatsTheServersMessage) {
  const ApiStatus status = Decode({422, "Invalid", "sendInitialEvents is forbidden", 0, "", ""});
  EXPECT_EQ(status, (ApiStatus{422, "Invalid", "sendInitialEvents is forbidden", {}, false}));
}

TEST_P(StatusContract, ItsOwnCodeIsUsedElseTheHttpCode) {
  EXPECT_EQ(Decode({410, "Expired", "", 0, "", ""}, 200).code, 410);
  EXPECT_EQ(Decode({0, "Expired", "", 0, "", ""}, 410).code, 410);
  EXPECT_EQ(Decode({-5, "Expired", "", 0, "", ""}, 410).code, 410);
  EXPECT_EQ(Decode({100'000, "Expired", "", 0, "", ""}, 410).code, 410);
}

TEST_P(StatusContract, RetryAfter) {
  EXPECT_EQ(Decode({429, "TooManyRequests", "", 7, "", ""}).retry_after, std::chrono::seconds(7));
  EXPECT_EQ(Decode({429, "TooManyRequests", "", -7, "", ""}).retry_after, std::nullopt);
  EXPECT_EQ(Decode({429, "TooManyRequests", "", 2'000'000'000, "", ""}).retry_after,
            std::chrono::hours(24));
}

TEST_P(StatusContract, AVersionThatIsTooLarge) {
  EXPECT_TRUE(Decode({504, "Timeout", "", 1, "ResourceVersionTooLarge", "Too large: 9, current: 3"})
                  .resource_version_too_large);
  // Before 1.18.6.
  EXPECT_TRUE(
      Decode({504, "Timeout", "", 1, "", "Too large resource version"}).resource_version_too_large);
  EXPECT_FALSE(
      Decode({504, "Timeout", "", 1, "FieldValueInvalid", "x"}).resource_version_too_large);
}

TEST_P(StatusContract, AMessageIsOneBoundedLine) {
  const ApiStatus status =
      Decode({500, "x\x7f", "a\x7f[2J\xc3\xa9" + std::string(1000, 'b'), 0, "", ""});
  EXPECT_EQ(status.reason, "x?");
  EXPECT_EQ(status.message, "a?[2J??" + std::string(300 - 7, 'b'));
}

TEST_P(StatusContract, ABodyThatIsNoStatusIsShown) {
  const ApiStatus status =
      DecodeApiStatus(503, answers.content_type(), "\n  no backend\r\nis alive\n");
  EXPECT_EQ(status, (ApiStatus{503, "", "no backend??is alive", {}, false}));
  EXPECT_EQ(DecodeApiStatus(503, answers.content_type(), "").code, 503);
  const std::string gone = answers.Status({410, "Expired", "gone", 0, "", ""});
  EXPECT_EQ(DecodeApiStatus(410, answers.content_type(), gone + "\x12").reason, "");
}

TEST_P(StatusContract, AnotherObjectIsNoStatus) {
  const std::string list = answers.List({}, "1");
  const ApiStatus status = DecodeApiStatus(200, answers.content_type(), list);
  EXPECT_EQ(status.reason, "");
  EXPECT_THAT(status.message, ::testing::HasSubstr("NodeList"));
}

TEST_P(StatusContract, EveryCutIsReadOrShown) {
  const std::string body = answers.Status({410, "Expired", "gone", 3, "x", "y"});
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(DecodeApiStatus(410, answers.content_type(), body.substr(0, size)).code, 410);
  }
}

INSTANTIATE_TEST_SUITE_P(, StatusContract, ::testing::ValuesIn(kEncodings), EncodingName);

TEST(ApiStatus, ContentTypesWithParametersAndInAnyCase) {
  const StatusFacts gone{410, "Expired", "gone", 0, "", ""};
  EXPECT_EQ(
      DecodeApiStatus(200, "Application/JSON; charset=utf-8", testing::StatusJson(gone)).reason,
      "Expired");
  EXPECT_EQ(DecodeApiStatus(200, "application/vnd.kubernetes.protobuf;stream=watch",
                            testing::StatusProtobuf(gone))
                .reason,
            "Expired");
}

// The API's priority gate, proxies.
TEST(ApiStatus, PlainTextIsItsMessage) {
  EXPECT_EQ(
      DecodeApiStatus(429, "text/plain; charset=utf-8", "Too many requests, please try again"),
      (ApiStatus{429, "", "Too many requests, please try again", {}, false}));
  EXPECT_EQ(DecodeApiStatus(502, "text/html", "<html>Bad gateway</html>").message,
            "<html>Bad gateway</html>");
  EXPECT_EQ(DecodeApiStatus(401, "", "").message, "");
  const std::string json = testing::StatusJson({410, "Expired", "gone", 0, "", ""});
  EXPECT_EQ(DecodeApiStatus(500, "text/plain", json).code, 500);
}

TEST(ApiStatus, AStatusThatBreaksOffIsShown) {
  EXPECT_EQ(DecodeApiStatus(410, "application/vnd.kubernetes.protobuf",
                            testing::ProtobufEnvelope("Status",
                                                      "\x22\x07"
                                                      "Expired\x07"))
                .reason,
            "");
}

TEST(ApiStatus, MembersOfAWrongTypeAreAbsent) {
  for (const char* members :
       {R"("message":7,"reason":[],"code":"x","details":{"causes":[1,{"reason":2}],)"
        R"("retryAfterSeconds":"3"})",
        R"("details":7)", R"("details":{"causes":7})"}) {
    EXPECT_EQ(DecodeApiStatus(500, "application/json",
                              absl::StrCat(R"({"kind":"Status",)", members, "}")),
              (ApiStatus{500, "", "", {}, false}))
        << members;
  }
}

}  // namespace
}  // namespace weft::kube
