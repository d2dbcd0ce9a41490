// SPDX-License-Identifier: Apache-2.0
#include "hns/version.h"

#include <gtest/gtest.h>

#include "hns/api/hresult.h"

namespace weft::hns {
namespace {

TEST(VersionTest, ListsTheFeaturesOfHns) {
  struct Row {
    Version version;
    bool remote_subnet, vxlan_port, dsr;
    const char* windows;
  };
  for (const Row& row :
       {Row{{5, 1}, false, false, false, "1709"}, Row{{7, 2}, false, false, false, "1803"},
        Row{{8, 4}, false, false, false, "between 1803 and Server 2019"},
        Row{{9, 1}, false, false, false, "Server 2019 as it came out"},
        Row{{9, 2}, true, false, false, "Server 2019, updates of March 2019"},
        Row{{9, 5}, true, false, true, "Server 2019, later updates"},
        Row{{9, 99}, true, false, true, "Server 2019, whatever comes"},
        Row{{10, 0}, true, false, false, "1903"}, Row{{10, 2}, true, false, true, "1903"},
        Row{{10, 3}, true, true, true, "1909"}, Row{{11, 0}, true, true, true, "2004"},
        Row{{13, 3}, true, true, true, "Server 2022"},
        Row{{15, 4}, true, true, true, "Server 2025"}}) {
    EXPECT_EQ(SupportsRemoteSubnet(row.version), row.remote_subnet) << row.windows;
    EXPECT_EQ(SupportsVxlanPort(row.version), row.vxlan_port) << row.windows;
    EXPECT_EQ(SupportsDsr(row.version), row.dsr) << row.windows;
  }
  EXPECT_EQ((Version{13, 3}).ToString(), "13.3");
}

TEST(VersionTest, IsReadFromTheAnswer) {
  for (const char* text : {R"({"Success":true,"Output":{"Major":13,"Minor":3}})",
                           R"({"output":{"minor":3,"major":13,"extra":[]},"success":true})"}) {
    const auto version = ParseVersion(text);
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ(*version, (Version{13, 3})) << text;
  }
  const auto without_minor = ParseVersion(R"({"Success":true,"Output":{"Major":12}})");
  ASSERT_TRUE(without_minor.ok());
  EXPECT_EQ(*without_minor, (Version{12, 0}));  // a zero is left out
}

TEST(VersionTest, ARefusalKeepsItsNumber) {
  const auto version =
      ParseVersion(R"({"Success":false,"Error":"Zugriff verweigert ","ErrorCode":2147942405})");
  EXPECT_EQ(HresultOf(version.status()), hresult::kAccessDenied);
}

TEST(VersionTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", "[]", "13.3", R"({"Success":true})", R"({"Success":true,"Output":3})",
        R"({"Success":true,"Output":{}})", R"({"Success":true,"Output":{"Major":"13"}})"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseVersion(text).status())) << text;
  }
}

}  // namespace
}  // namespace weft::hns
