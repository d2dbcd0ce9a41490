// SPDX-License-Identifier: Apache-2.0
#include "control/admin/schema.h"

#include <set>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/control/admin/golden.h"
#include "tests/control/admin/samples.h"

namespace weft::admin {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

// The path of a value: keys and indices from the root.
struct Place {
  std::string name;  // "leases[3].ipv4.subnet"
  Json::json_pointer pointer;
};

void CollectPlaces(const Json& json, const Place& here, std::vector<Place>& places) {
  if (!here.name.empty()) places.push_back(here);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      CollectPlaces(value, {here.name.empty() ? key : here.name + "." + key, here.pointer / key},
                    places);
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      CollectPlaces(json[i], {here.name + "[" + std::to_string(i) + "]", here.pointer / i}, places);
    }
  }
}

std::vector<Place> Places(const Json& json) {
  std::vector<Place> places;
  CollectPlaces(json, {"", Json::json_pointer()}, places);
  return places;
}

bool IsOptional(const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);
  static const std::set<std::string> kOfPeers = {
      "sentPackets", "sentBytes",     "receivedPackets", "receivedBytes",      "heard",
      "pathMTU",     "sentWithoutDF", "otherSource",     "otherSourcePackets", "icmpErrors"};
  if (name.starts_with("peers[")) return kOfPeers.contains(last);
  static const std::set<std::string> kAlways = {
      "uid",     "ipv4", "ipv6", "publicIP",     "vtepMAC",   "vni",     "condition",
      "pathMTU", "hns",  "id",   "managementIP", "routerMAC", "servers", "sourceVIP"};
  // A tunnel has a VNI always, our own facts may lack the subnet.
  if (name.starts_with("tunnels") || name.starts_with("conditions")) return false;
  if (name == "ipv4.subnet" || name == "ipv6.subnet") return true;
  return kAlways.contains(last);
}

bool IsArrayElement(const std::string& name) { return name.ends_with("]"); }

TEST(SchemaTest, LeaseListComesBackEqual) {
  const LeaseList list = SampleLeases();
  const absl::StatusOr<LeaseList> back = ParseLeaseList(ToJson(list).dump());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, list);
}

TEST(SchemaTest, StatusComesBackEqual) {
  for (const Status& status : {SampleStatus(), DegradedStatus()}) {
    const absl::StatusOr<Status> back = ParseStatus(ToJson(status).dump());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, status);
  }
}

TEST(SchemaTest, PlanComesBackEqual) {
  const absl::StatusOr<Plan> back = ParsePlan(ToJson(SamplePlan()).dump());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, SamplePlan());
  EXPECT_EQ(ParsePlan(R"({"apiVersion":"weft/v2","kind":"Plan","network":"a","differences":[]})")
                .status()
                .message(),
            "calls is missing");
}

TEST(SchemaTest, EmptyDocumentsComeBackEqual) {
  const absl::StatusOr<LeaseList> list = ParseLeaseList(ToJson(LeaseList()).dump());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(*list, LeaseList());
  const absl::StatusOr<Status> status = ParseStatus(ToJson(Status()).dump());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(*status, Status());
}

TEST(SchemaTest, ExtremesComeBackEqual) {
  LeaseList list = SampleLeases();
  list.generation = UINT64_MAX;
  list.leases[0].v4->vni = UINT32_MAX;
  list.leases[0].node = "quote\" back\\slash \xc3\xa9 \x01";
  const absl::StatusOr<LeaseList> back = ParseLeaseList(ToJson(list).dump());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, list);
}

// The promise of "weft/v2": this test fails when a field is renamed, moved or changes its form.
TEST(SchemaTest, DocumentsMatchTheSchema) {
  EXPECT_TRUE(MatchesGolden(ToJson(SampleLeases()).dump(2) + "\n", "admin/lease_list.json"));
  EXPECT_TRUE(MatchesGolden(ToJson(SampleStatus()).dump(2) + "\n", "admin/status.json"));
  EXPECT_TRUE(MatchesGolden(ToJson(SamplePlan()).dump(2) + "\n", "admin/plan.json"));
}

TEST(SchemaTest, EachMissingFieldIsNamedUnlessOptional) {
  for (const Json& whole : {ToJson(SampleLeases()), ToJson(DegradedStatus())}) {
    const bool is_status = whole["kind"] == "Status";
    for (const Place& place : Places(whole)) {
      if (IsArrayElement(place.name)) continue;
      SCOPED_TRACE(place.name);
      Json json = whole;
      Json& parent = json[place.pointer.parent_pointer()];
      parent.erase(place.pointer.back());
      const absl::Status status =
          is_status ? ParseStatus(json.dump()).status() : ParseLeaseList(json.dump()).status();
      if (IsOptional(place.name)) {
        EXPECT_TRUE(status.ok()) << status;
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(std::string(status.message()), HasSubstr(place.name + " is missing"));
      }
    }
  }
}

