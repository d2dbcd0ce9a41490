// SPDX-License-Identifier: Apache-2.0
#include "control/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::journal {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

lease::FamilyLease Half(const char* subnet, const char* public_ip, const char* mac) {
  lease::FamilyLease half;
  half.subnet = *IpPrefix::Parse(subnet);
  half.public_ip = IpAddress::Parse(public_ip);
  half.vni = 4096;
  half.vtep_mac = MacAddress::Parse(mac);
  return half;
}

struct State : Header {
  std::vector<lease::Lease> kept{};
  friend bool operator==(const State&, const State&) = default;
};

// Something in every member.
State Sample() {
  State state;
  state.scope = {"boot-1",
                 "win-1",
                 "kube-flannel/weft-x",
                 "kubernetes",
                 "Network 10.244.0.0/16, Backend vxlan, VNI 4096, port 4789",
                 {"sha256 1", "sha256 2"}};
  state.saved = 1'795'046'400;
  state.own.node = {"win-1", "5ac2b1c4"};
  state.own.managed = true;
  state.own.backend_type = "vxlan";
  state.own.v4.subnet = IpPrefix::Parse("10.244.4.0/24");
  state.own.v4.published_public_ip = IpAddress::Parse("192.0.2.4");
  state.own.v4.published_vni = 4096;
  state.own.v4.published_vtep_mac = MacAddress::Parse("00:15:5d:00:00:04");
  state.own.v4.node_public_ip = "192.0.2.44";
  state.own.v4.public_ip_overwrite = "198.51.100.4";
  state.own.v6.subnet = IpPrefix::Parse("fd00:244:4::/64");
  lease::Lease both;
  both.node = {"linux-1", "uid-1"};
  both.backend_type = "vxlan";
  both.v4 = Half("10.244.1.0/24", "192.0.2.1", "02:00:00:00:00:01");
  both.v4->kept_since = 1'795'046'000;
  both.v4->behind_nat = true;
  both.v4->node_address = true;
  both.v6 = Half("fd00:244:1::/64", "2001:db8::1", "02:00:00:00:00:11");
  lease::Lease bare;
  bare.node = {"linux-2", ""};
  bare.backend_type = "host-gw";
  bare.v4.emplace().subnet = *IpPrefix::Parse("10.244.2.0/24");
  state.kept = {both, bare};
  state.leases = 2;
  return state;
}

auto EachOf(const State& state) {
  return [&state](Visit visit) { std::for_each(state.kept.begin(), state.kept.end(), visit); };
}
std::string Text(const State& state) {
  std::string text;
  const auto each = EachOf(state);
  const auto append = [&text](std::string_view piece) { text += piece; };
  if (state.leases)
    Write(state, each, append);
  else
    Write(state, std::nullopt, append);
  return text;
}
absl::StatusOr<State> Parse(const std::string& text) {
  State state;
  const auto keep = [&state](const lease::Lease& lease) { state.kept.push_back(lease); };
  std::istringstream in(text);
  absl::StatusOr<Header> header = Read(in, keep);
  if (!header.ok()) return header.status();
  static_cast<Header&>(state) = *std::move(header);
  return state;
}
absl::Status Save(const Journal& journal, const State& state) {
  return journal.Save(state, EachOf(state));
}
State Loaded(const Journal& journal) {
  State state;
  const auto keep = [&state](const lease::Lease& lease) { state.kept.push_back(lease); };
  static_cast<Header&>(state) = journal.Load(keep).value().value();
  return state;
}

TEST(JournalText, IsReadBack) {
  State none = Sample();
  none.kept.clear();
  none.leases = 0;
  none.scope.pod.clear();
  none.scope.cluster.clear();
  none.own.v6 = {};
  State header_alone = none;
  header_alone.leases.reset();
  State unknown_boot = none;
  unknown_boot.scope.boot.clear();
  for (const State& state : {Sample(), none, header_alone, unknown_boot}) {
    const absl::StatusOr<State> read = Parse(Text(state));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, state);
  }
}

TEST(JournalText, ALeaseIsALine) {
  EXPECT_THAT(Text(Sample()), ::testing::EndsWith(R"({"node":"linux-2","backend":"host-gw",)"
                                                  R"("ipv4":{"subnet":"10.244.2.0/24"}})"
                                                  "\n"));
}

