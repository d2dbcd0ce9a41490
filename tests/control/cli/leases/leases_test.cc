// SPDX-License-Identifier: Apache-2.0
// flannelctl leases, from flanneld and from a file.
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "control/admin/admin_server.h"
#include "control/admin/schema.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/control/admin/golden.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"

namespace weft::cli {
namespace {

using admin::AdminHandler;
using admin::FakeState;
using admin::RunningServer;
using admin::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kForms[] = {"table", "wide", "json", "yaml", "name"};

class LeasesOfDaemonTest : public ::testing::Test {
 protected:
  Outcome Leases(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"leases", "--admin", server_.endpoint()});
    return Call(std::move(arguments));
  }
  FakeState state_;
  RunningServer server_{AdminHandler(state_)};
};

TEST_F(LeasesOfDaemonTest, InEachForm) {
  for (const std::string form : kForms) {
    const Outcome outcome = Leases({"-o", form});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_TRUE(MatchesGolden(outcome.out, "leases/" + form + ".txt"));
  }
}

TEST_F(LeasesOfDaemonTest, TheTableIsTheDefaultAndTheWordListChangesNothing) {
  EXPECT_EQ(Leases({}).out, Leases({"-o", "table"}).out);
  EXPECT_EQ(Leases({"list"}).out, Leases({}).out);
}

TEST_F(LeasesOfDaemonTest, WithoutHeadersTheFirstLineIsData) {
  const std::string with = Leases({}).out;
  const std::string without = Leases({"--no-headers"}).out;
  EXPECT_THAT(with, ::testing::StartsWith("NODE "));
  EXPECT_THAT(without, ::testing::StartsWith("linux-1 "));
}

TEST_F(LeasesOfDaemonTest, TablesHaveNoBlankAtALinesEndAndOneWordAColumn) {
  std::istringstream lines(Leases({"-o", "table"}).out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_NE(line.back(), ' ');
    std::istringstream words(line);
    const std::vector<std::string> cells((std::istream_iterator<std::string>(words)), {});
    EXPECT_EQ(cells.size(), 5u) << line;
  }
}

TEST_F(LeasesOfDaemonTest, JsonIsTheDocumentOfTheEndpoint) {
  const auto list = admin::ParseLeaseList(Leases({"-o", "json"}).out);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(*list, state_.leases);
}

TEST_F(LeasesOfDaemonTest, AnEmptyListIsHeadersOnly) {
  server_.Do([&](admin::HttpServer&) { state_.leases = admin::LeaseList(); });
  EXPECT_EQ(Leases({}).out, "NODE   SUBNET   PUBLIC-IP   VTEP-MAC   STATE\n");
  EXPECT_THAT(Leases({"-o", "name"}).out, IsEmpty());
}

TEST(LeasesTest, WithoutDaemonExitsWith2) {
  const TemporaryFolder folder;
  const Outcome outcome = Call({"leases", "--admin", folder.Endpoint()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("flanneld does not answer"));
}

class LeasesOfFileTest : public ::testing::Test {
 protected:
  LeasesOfFileTest() { Write(SampleNodes()); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  Outcome Leases(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"leases", "--from", path_});
    return Call(std::move(arguments));
  }
  TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "nodes.json").string();
};

TEST_F(LeasesOfFileTest, TheSameTableJudges) {
  const Outcome outcome = Leases({"--node-name", "win-1", "-o", "wide"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_TRUE(MatchesGolden(outcome.out, "leases/file_wide.txt"));
}

TEST_F(LeasesOfFileTest, WithoutANodeNameNoLeaseIsOurs) {
  const Outcome outcome = Leases({});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("self")));
}

TEST_F(LeasesOfFileTest, AnotherVniMakesAllPeersMismatch) {
  EXPECT_THAT(Leases({"--node-name", "win-1", "--vni", "4097"}).out, HasSubstr("vni-mismatch"));
}