TEST(SchemaTest, EachFieldOfAWrongTypeIsNamed) {
  for (const Json& whole : {ToJson(SampleLeases()), ToJson(DegradedStatus())}) {
    const bool is_status = whole["kind"] == "Status";
    for (const Place& place : Places(whole)) {
      for (const Json& wrong : {Json(nullptr), Json(-1), Json(1.5), Json::array({1})}) {
        SCOPED_TRACE(place.name + " = " + wrong.dump());
        Json json = whole;
        json[place.pointer] = wrong;
        const absl::Status status =
            is_status ? ParseStatus(json.dump()).status() : ParseLeaseList(json.dump()).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(std::string(status.message()), HasSubstr(place.name));
      }
    }
  }
}

struct BadValue {
  const char* pointer;
  Json value;
  const char* error;
};

TEST(SchemaTest, WrongValuesAreQuoted) {
  const BadValue rows[] = {
      {"/leases/0/ipv4/subnet", "10.244.300.0/24",
       "leases[0].ipv4.subnet \"10.244.300.0/24\" is not an address block"},
      {"/leases/0/ipv4/publicIP", "here", "leases[0].ipv4.publicIP \"here\" is not an IP address"},
      {"/leases/0/ipv6/vtepMAC", "5e:00", "leases[0].ipv6.vtepMAC \"5e:00\" is not a MAC address"},
      {"/leases/0/ipv4/subnet", 7, "leases[0].ipv4.subnet is not a string"},
      {"/leases/0/ipv4/vni", 4294967296, "leases[0].ipv4.vni exceeds 4294967295"},
      {"/apiVersion", "weft/v1",
       "apiVersion is \"weft/v1\"; this program reads \"weft/v2\": flanneld is the older one; "
       "upgrade it and restart it"},
      {"/apiVersion", "weft/v10",
       "apiVersion is \"weft/v10\"; this program reads \"weft/v2\": flannelctl is the older one; "
       "upgrade it"},
      {"/apiVersion", "v1", "apiVersion is \"v1\"; this program reads \"weft/v2\""},
      {"/apiVersion", "1", "apiVersion is \"1\"; this program reads \"weft/v2\""},
      {"/apiVersion", "weft/v-1", "apiVersion is \"weft/v-1\"; this program reads \"weft/v2\""},
      {"/apiVersion", "weft/v2x", "apiVersion is \"weft/v2x\"; this program reads \"weft/v2\""},
      {"/kind", "Status", "kind is \"Status\"; this program reads \"LeaseList\""},
  };
  for (const BadValue& row : rows) {
    Json json = ToJson(SampleLeases());
    json[Json::json_pointer(row.pointer)] = row.value;
    EXPECT_EQ(ParseLeaseList(json.dump()).status().message(), row.error);
  }
}

