// SPDX-License-Identifier: Apache-2.0
#include "control/cli/leases/lease_text.h"

#include <sstream>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/control/admin/samples.h"

namespace weft::cli {
namespace {

using admin::LeaseList;
using admin::SampleLeases;
using ::testing::HasSubstr;

// "ADDED linux-1, ...": the result of Compare as text.
std::string Text(const LeaseEvents& events) {
  std::string text;
  for (const auto& [change, row] : events.leases)
    text += std::string(Name(change)) + " " + row.node + "\n";
  for (const auto& [change, node] : events.refusals) {
    text += std::string(Name(change)) + " refused " + node.name + "\n";
  }
  for (const auto& [change, node] : events.not_joined)
    text += std::string(Name(change)) + " not joined " + node.node.name + "\n";
  return text;
}

TEST(LeaseEventsTest, EqualListsHaveNoEvents) {
  EXPECT_EQ(Text(Compare(SampleLeases(), SampleLeases())), "");
  LeaseList later = SampleLeases();
  ++later.generation;
  later.source = "elsewhere";
  EXPECT_EQ(Text(Compare(SampleLeases(), later)), "");
}

TEST(LeaseEventsTest, EveryKindOfChange) {
  LeaseList after = SampleLeases();
  after.leases.erase(after.leases.begin());
  after.leases[0].v4->state = "usable";
  after.leases.push_back(after.leases.back());
  after.leases.back().node = "win-3";
  after.refused = {{"broken-2", "why"}};
  after.not_joined = {{{"plain", ""}, "why"}};
  EXPECT_EQ(Text(Compare(SampleLeases(), after)),
            "DELETED linux-1\nMODIFIED linux-2\nADDED win-3\n"
            "DELETED refused broken-1\nADDED refused broken-2\nADDED not joined plain\n");
}

TEST(LeaseEventsTest, FromAndToNothing) {
  EXPECT_EQ(Compare({}, SampleLeases()).leases.size(), 5u);
  EXPECT_EQ(Compare(SampleLeases(), {}).leases.size(), 5u);
  EXPECT_EQ(Compare({}, SampleLeases()).leases[0].change, Change::kAdded);
  EXPECT_EQ(Compare(SampleLeases(), {}).leases[0].change, Change::kDeleted);
}

TEST(LeaseEventsTest, ANodeThatCameBackUnderAnotherUidIsTwoEvents) {
  LeaseList after = SampleLeases();
  after.leases[0].uid = "zzz";
  EXPECT_EQ(Text(Compare(SampleLeases(), after)), "DELETED linux-1\nADDED linux-1\n");
}

LeaseEvents OneOfEach() {
  LeaseList after = SampleLeases();
  after.leases.erase(after.leases.begin() + 1);
  after.leases[0].v6.reset();
  after.refused.clear();
  return Compare(SampleLeases(), after);
}

TEST(LeasePrinterTest, ChangesInATableAlignWithTheFirstOnes) {
  LeasePrinter printer(LeaseForm::kTable, true);
  const std::string whole = printer.Whole(SampleLeases());
  const std::string changes = printer.Changes(OneOfEach());
  EXPECT_THAT(changes, HasSubstr(" deleted\n"));
  const std::size_t column = whole.find("SUBNET");
  EXPECT_EQ(changes.find("10.244.1.0/24"), column);
  EXPECT_EQ(printer.Changes({}), "");
}

TEST(LeasePrinterTest, AWideChangeGivesTheReasonUnlessTheLeaseIsGone) {
  LeasePrinter printer(LeaseForm::kWide, true);
  printer.Whole(SampleLeases());
  LeaseList after = SampleLeases();
  after.leases[0].v4->state = "vni-mismatch";
  after.leases[0].v4->state_sentence = "another VNI";
  after.leases[0].v6.reset();
  after.leases.pop_back();
  after.refused = {{"broken-2", "name is 7, not a string"}};
  std::istringstream lines(printer.Changes(Compare(SampleLeases(), after)));
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, ::testing::AllOf(::testing::StartsWith("linux-1 "), HasSubstr(" vni-mismatch "),
                                     ::testing::EndsWith(" another VNI")));
  std::getline(lines, line);
  EXPECT_THAT(line, ::testing::AllOf(::testing::StartsWith("win-2 "), HasSubstr(" deleted "),
                                     ::testing::EndsWith(" -")));
  std::getline(lines, line);
  EXPECT_THAT(line, ::testing::AllOf(::testing::StartsWith("broken-1 "), HasSubstr(" deleted "),
                                     HasSubstr("is not an address block")));
  std::getline(lines, line);
  EXPECT_THAT(line, ::testing::AllOf(::testing::StartsWith("broken-2 "), HasSubstr(" refused "),
                                     ::testing::EndsWith(" name is 7, not a string")));
}

TEST(LeasePrinterTest, ANodeThatHasNotJoinedIsALineOfItsOwn) {
  LeaseList list;
  list.not_joined = {{{"plain", "u7"}, "annotation x is missing"}};
  EXPECT_THAT(LeasePrinter(LeaseForm::kTable, false).Whole(list),
              ::testing::AllOf(::testing::StartsWith("plain "), HasSubstr(" not-joined\n")));
  LeasePrinter wide(LeaseForm::kWide, false);
  EXPECT_THAT(wide.Whole(list), HasSubstr("u7   annotation x is missing\n"));
  EXPECT_THAT(wide.Changes(Compare(list, {})), HasSubstr(" deleted "));
  const std::string json = LeasePrinter(LeaseForm::kJson, true).Changes(Compare({}, list));
  EXPECT_EQ(nlohmann::json::parse(json)["notJoined"]["name"], "plain");
}

TEST(LeasePrinterTest, ChangesByNameAreTheNamesOfLeases) {
  LeasePrinter printer(LeaseForm::kName, true);
  EXPECT_EQ(printer.Changes(OneOfEach()), "node/linux-1\nnode/linux-2\n");
  EXPECT_EQ(printer.Changes({}), "");
}

TEST(LeasePrinterTest, ChangesInJsonAreOneDocumentALine) {
  LeasePrinter printer(LeaseForm::kJson, true);
  std::istringstream lines(printer.Changes(OneOfEach()));
  std::vector<std::string> types;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    types.push_back(json["type"].get<std::string>() +
                    (json.contains("lease") ? " " + json["lease"]["node"].get<std::string>()
                                            : " " + json["refused"]["name"].get<std::string>()));
  }
  EXPECT_THAT(types,
              ::testing::ElementsAre("MODIFIED linux-1", "DELETED linux-2", "DELETED broken-1"));
}

TEST(LeasePrinterTest, ChangesInYamlAreDocuments) {
  LeasePrinter printer(LeaseForm::kYaml, true);
  EXPECT_THAT(printer.Changes(OneOfEach()),
              ::testing::StartsWith("---\ntype: MODIFIED\nlease:\n  node: linux-1\n"));
}

TEST(LeasePrinterTest, FormNames) {
  for (const char* name : {"table", "wide", "json", "yaml", "name"}) {
    EXPECT_TRUE(ParseLeaseForm(name).has_value()) << name;
  }
  EXPECT_FALSE(ParseLeaseForm("xml").has_value());
}

}  // namespace
}  // namespace weft::cli