// Judged by the backend that our Node has published; without our Node, by that of most.
TEST_F(LeasesOfFileTest, TheBackendIsReadFromTheFile) {
  const std::string vxlan = "\"flannel.alpha.coreos.com/backend-type\": \"vxlan\"";
  std::string nodes = SampleNodes();
  ASSERT_THAT(nodes, HasSubstr(vxlan));
  Write(absl::StrReplaceAll(nodes, {{vxlan, absl::StrReplaceAll(vxlan, {{"vxlan", "host-gw"}})}}));
  for (const std::vector<std::string>& own :
       {std::vector<std::string>(), std::vector<std::string>{"--node-name", "win-1"}}) {
    const std::string out = Leases(own).out;
    EXPECT_THAT(out, HasSubstr(" usable\n"));
    EXPECT_THAT(out, ::testing::Not(HasSubstr("foreign-backend")));
  }
  // win-1 is the first; it alone differs from the others.
  nodes.replace(nodes.find(vxlan), vxlan.size(),
                absl::StrReplaceAll(vxlan, {{"vxlan", "host-gw"}}));
  Write(nodes);
  const auto state = [&](const std::vector<std::string>& own, const std::string& node) {
    const std::string out = Leases(own).out;
    const std::string line =
        out.substr(out.find(node), out.find('\n', out.find(node)) - out.find(node));
    return line.substr(line.rfind(' ') + 1);
  };
  EXPECT_EQ(state({}, "win-1"), "foreign-backend");
  EXPECT_EQ(state({}, "linux-1"), "usable");
  EXPECT_EQ(state({"--node-name", "win-1"}, "linux-1"), "foreign-backend");
  nodes = SampleNodes();
  nodes.replace(nodes.find("backend-type"), 12, "other");
  Write(nodes);
  EXPECT_EQ(state({"--node-name", "win-1"}, "linux-1"), "usable");
}

TEST_F(LeasesOfFileTest, OurSubnetsAreThoseOfOurNode) {
  auto nodes = nlohmann::json::parse(SampleNodes());
  nodes["items"][0]["spec"]["podCIDRs"].push_back("fd00:244::/48");
  nodes["items"][1]["spec"] = {{"podCIDR", "10.244.4.0/25"},
                               {"podCIDRs", {"10.244.4.0/25", "fd00:244:0:1::/64"}}};
  Write(nodes.dump());
  const std::string out = Leases({"--node-name", "win-1"}).out;
  EXPECT_THAT(out, ::testing::ContainsRegex("linux-1 +10.244.4.0/25 .* overlap\n"));
  EXPECT_THAT(out, ::testing::ContainsRegex("linux-1 +fd00:244:0:1::/64 .* overlap\n"));
}

TEST_F(LeasesOfFileTest, AMistypedNodeNameIsDistinguishedFromAnEmptyView) {
  const Outcome outcome = Leases({"--node-name", "win-9"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(
      outcome.err,
      HasSubstr("nodes.json: node \"win-9\" is not among the Nodes; register it, or correct "
                "--node-name"));
  EXPECT_THAT(Leases({"--node-name", "WIN-1"}).err,
              HasSubstr("node \"WIN-1\" is not among the Nodes, but \"win-1\" is: names are "
                        "compared with case; write it so in --node-name"));
}

TEST_F(LeasesOfFileTest, AFileThatCannotBeReadIsNamed) {
  Write("{\"items\": [");
  const Outcome broken = Leases({});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("nodes.json"));
  const Outcome missing = Call({"leases", "--from", path_ + ".not"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("nodes.json.not"));
}

TEST_F(LeasesOfFileTest, AnotherAnnotationPrefix) {
  std::string nodes = SampleNodes();
  for (std::size_t at = 0; (at = nodes.find("flannel.alpha.coreos.com/", at)) != nodes.npos;) {
    nodes.replace(at, 25, "example.org/net-");
  }
  Write(nodes);
  EXPECT_THAT(Leases({"-o", "name"}).out, IsEmpty()) << "no Node has flannel's own annotations";
  EXPECT_EQ(Leases({"--kube-annotation-prefix", "example.org/net", "-o", "name"}).out,
            "node/linux-1\nnode/linux-2\nnode/win-1\n");
}

// In every form a file and a daemon with the same leases print the same.
TEST_F(LeasesOfFileTest, InEachForm) {
  for (const std::string form : kForms) {
    const Outcome outcome = Leases({"--node-name", "win-1", "-o", form});
    EXPECT_EQ(outcome.code, 0) << form;
    EXPECT_THAT(outcome.out, HasSubstr("linux-1")) << form;
    EXPECT_EQ(outcome.out.find("broken") != std::string::npos, form != "name") << form;
  }
  const auto list = admin::ParseLeaseList(Leases({"--node-name", "win-1", "-o", "json"}).out);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->leases.size(), 3u);
  EXPECT_THAT(list->source, HasSubstr("file "));
}

TEST_F(LeasesOfFileTest, AnEmptyClusterIsNoError) {
  Write(R"({"kind": "List", "items": []})");
  const Outcome outcome = Leases({"--no-headers"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
}

}  // namespace
}  // namespace weft::cli
