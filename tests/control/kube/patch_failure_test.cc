// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_patch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

ApiStatus Refusal(int code, std::string reason, std::string message) {
  ApiStatus status;
  status.code = code;
  status.reason = std::move(reason);
  status.message = std::move(message);
  return status;
}

TEST(PatchFailure, NamesObjectCauseAndNextStep) {
  EXPECT_EQ(PatchFailure("win1", "annotations",
                         Refusal(403, "Forbidden", "cannot patch resource \"nodes/status\"")),
            "the annotations of node \"win1\" cannot be written: 403 Forbidden \"cannot patch "
            "resource \\\"nodes/status\\\"\"; its role lacks a rule: allow \"patch\" of "
            "\"nodes/status\" to the account that flanneld runs as");
  EXPECT_EQ(PatchFailure("win1", "annotations",
                         absl::UnavailableError("https://10.0.0.1:6443: connection refused")),
            "the annotations of node \"win1\" cannot be written: https://10.0.0.1:6443: connection "
            "refused; tried again");
}

TEST(PatchFailure, EachCodeHasItsNextStep) {
  const struct {
    int code;
    const char* next;
  } rows[] = {
      {401, "does not accept its credentials: renew the token or the client certificate"},
      {404, "waiting until it is registered again"},
      {409, "tried again"},
      {422, "correct what the message names"},
      {429, "tried again after its Retry-After"},
      {503, "tried again"},
      {302, "tried again"},
  };
  for (const auto& row : rows)
    EXPECT_THAT(
        PatchFailure("win1", "annotations", Refusal(row.code, "", "")),
        AllOf(HasSubstr("written: " + std::to_string(row.code) + "; "), EndsWith(row.next)));
}

TEST(PatchFailure, AForeignMessageIsQuotedAndBounded) {
  const std::string text =
      PatchFailure("win1", "annotations", Refusal(500, "", std::string(1000, 'x') + "\x1b[2J"));
  EXPECT_THAT(text, HasSubstr("cannot be written: 500 \"xxx"));
  EXPECT_THAT(text, HasSubstr("(1004 bytes)"));
  EXPECT_LT(text.size(), 500u);
}

}  // namespace
}  // namespace weft::kube
