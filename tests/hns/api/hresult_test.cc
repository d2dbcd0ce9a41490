// SPDX-License-Identifier: Apache-2.0
#include "hns/api/hresult.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/cord.h"

namespace weft::hns {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kErrorRecord[] =
    R"({"Success":false,"Error":"The parameter is incorrect. ","ErrorCode":2147942487})";

TEST(HresultTest, EveryNumberOfHcnHasItsName) {
  for (Hresult code = 0x803B0001; code <= 0x803B0037; ++code) {
    EXPECT_FALSE(Name(code).empty()) << std::hex << code;
  }
  struct Row {
    Hresult code;
    std::string_view name;
  };
  for (const auto& [code, name] :
       {Row{0x803B0001, "HCN_E_NETWORK_NOT_FOUND"},
        Row{0x803B0014, "HCN_E_ENDPOINT_ALREADY_ATTACHED"},
        Row{0x803B0020, "HCN_E_MANAGER_STOPPED"}, Row{0x803B0021, "GCN_E_MODULE_NOT_FOUND"},
        Row{0x803B0025, "GCN_E_NETADAPTER_TIMEOUT"},
        Row{0x803B0029, "GCN_E_DEFAULTNAMESPACE_EXISTS"}, Row{0x803B002A, "HCN_E_ICS_DISABLED"},
        Row{0x803B0031, "HCN_E_OBJECT_USED_AFTER_UNLOAD"},
        Row{0x803B0036, "HCN_INTERFACEPARAMETERS_ALREADY_APPLIED"},
        Row{0x803B0037, "HCN_E_VFP_NOT_ALLOWED"}, Row{0x80070490, "ERROR_NOT_FOUND"},
        Row{0x803B0038, ""}, Row{0, ""}}) {
    EXPECT_EQ(Name(code), name) << std::hex << code;
  }
}

TEST(HresultTest, StatusNamesTheFailureAndTheNextStepAndKeepsTheNumber) {
  const absl::Status status =
      StatusOf("create the network flannel.4096", hresult::kAccessDenied,
               R"({"Success":false,"Error":"Zugriff verweigert ","ErrorCode":2147942405})");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(),
            "create the network flannel.4096: E_ACCESSDENIED (0x80070005), HNS reports: Zugriff "
            "verweigert; run as Administrator or LocalSystem");
  EXPECT_EQ(HresultOf(status), hresult::kAccessDenied);
}

TEST(HresultTest, ANumberWithoutNameIsShownAndKept) {
  const absl::Status status = StatusOf("open it", 0x8badf00d, "");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(), "open it: (0x8BADF00D)");
  EXPECT_EQ(HresultOf(status), 0x8badf00d);
}

TEST(HresultTest, SuccessIsOkUnlessItLeavesARecord) {
  EXPECT_TRUE(StatusOf("modify it", hresult::kOk, "").ok());
  EXPECT_TRUE(StatusOf("modify it", 1, "").ok());  // S_FALSE
  EXPECT_EQ(HresultOf(StatusOf("modify it", hresult::kOk, kErrorRecord)),
            hresult::kInvalidArgument);
  for (const char* record : {R"({"Success":false,"Error":"no"})", R"({"ErrorCode":0})"})
    EXPECT_EQ(HresultOf(StatusOf("modify it", hresult::kOk, record)), hresult::kUnspecified);
}

