// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/objects_json.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace weft::kube {
namespace {

std::string TokenWith(const std::string& claims) {
  return absl::WebSafeBase64Escape(R"({"alg":"RS256"})") + "." + absl::WebSafeBase64Escape(claims) +
         ".c2lnbmF0dXJl";
}

TEST(TokenExpiry, IsTheClaimOfAServiceAccountsToken) {
  EXPECT_EQ(DecodeTokenExpiry(TokenWith(
                R"({"aud":["a"],"exp":1795046461,"iss":"b","sub":"system:serviceaccount:c:d"})")),
            1795046461);
  EXPECT_EQ(DecodeTokenExpiry(TokenWith(R"({"exp":-1})")), -1);
}

TEST(TokenExpiry, OtherTokensHaveNone) {
  for (const std::string& token :
       {std::string(), std::string("abcdef"), std::string("a.b"), std::string("..."),
        std::string("!.!.!"), TokenWith(""), TokenWith("no JSON"), TokenWith("[1]"),
        TokenWith("{}"), TokenWith(R"({"exp":"soon"})"), TokenWith(R"({"exp":1e30})"),
        TokenWith(R"({"exp":1})") + ".d"})
    EXPECT_EQ(DecodeTokenExpiry(token), std::nullopt) << token;
}

}  // namespace
}  // namespace weft::kube