TEST(SchemaTest, FactsThatAreSeldomComeBackEqual) {
  Status status = SampleStatus();
  status.source.last_answer_age = 95;
  status.hns->restored = {.count = 3, .last = 1'795'046'461, .what = "the network flannel.4096"};
  status.peers[0].icmp_errors = {.count = 2,
                                 .type = 3,
                                 .code = 1,
                                 .from = *IpAddress::Parse("192.0.2.1"),
                                 .at = 1'795'046'461};
  status.tunnels[0].to_pods.packets[1].example =
      DropExample{.at = 1'795'046'461,
                  .outer = IpAddress::Parse("192.0.2.1"),
                  .peer = "linux-1",
                  .vni = 7,
                  .source_mac = MacAddress::Parse("02:00:00:00:00:09"),
                  .destination_mac = MacAddress::Parse("02:00:00:00:00:07"),
                  .inner_source = IpAddress::Parse("10.244.1.7"),
                  .inner_destination = IpAddress::Parse("10.244.4.9")};
  status.tunnels[0].to_wire.packets[1].example = DropExample{.at = 1'795'046'461};
  const Json json = ToJson(status);
  EXPECT_EQ(json["source"]["lastAnswerAge"], 95);
  EXPECT_EQ(json["hns"]["restored"].dump(),
            R"({"count":3,"last":"2026-11-19T00:01:01Z","what":"the network flannel.4096"})");
  EXPECT_EQ(json["peers"][0]["icmpErrors"].dump(),
            R"({"count":2,"type":3,"code":1,"from":"192.0.2.1","at":"2026-11-19T00:01:01Z"})");
  EXPECT_EQ(json["tunnels"][0]["toPods"]["packets"][1]["example"].dump(),
            R"({"at":"2026-11-19T00:01:01Z","outer":"192.0.2.1","peer":"linux-1","vni":7,)"
            R"("sourceMAC":"02:00:00:00:00:09","destinationMAC":"02:00:00:00:00:07",)"
            R"("innerSource":"10.244.1.7","innerDestination":"10.244.4.9"})");
  EXPECT_EQ(json["tunnels"][0]["toWire"]["packets"][1]["example"].dump(),
            R"({"at":"2026-11-19T00:01:01Z"})");
  const absl::StatusOr<Status> back = ParseStatus(json.dump());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, status);
}

TEST(SchemaTest, OptionalPacketCountsAreWritten) {
  Status status = SampleStatus();
  status.tunnels[0].peer_check = "lease";
  status.tunnels[0].strict_would_drop = 0;
  status.tunnels[0].workers = 2;
  status.tunnels[0].superframes = "whole: past rules";
  status.tunnels[0].superframes_whole = 5;
  status.peers[0].sent_without_df = 12;
  status.peers[0].other_source = IpAddress::Parse("198.51.100.9");
  status.peers[0].other_source_packets = 37;
  status.peers[0].heard = false;
  status.reach = Reach{.peers = 2, .programmed = 2, .heard = 1};
  status.notes = {"--busy-poll=5 has no effect"};
  status.hns->port = 14789;
  const Json json = ToJson(status);
  EXPECT_EQ(json["peers"][0]["heard"], false);
  EXPECT_EQ(json["reach"], (Json{{"peers", 2}, {"programmed", 2}, {"heard", 1}}));
  EXPECT_EQ(json["notes"], Json::array({"--busy-poll=5 has no effect"}));
  EXPECT_EQ(json["hns"]["port"], 14789);
  EXPECT_EQ(json["tunnels"][0]["peerCheck"], "lease");
  EXPECT_EQ(json["tunnels"][0]["strictWouldDrop"], 0);
  EXPECT_EQ(json["tunnels"][0]["workers"], 2);
  EXPECT_EQ(json["tunnels"][0]["superframes"], "whole: past rules");
  EXPECT_EQ(json["tunnels"][0]["superframesWhole"], 5);
  EXPECT_EQ(json["peers"][0]["sentWithoutDF"], 12);
  EXPECT_EQ(json["peers"][0]["otherSource"], "198.51.100.9");
  EXPECT_EQ(json["peers"][0]["otherSourcePackets"], 37);
  EXPECT_FALSE(json["peers"][1].contains("otherSource"));
  EXPECT_EQ(ParseStatus(json.dump()).value(), status);
}

TEST(SchemaTest, TheTunnelsPortIsTheUserspaceOnesElseThatOfHns) {
  Status status = SampleStatus();
  status.hns->port = 14789;
  EXPECT_EQ(status.tunnel_port(), 4789);
  status.tunnels.clear();
  EXPECT_EQ(status.tunnel_port(), 14789);
  status.hns.reset();
  EXPECT_EQ(status.tunnel_port(), std::nullopt);
}

TEST(SchemaTest, ABadTimeIsQuoted) {
  Json json = ToJson(SampleStatus());
  json["started"] = "yesterday";
  EXPECT_EQ(ParseStatus(json.dump()).status().message(),
            "started \"yesterday\" is not an RFC 3339 time");
}

TEST(SchemaTest, FieldsOfALaterMinorAreIgnored) {
  Json json = ToJson(SampleLeases());
  json["colour"] = "blue";
  json["leases"][0]["ipv4"]["age"] = 3;
  const absl::StatusOr<LeaseList> back = ParseLeaseList(json.dump());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, SampleLeases());
}

TEST(SchemaTest, OtherJsonIsRefused) {
  for (const char* text : {"", "{", "[]", "null", "\"weft/v2\"", "{}", "\xff\xfe"}) {
    EXPECT_FALSE(ParseLeaseList(text).ok()) << text;
    EXPECT_FALSE(ParseStatus(text).ok()) << text;
  }
  EXPECT_FALSE(ParseStatus(std::string(100'000, '[')).ok());
}

}  // namespace
}  // namespace weft::admin