TEST(JournalText, TheHeaderIsReadAlone) {
  const std::string text = Text(Sample());
  std::istringstream in(text.substr(0, text.find('\n') + 1) + "rubbish");
  EXPECT_EQ(Read(in).value(), static_cast<const Header&>(Sample()));
}

// Of many leases no more than a piece is held at once.
TEST(JournalText, IsPassedOnInPieces) {
  State many = Sample();
  many.kept.assign(2000, many.kept[0]);
  std::vector<std::size_t> pieces;
  Write(many, EachOf(many), [&pieces](std::string_view piece) { pieces.push_back(piece.size()); });
  EXPECT_GT(pieces.size(), 5u);
  EXPECT_LT(pieces.size(), 20u);
  EXPECT_LT(*std::max_element(pieces.begin(), pieces.end()), std::size_t{65} << 10);
}

// Byte for byte as commit 0ac4ae1 wrote it, the last one whose journal has no version. Ours has
// more members and no others, so that 0ac4ae1, which ignores what it does not know, reads it.
TEST(JournalText, ThatOf0ac4ae1IsReadAndReadsOurs) {
  const std::string former =
      R"({"apiVersion":"weft/journal/v1","saved":1795046400,"boot":"boot-1","node":"win-1",)"
      R"("pod":"kube-flannel/weft-x","source":"kubernetes",)"
      R"("netConf":"Network 10.244.0.0/16, Backend vxlan, VNI 4096, port 4789",)"
      R"("own":{"node":"win-1","uid":"5ac2b1c4","backend":"vxlan",)"
      R"("ipv4":{"subnet":"10.244.4.0/24","publicIP":"192.0.2.4","vni":4096,)"
      R"("vtepMAC":"00:15:5d:00:00:04","nodePublicIP":"192.0.2.44",)"
      R"("publicIPOverwrite":"198.51.100.4"},"ipv6":{"subnet":"fd00:244:4::/64"}},"leases":2})"
      "\n"
      R"({"node":"linux-1","uid":"uid-1","backend":"vxlan",)"
      R"("ipv4":{"subnet":"10.244.1.0/24","publicIP":"192.0.2.1","vni":4096,)"
      R"("vtepMAC":"02:00:00:00:00:01","keptSince":1795046000,"behindNAT":true},)"
      R"("ipv6":{"subnet":"fd00:244:1::/64","publicIP":"2001:db8::1","vni":4096,)"
      R"("vtepMAC":"02:00:00:00:00:11"}})"
      "\n"
      R"({"node":"linux-2","backend":"host-gw","ipv4":{"subnet":"10.244.2.0/24"}})"
      "\n";
  State state = Sample();
  state.scope.cluster.clear();
  state.kept[0].v4->node_address = false;
  EXPECT_EQ(Parse(former).value(), state);
  EXPECT_EQ(Parse(absl::StrReplaceAll(former, {{"boot-1", ""}})).value().scope.boot, "");
  EXPECT_EQ(absl::StrReplaceAll(Text(Sample()), {{R"("version":1,)", ""},
                                                 {R"("cluster":["sha256 1","sha256 2"],)", ""},
                                                 {R"(,"nodeAddress":true)", ""}}),
            former);
  const char kApiVersion[] = R"("apiVersion":"weft/journal/v1",)";
  EXPECT_EQ(Parse(absl::StrReplaceAll(Text(Sample()), {{kApiVersion, ""}})).value(), Sample());
}

TEST(JournalText, UnknownMembersAreIgnored) {
  const std::string text =
      absl::StrReplaceAll(Text(Sample()), {{R"({"node")", R"({"later":[1,{}],"node")"}});
  ASSERT_NE(text, Text(Sample()));
  EXPECT_EQ(Parse(text).value(), Sample());
}

// A name that is not UTF-8 must not keep the others from being written.
TEST(JournalText, EveryStateCanBeWritten) {
  State state = Sample();
  state.kept[0].node.name = "linux-\xff";
  EXPECT_EQ(Parse(Text(state)).value().kept[1], state.kept[1]);
}