TEST(HresultTest, ARecordMayBeAnything) {
  struct Row {
    const char* description;
    std::string record;
    std::string shown;
  };
  const Row rows[] = {
      {"JSON", kErrorRecord, "HNS reports: The parameter is incorrect."},
      {"not JSON", "out of luck\r\n", "HNS reports: out of luck"},
      {"without a text", R"({"Success":false})", ""},
      {"text of another type", R"({"Error":{"a":1}})", ""},
      {"keys in another case", R"({"error":"no"})", "HNS reports: no"},
      {"a second line and a terminal's escape", R"({"Error":"a\nfake log line\u001b[2J"})",
       "HNS reports: a fake log line [2J"},
      {"very long", "{\"Error\":\"" + std::string(100'000, 'x') + "\"}", "xxx..."},
  };
  for (const Row& row : rows) {
    const std::string message(StatusOf("do it", hresult::kUnspecified, row.record).message());
    EXPECT_THAT(message, HasSubstr(row.shown)) << row.description;
    EXPECT_LT(message.size(), 300u) << row.description;
    EXPECT_THAT(message, Not(HasSubstr("\n"))) << row.description;
    if (row.shown.empty()) EXPECT_EQ(message, "do it: E_FAIL (0x80004005)") << row.description;
  }
}

TEST(HresultTest, TheTextOfARecordDecidesNothing) {
  const absl::Status status =
      StatusOf("create it", hresult::kNetworkAlreadyExists,
               R"({"Success":false,"Error":"Element not found. ","ErrorCode":2147943568})");
  EXPECT_EQ(HresultOf(status), hresult::kNetworkAlreadyExists);
  EXPECT_TRUE(absl::IsAlreadyExists(status));
}

TEST(HresultTest, NotFoundIsForObjectsAndUnavailableForTheService) {
  for (const Hresult code :
       {hresult::kNetworkNotFound, hresult::kEndpointNotFound, hresult::kElementNotFound}) {
    EXPECT_TRUE(IsNotFound(code)) << std::hex << code;
    EXPECT_TRUE(absl::IsNotFound(StatusOf("open it", code, "")));
  }
  for (const Hresult code :
       {hresult::kManagerStopped, hresult::kServiceNotActive, hresult::kRpcServerUnavailable,
        hresult::kRpcCallFailed, hresult::kNoMoreEndpoints, hresult::kObjectUsedAfterUnload,
        hresult::kInvalidHandle, Hresult{0x800706B5}}) {
    EXPECT_TRUE(IsServiceGone(code)) << std::hex << code;
    EXPECT_TRUE(absl::IsUnavailable(StatusOf("open it", code, "")));
  }
  EXPECT_EQ(StatusOf("list the networks", 0x800706B5, "").message(),
            "list the networks: RPC_S_UNKNOWN_IF (0x800706B5); the hns service stopped or "
            "restarts: check it with Get-Service hns");
  for (const Hresult code : {hresult::kOk, hresult::kPolicyNotFound, hresult::kAdapterNotFound,
                             hresult::kUnspecified, hresult::kModuleNotFound, 0x80079999u}) {
    EXPECT_FALSE(IsNotFound(code) || IsServiceGone(code)) << std::hex << code;
  }
}

TEST(HresultTest, WhatMayBeAboutTheAdapter) {
  for (const Hresult code : {hresult::kAdapterNotFound, hresult::kInvalidArgument,
                             hresult::kInvalidPolicy, hresult::kInvalidPolicyType})
    EXPECT_TRUE(IsAboutAdapter(StatusOf("create it", code, ""))) << Name(code);
  for (const Hresult code :
       {hresult::kElementNotFound, hresult::kNetworkAlreadyExists, hresult::kUnspecified})
    EXPECT_FALSE(IsAboutAdapter(StatusOf("create it", code, ""))) << Name(code);
  EXPECT_FALSE(IsAboutAdapter(absl::OkStatus()));
}

TEST(HresultTest, WhatMayBeAboutAnotherNetwork) {
  for (const Hresult code :
       {hresult::kInvalidSubnet, hresult::kInvalidNetwork, hresult::kInvalidArgument})
    EXPECT_TRUE(MayBeAboutAnotherNetwork(StatusOf("create it", code, ""))) << Name(code);
  for (const Hresult code : {hresult::kAdapterNotFound, hresult::kNetworkAlreadyExists})
    EXPECT_FALSE(MayBeAboutAnotherNetwork(StatusOf("create it", code, ""))) << Name(code);
  EXPECT_FALSE(MayBeAboutAnotherNetwork(absl::OkStatus()));
}

TEST(HresultTest, APrefixKeepsCodeAndNumber) {
  const absl::Status status =
      Prefixed("overlay", StatusOf("open it", hresult::kNetworkNotFound, ""));
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), "overlay: open it: HCN_E_NETWORK_NOT_FOUND (0x803B0001)");
  EXPECT_EQ(HresultOf(status), hresult::kNetworkNotFound);
  EXPECT_TRUE(Prefixed("overlay", absl::OkStatus()).ok());
}

TEST(HresultTest, OtherErrorsHaveNoNumber) {
  EXPECT_EQ(HresultOf(absl::OkStatus()), std::nullopt);
  absl::Status other = absl::NotFoundError("x");
  EXPECT_EQ(HresultOf(other), std::nullopt);
  other.SetPayload("weft/hns/hresult", absl::Cord("x"));
  EXPECT_EQ(HresultOf(other), std::nullopt);
}

// A create that ended otherwise may have made the object.
TEST(HresultTest, OnlySomeNumbersProveThatNothingWasMade) {
  for (const Hresult code :
       {hresult::kAdapterNotFound, hresult::kNetworkAlreadyExists, hresult::kInvalidArgument,
        hresult::kAccessDenied, hresult::kRequestUnsupported, hresult::kNetworkNotFound})
    EXPECT_TRUE(ProvesRefusal(code)) << Name(code);
  for (const Hresult code :
       {hresult::kUnspecified, Hresult{0x800705B4} /* ERROR_TIMEOUT */,
        Hresult{0x803B0025} /* GCN_E_NETADAPTER_TIMEOUT */, hresult::kRpcCallFailed,
        hresult::kElementNotFound, hresult::kNotSupported, Hresult{0x8007071A}})
    EXPECT_FALSE(ProvesRefusal(code)) << std::hex << code;
}

}  // namespace
}  // namespace weft::hns
