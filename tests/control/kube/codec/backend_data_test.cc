// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/backend_data.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::HasSubstr;

TEST(BackendData, EncodesByteForByteAsUpstream) {
  EXPECT_EQ(EncodeBackendData(*Vni::From(4096), *MacAddress::Parse("00:15:5D:8C:2F:93")),
            R"({"VNI":4096,"VtepMAC":"00:15:5d:8c:2f:93"})");
}

TEST(BackendData, ReadsWhatItWrites) {
  const auto data = DecodeBackendData(
      EncodeBackendData(*Vni::From(Vni::kMax), *MacAddress::Parse("02:00:00:00:00:01")));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->vni, Vni::kMax);
  EXPECT_EQ(data->vtep_mac, MacAddress::Parse("02:00:00:00:00:01"));
}

struct Accepted {
  const char* description;
  const char* text;
  std::optional<std::uint32_t> vni;
  const char* mac;  // "" absent
};

const Accepted kAccepted[] = {
    {"upstream, Windows", R"({"VNI":4096,"VtepMAC":"00:15:5d:8c:2f:93"})", 4096,
     "00:15:5d:8c:2f:93"},
    {"Linux before v0.14.0", R"({"VtepMAC":"ee:37:da:54:ca:7d"})", std::nullopt,
     "ee:37:da:54:ca:7d"},
    {"Windows, first patch", R"({"VNI":4096,"VtepMAC":""})", 4096, ""},
    {"hyphens and capitals", R"({"VNI":4096,"VtepMAC":"00-15-5D-8C-2F-93"})", 4096,
     "00:15:5d:8c:2f:93"},
    {"dots", R"({"VNI":4096,"VtepMAC":"0015.5d8c.2f93"})", 4096, "00:15:5d:8c:2f:93"},
    {"keys without case", R"({"vni":1,"vtepmac":"00:15:5d:8c:2f:93"})", 1, "00:15:5d:8c:2f:93"},
    {"the last duplicate wins", R"({"VNI":1,"vni":2,"VNI":3})", 3, ""},
    {"nulls", R"({"VNI":null,"VtepMAC":null})", std::nullopt, ""},
    {"unknown members", R"({"GBP":true,"VNI":0,"x":{"VNI":9}})", 0, ""},
    {"host-gw", "null", std::nullopt, ""},
    {"nothing", "", std::nullopt, ""},
    {"the largest VNI", R"({"VNI":16777215})", 16777215, ""},
    {"the last duplicate MAC wins",
     R"({"VNI":1,"VtepMAC":"00:15:5d:8c:2f:93","VtepMAC":"02:00:00:00:00:01"})", 1,
     "02:00:00:00:00:01"},
    {"a MAC, and more behind it", R"({"VNI":1,"VtepMAC":"00:15:5d:8c:2f:93","x":"y"})", 1,
     "00:15:5d:8c:2f:93"},
};

TEST(BackendData, Accepted) {
  for (const Accepted& row : kAccepted) {
    SCOPED_TRACE(row.description);
    const auto data = DecodeBackendData(row.text);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->vni, row.vni);
    EXPECT_EQ(data->vtep_mac ? data->vtep_mac->ToString() : "", row.mac);
  }
}

struct Refused {
  const char* text;
  const char* message;  // part of it
};

const Refused kRefused[] = {
    {R"({"VNI":16777216})", "VNI is 16777216, more than 24 bits"},
    {R"({"VNI":18446744073709551615})", "VNI is 18446744073709551615, more than 24 bits"},
    {R"({"VNI":-1})", "VNI is -1, not a whole number"},
    {R"({"VNI":4096.0})", "VNI is 4096.0, not a whole number"},
    {R"({"VNI":"4096"})", "VNI is \"4096\", not a whole number"},
    {R"({"VNI":[1]})", "VNI is an array"},
    {R"({"VtepMAC":7})", "VtepMAC is 7, not a string"},
    {R"({"VtepMAC":"00:15:5d:8c:2f"})", "VtepMAC \"00:15:5d:8c:2f\" is not a MAC of six bytes"},
    {R"({"VtepMAC":"00:00:00:00:fe:80:00:00"})", "is not a MAC of six bytes"},
    {R"({"VtepMAC":"01:00:5e:00:00:01"})", "is not a unicast address"},
    {R"({"VtepMAC":"ff:ff:ff:ff:ff:ff"})", "is not a unicast address"},
    {R"({"VtepMAC":"00:00:00:00:00:00"})", "is not a unicast address"},
    // Nearly what every healthy node has.
    {R"({"VNI":16777216,"VtepMAC":"00:15:5d:8c:2f:93"})", "VNI is 16777216, more than 24 bits"},
    {R"({"VNI":99999999999999999999,"VtepMAC":"00:15:5d:8c:2f:93"})", "is not JSON"},
    {R"({"VNI":01,"VtepMAC":"00:15:5d:8c:2f:93"})", "is not JSON"},
    {R"({"VNI":4096ee:37:da:54:ca:7d"})", "is not JSON"},
    {R"(4096,"VtepMAC":"00:15:5d:8c:2f:93"})", "is not JSON"},
    {R"({"VNI":1,"VtepMAC":"00:15:5d:8c:2f:9x"})", "is not a MAC of six bytes"},
    {R"({"VNI":1,"VtepMAC":"00:00:00:00:00:00"})", "is not a unicast address"},
    {R"({"VNI":1,"VtepMAC":"01:00:5e:00:00:01"})", "is not a unicast address"},
    {R"({"VNI":1,"VtepMAC":"00:15:5d:8c:2f:93"])", "is not JSON"},
    {R"([])", "the text is an array, not an object"},
    {R"("x")", "the text is \"x\", not an object"},
    {R"({"VNI":4096)", "is not JSON"},
    {" ", "is not JSON"},
    {"\x01\x1b[2J", R"("\x01\x1b[2J" is not JSON)"},
};

TEST(BackendData, RefusedByNameAndValue) {
  for (const Refused& row : kRefused) {
    const auto data = DecodeBackendData(row.text);
    ASSERT_FALSE(data.ok()) << row.text;
    EXPECT_THAT(std::string(data.status().message()), HasSubstr(row.message)) << row.text;
  }
}

}  // namespace
}  // namespace weft::kube