TEST(JournalText, WhatIsWrongIsNamed) {
  const struct {
    const char *description, *from, *to, *error;
  } rows[] = {
      {"a version of another type", R"("version":1)", R"("version":"1")",
       "line 1: version is not an unsigned number"},
      {"another file", R"("version":1,"apiVersion":")", R"("apiVersion":"x)",
       "line 1: it is no journal of weft"},
      {"no list of keys", R"(["sha256 1","sha256 2"])", R"("sha256 1")", "cluster is not an array"},
      {"a key of another type", R"(["sha256 1")", "[1", "cluster[0] is not a string"},
      {"no source", R"("source":"kubernetes")", R"("s":1)", "line 1: source is missing"},
      {"no net-conf", R"("netConf")", R"("n")", "line 1: netConf is missing"},
      {"no own Node", R"("own":{"node":"win-1")", R"("own":{"n":1)", "own.node is missing"},
      {"no own member", R"("own")", R"("o")", "own is missing"},
      {"own of another type", R"("own":{)", R"("own":7,"o":{)", "own is not an object"},
      {"a negative count", R"("leases":2)", R"("leases":-2)", "leases is not an unsigned number"},
      {"a huge count", R"("leases":2)", R"("leases":18446744073709551615)", "leases is too large"},
      {"a lease too few", R"("leases":2)", R"("leases":3)", "has 2 leases instead of 3"},
      {"a lease too many", R"("leases":2)", R"("leases":1)", "has 2 leases instead of 1"},
      {"a name of another type", R"("node":"linux-1")", R"("node":1)",
       "line 2: node is not a string"},
      {"an empty name", R"("node":"linux-1")", R"("node":"")", "line 2: node is missing"},
      {"an empty source", R"("source":"kubernetes")", R"("source":"")",
       "line 1: source is missing"},
      {"no subnet", R"("subnet":"10.244.1.0/24",)", "", "line 2: ipv4.subnet is missing"},
      {"a wrong subnet", "10.244.1.0/24", "10.244.1.0/33",
       R"(line 2: ipv4.subnet "10.244.1.0/33")"},
      {"a subnet of the other family", "10.244.1.0/24", "fd00::/64", "other address family"},
      {"a wrong address", R"("192.0.2.1")", R"("192.0.2")", R"(publicIP "192.0.2" is not)"},
      {"an address of the other family", R"("192.0.2.1")", R"("::1")", "other address family"},
      {"a group MAC", "02:00:00:00:00:01", "03:00:00:00:00:01", "ipv4.vtepMAC is no address"},
      {"no MAC", "02:00:00:00:00:01", "00:00:00:00:00:00", "ipv4.vtepMAC is no address"},
      {"an own group MAC", "00:15:5d:00:00:04", "01:15:5d:00:00:04", "line 1: own.ipv4.vtepMAC"},
      {"a large VNI", R"("vni":4096)", R"("vni":4294967296)", "vni exceeds 4294967295"},
      {"a half of another type", R"("ipv6":{"subnet":"fd00:244:1)", R"("ipv6":[],"x":{"s":"fd)",
       "ipv6 is not an object"},
      {"no object", R"({"node":"linux-2")", R"(["node"])", "line 3: it is no JSON object"},
      {"an empty line", "{\"node\":\"linux-2\"", "\n{\"node\":\"linux-2\"", "line 3: it is no"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    std::string text = Text(Sample());
    const std::size_t at = text.find(row.from);
    ASSERT_NE(at, text.npos);
    text.replace(at, std::string_view(row.from).size(), row.to);
    EXPECT_THAT(Parse(text).status().message(), HasSubstr(row.error));
  }
}

// A process that dies leaves the former file (ReplaceFileText), a full disk may leave any part.
TEST(JournalText, CutOffAnywhereItIsRefused) {
  const std::string text = Text(Sample());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(Parse(text.substr(0, size)).ok()) << size;
  EXPECT_EQ(Parse("").status(), absl::DataLossError("it is empty"));
  std::istringstream broken(text);
  broken.setstate(std::ios::badbit);
  EXPECT_EQ(Read(broken).status(), absl::UnavailableError("it cannot be read"));
}

TEST(JournalScope, OnlyItsOwnIsUsed) {
  const Scope state = Sample().scope;
  const struct {
    const char* description;
    Scope desired;
    const char* why;  // empty: it is used
  } rows[] = {
      {"the same", state, ""},
      {"a new pod of the node", {"boot-1", "win-1", "ns/other", "kubernetes", state.net_conf}, ""},
      {"our name not known, the same pod",
       {"boot-1", "", state.pod, "kubernetes", state.net_conf},
       ""},
      {"our name not known, another pod",
       {"boot-1", "", "ns/x", "kubernetes", state.net_conf},
       "it is of another pod"},
      {"neither known", {"boot-1", "", "", "kubernetes", state.net_conf}, "another pod"},
      {"another boot", {"boot-2", "win-1", "", "kubernetes", state.net_conf}, "another boot"},
      {"boot not known", {"", "win-1", "", "kubernetes", state.net_conf}, "cannot be read"},
      {"another node",
       {"boot-1", "win-2", state.pod, "kubernetes", state.net_conf},
       "it is of node \"win-1\", not \"win-2\""},
      {"another source", {"boot-1", "win-1", "", "file /n", state.net_conf}, "not of \"file /n\""},
      {"another net-conf",
       {"boot-1", "win-1", "", "kubernetes", "Network 10.0.0.0/8"},
       "now Network 10.0.0.0/8"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    const std::string why = Difference(state, row.desired);
    EXPECT_EQ(why.empty(), std::string_view(row.why).empty()) << why;
    EXPECT_THAT(why, HasSubstr(row.why));
  }
  const struct {
    const char* description;
    std::set<std::string> now;
    bool other;
  } clusters[] = {
      {"not known now, as when the CA file cannot be read", {}, false},
      {"one of two keys, after a rotation", {"sha256 2"}, false},
      {"one key more, before a rotation", {"sha256 1", "sha256 2", "sha256 3"}, false},
      {"a key in common", {"sha256 2", "sha256 3"}, false},
      {"no key in common", {"sha256 3", "name 10.0.0.1"}, true},
  };
  for (const auto& row : clusters) {
    SCOPED_TRACE(row.description);
    Scope desired = state;
    desired.cluster = row.now;
    EXPECT_EQ(Difference(state, desired).find("of another cluster") != std::string::npos,
              row.other);
    EXPECT_EQ(Difference(desired, state).empty(), !row.other) << "and the other way round";
  }
  Scope unknown = state;
  unknown.boot.clear();
  EXPECT_NE(Difference(unknown, unknown), "") << "an unknown boot is no boot";
  Scope nameless = state;
  nameless.node.clear();
  nameless.pod.clear();
  EXPECT_THAT(Difference(nameless, nameless), HasSubstr("another pod")) << "no pod is no pod";
}

TEST(JournalScope, NetConf) {
  const auto text = [](const char* json) {
    return NetConfText(control::ParseNetConf(json, "n", control::kHnsDefaults).value());
  };
  EXPECT_EQ(text(R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4097}})"),
            "Network 10.244.0.0/16, Backend vxlan, VNI 4097, port 4789");
  EXPECT_EQ(text(R"({"Network":"10.244.0.0/16","EnableIPv6":true,"IPv6Network":"fd00::/48",)"
                 R"("Backend":{"Type":"host-gw"}})"),
            "Network 10.244.0.0/16, IPv6Network fd00::/48, Backend host-gw");
}

class JournalFile : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& text) const {
    fs::create_directories(folder_);
    std::ofstream(journal_.path(), std::ios::binary) << text;
  }
  std::string Refusal() const { return std::string(journal_.Load().status().message()); }

  const std::string folder_ = weft::testing::TestPath().string();
  const Journal journal_{folder_};
};

TEST_F(JournalFile, IsReadBack) {
  EXPECT_EQ(journal_.Load().value(), std::nullopt);
  ASSERT_TRUE(Save(journal_, Sample()).ok());
  EXPECT_EQ(Loaded(journal_), Sample());
  Header alone = Sample();
  ASSERT_TRUE(journal_.Save(alone).ok());
  alone.leases.reset();
  EXPECT_EQ(journal_.Load().value(), alone);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no temporary file is left";
}

TEST_F(JournalFile, ADamagedOneIsNamedAndReplaced) {
  Write("rubbish\n");
  EXPECT_THAT(Refusal(), ::testing::AllOf(HasSubstr(journal_.path()), HasSubstr("is not used"),
                                          HasSubstr("line 1"), HasSubstr("it is replaced once")));
  ASSERT_TRUE(Save(journal_, Sample()).ok());
  EXPECT_EQ(Loaded(journal_), Sample());
}

TEST_F(JournalFile, OneOfALaterVersionIsNamedAndStays) {
  const std::string later =
      absl::StrReplaceAll(Text(Sample()), {{"\"version\":1", "\"version\":7"}});
  Write(later);
  EXPECT_THAT(Refusal(), ::testing::AllOf(HasSubstr(journal_.path()), HasSubstr("version 7"),
                                          HasSubstr("it is left as it is")));
  EXPECT_EQ(Save(journal_, Sample()).message(), Refusal());
  EXPECT_EQ(control::ReadFileText(journal_.path()).value(), later);
  fs::remove(journal_.path());
  EXPECT_TRUE(Save(journal_, Sample()).ok());
}

TEST_F(JournalFile, OneOfALaterVersionStaysWhateverItsForm) {
  for (const char* const text : {"{\n \"version\": 2,\n \"rows\": []\n}\n",
                                 R"({"version":2,"rows":[]})", "{\"version\":\"2\"}\n"}) {
    Write(text);
    EXPECT_THAT(Refusal(), HasSubstr("it is left as it is")) << text;
    EXPECT_TRUE(absl::IsUnimplemented(Save(journal_, Sample()))) << text;
    EXPECT_EQ(control::ReadFileText(journal_.path()).value(), text);
  }
  fs::resize_file(journal_.path(), Journal::kMostText + 1);
  EXPECT_TRUE(absl::IsUnimplemented(Save(journal_, Sample())));
  EXPECT_EQ(fs::file_size(journal_.path()), Journal::kMostText + 1);
}

// No start could use it, and what is there is of a boot that was known.
TEST_F(JournalFile, OfAnUnknownBootNothingIsWritten) {
  State unknown = Sample();
  unknown.scope.boot.clear();
  EXPECT_TRUE(Save(journal_, unknown).ok());
  EXPECT_EQ(journal_.Load().value(), std::nullopt);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(JournalFile, AHugeOneIsNotRead) {
  Write(Text(Sample()));
  fs::resize_file(journal_.path(), Journal::kMostText + 1);
  EXPECT_THAT(Refusal(), HasSubstr("it is too large"));
  State huge = Sample();
  huge.own.node.uid.assign(Journal::kMostText, 'x');
  EXPECT_THAT(Save(journal_, huge).message(), HasSubstr("exceed its 64 MiB"));
  EXPECT_THAT(Refusal(), HasSubstr("it is too large")) << "what was there is there";
}

TEST_F(JournalFile, AFolderInItsPlace) {
  fs::create_directories(journal_.path());
  EXPECT_THAT(Refusal(), HasSubstr("no regular file"));
  EXPECT_THAT(Save(journal_, Sample()).message(), HasSubstr("--state-dir"));
  if (fs::path::preferred_separator != '/') return;  // links need a right there
  fs::remove_all(folder_);
  fs::create_symlink(folder_, folder_);
  EXPECT_THAT(Refusal(), HasSubstr("it cannot be inspected: "));
}

TEST_F(JournalFile, OneOfAnotherUserIsNotTrusted) {
  ASSERT_TRUE(Save(journal_, Sample()).ok());
  if (!weft::testing::GiveAway(journal_.path())) GTEST_SKIP() << "needs root";
  EXPECT_THAT(Refusal(), HasSubstr("is not used"));
  ASSERT_TRUE(Save(journal_, Sample()).ok());
  EXPECT_EQ(Loaded(journal_), Sample());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the other's is set aside";
  if (weft::testing::AllowOtherUsersToWrite(journal_.path()))
    EXPECT_THAT(Refusal(), HasSubstr("is not used"));
}

TEST_F(JournalFile, AFailedWriteKeepsTheFormerOne) {
  const Journal nowhere(folder_ + "/file/below");
  Write("");
  std::ofstream(folder_ + "/file") << "no folder";
  EXPECT_THAT(Save(nowhere, Sample()).message(),
              ::testing::AllOf(HasSubstr("cannot make the folder: "), HasSubstr("--state-dir")));
  if (fs::path::preferred_separator != '/') return;
  // The folder's path is short enough, but not the file's.
  std::string deep = folder_;
  while (deep.size() < 3990) deep += "/" + std::string(90, 'd');
  deep += "/" + std::string(4089 - deep.size(), 'd');
  EXPECT_THAT(Save(Journal(deep), Sample()).message(),
              HasSubstr("journal.json cannot be inspected: File name too long; a restart"));
}

}  // namespace
}  // namespace weft::journal
