// SPDX-License-Identifier: Apache-2.0
#include "control/sources/file_source.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/node_json.h"

namespace weft::control {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeJson;
using testing::NodeListJson;

// Records the reports: "snapshot a b", "own us", "own none", "condition <text>", "well".
class Listener : public lease::SourceListener {
 public:
  std::vector<std::string> reports;

  std::vector<std::string> Take() { return std::exchange(reports, {}); }
  void OnSnapshotBegin() override { snapshot = "snapshot"; }
  void OnSnapshotEnd() override { reports.push_back(std::exchange(snapshot, {})); }
  void OnUpsert(const lease::Lease& lease) override { Add(" " + lease.node.name); }
  void OnDelete(const lease::NodeKey&) override { ADD_FAILURE(); }
  void OnRefused(const lease::RefusedNode& node) override { Add(" !" + node.name); }
  void OnCondition(const absl::Status& status) override {
    reports.push_back(status.ok() ? "well" : "condition " + std::string(status.message()));
  }
  void OnOwnNode(const std::optional<lease::OwnNode>& node) override {
    if (node) reports.push_back("own " + node->node.name);
  }

 private:
  void Add(const std::string& what) {
    EXPECT_FALSE(snapshot.empty()) << what << " outside a snapshot";
    snapshot += what;
  }

  std::string snapshot;
};

class FileSourceTest : public ::testing::Test {
 protected:
  FileSourceTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~FileSourceTest() override { fs::remove_all(folder); }

  static std::string List(const std::vector<std::string>& names) {
    std::vector<NodeJson> nodes;
    for (std::size_t i = 0; i < names.size(); ++i) {
      nodes.push_back(
          NodeJson(names[i]).Leased("10.244." + std::to_string(i) + ".0/24", "192.0.2.1"));
    }
    return NodeListJson(nodes);
  }
  static void Write(const fs::path& to, const std::string& text) {
    std::ofstream(to, std::ios::binary) << text;
  }
  // Two polls: a change within the clock's grain of the last read is seen by the second.
  void Poll() {
    source.Poll();
    source.Poll();
  }

  // One for each case: ctest runs them side by side.
  const fs::path folder =
      fs::temp_directory_path() / (std::string("weft-file-source-") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const fs::path path = folder / "nodes.json";
  Listener listener;
  FileSource source{path, kube::NodeJsonCodec({}, "us")};
};

TEST_F(FileSourceTest, StartReadsAtOnce) {
  Write(path, List({"a", "us"}));
  source.Start(listener);
  EXPECT_THAT(listener.Take(), ElementsAre("own us", "snapshot a us"));
  EXPECT_TRUE(source.status().ok());
}

TEST_F(FileSourceTest, AnUnchangedFileIsSilent) {
  Write(path, List({"a"}));
  source.Start(listener);
  listener.Take();
  for (int i = 0; i < 5; ++i) source.Poll();
  EXPECT_THAT(listener.Take(), IsEmpty());
}

TEST_F(FileSourceTest, WrittenInPlace) {
  Write(path, List({"a"}));
  source.Start(listener);
  listener.Take();
  Write(path, List({"a", "b"}));
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot a b"));
}

// A writer within the clock's grain of our read leaves time, size and inode as they were.
TEST_F(FileSourceTest, ASecondWriteWithinTheClocksResolutionIsSeen) {
  Write(path, List({"a"}));
  const auto time = fs::last_write_time(path);
  source.Start(listener);
  listener.Take();
  Write(path, List({"b"}));
  fs::last_write_time(path, time);
  source.Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot b"));
#ifndef _WIN32  // where no time can be set to the last digit
  Write(path, List({"c"}));
  fs::last_write_time(path, time);
  source.Poll();
  EXPECT_THAT(listener.Take(), IsEmpty()) << "a file that was read twice is not read again";
#endif
}

TEST_F(FileSourceTest, ReplacedByRename) {
  Write(path, List({"a"}));
  source.Start(listener);
  Poll();
  listener.Take();
  const auto time = fs::last_write_time(path);
  Write(folder / "next", List({"b"}));
  fs::last_write_time(folder / "next", time);
  fs::rename(folder / "next", path);
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot b"));
}

TEST_F(FileSourceTest, TouchedWithoutChangeIsSilent) {
  Write(path, List({"a"}));
  source.Start(listener);
  Poll();
  listener.Take();
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  Poll();
  EXPECT_THAT(listener.Take(), IsEmpty());
}

TEST_F(FileSourceTest, AFileThatDoesNotExistYet) {
  source.Start(listener);
  ASSERT_EQ(listener.reports.size(), 1u);
  EXPECT_THAT(listener.reports[0], HasSubstr("condition lease file "));
  EXPECT_THAT(listener.reports[0], HasSubstr("nodes.json"));
  EXPECT_THAT(listener.reports[0], HasSubstr("put the file back"));
  EXPECT_THAT(listener.reports[0], ::testing::Not(HasSubstr("stay in use")));
  EXPECT_FALSE(source.status().ok());
  listener.Take();
  Poll();
  EXPECT_THAT(listener.Take(), IsEmpty());
  Write(path, List({"a"}));
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot a", "well"));
}

TEST_F(FileSourceTest, AFolderThatDoesNotExistYet) {
  for (const fs::path& absent : {path, folder / "none" / "nodes.json"}) {
    FileSource lonely(absent, kube::NodeJsonCodec({}, "us"));
    lonely.Start(listener);
    EXPECT_TRUE(absl::IsNotFound(lonely.status())) << lonely.status();
  }
}

TEST_F(FileSourceTest, AFileThatVanishesAndComesBackTheSame) {
  Write(path, List({"a"}));
  source.Start(listener);
  listener.Take();
  fs::remove(path);
  Poll();
  ASSERT_THAT(listener.Take(), ElementsAre(HasSubstr("the leases read before stay in use")));
  Write(path, List({"a"}));
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("well"));
}

TEST_F(FileSourceTest, BrokenContentNamesThePositionAndIsFollowedByTheNextGood) {
  Write(path, List({"a"}));
  source.Start(listener);
  listener.Take();
  Write(path, "{\n  \"items\": [}\n");
  Poll();
  ASSERT_EQ(listener.reports.size(), 1u);
  EXPECT_THAT(listener.reports[0], HasSubstr("nodes.json: line 2, column 13: not JSON"));
  EXPECT_THAT(listener.reports[0], HasSubstr("correct the file"));
  listener.Take();
  Write(path, List({"a", "b"}));
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot a b", "well"));
}

TEST_F(FileSourceTest, AnEmptyFileIsAConditionNotAnEmptyCluster) {
  Write(path, List({"a"}));
  source.Start(listener);
  listener.Take();
  Write(path, "");
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre(HasSubstr("it is empty")));
}

TEST_F(FileSourceTest, AnotherCauseIsReportedAgain) {
  source.Start(listener);
  Write(path, "");
  Poll();
  Write(path, "7");
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre(HasSubstr("cannot be read"), HasSubstr("it is empty"),
                                           HasSubstr("the text is 7")));
}

TEST_F(FileSourceTest, RefusedNodesComeWithTheSnapshot) {
  Write(path, NodeListJson({NodeJson("a").Leased("10.244.1.0/24", "192.0.2.1"),
                            NodeJson("bad").Leased("x", "192.0.2.2"), NodeJson("other")}));
  source.Start(listener);
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot a !bad"));
  EXPECT_EQ(source.not_managed(), 1u);
}

TEST_F(FileSourceTest, ADirectoryIsNoFile) {
  fs::create_directory(path);
  source.Start(listener);
  EXPECT_THAT(listener.Take(), ElementsAre(::testing::AnyOf(HasSubstr("is not a regular file"),
                                                            HasSubstr("is a directory"))));
}

TEST_F(FileSourceTest, DescribesItself) { EXPECT_THAT(source.Describe(), HasSubstr("nodes.json")); }

TEST_F(FileSourceTest, ALargerFileThanTheLimitIsRefusedUnread) {
  Write(path, "x");
  std::error_code error;
  fs::resize_file(path, FileSource::kMaxSize + 1, error);  // sparse
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  source.Start(listener);
  EXPECT_THAT(listener.Take(), ElementsAre(HasSubstr("is it the right file?")));
}

// As kubelet swaps a ConfigMap: nodes.json -> ..data/nodes.json, ..data -> a folder that is
// replaced.
TEST_F(FileSourceTest, ConfigMapSwap) {
  std::error_code error;
  fs::create_directory(folder / "v1");
  fs::create_directory(folder / "v2");
  Write(folder / "v1" / "nodes.json", List({"a"}));
  Write(folder / "v2" / "nodes.json", List({"b"}));
  fs::create_directory_symlink("v1", folder / "data", error);
  if (error) GTEST_SKIP() << "no symlinks here: " << error.message();
  fs::create_symlink("data/nodes.json", path);
  source.Start(listener);
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot a"));
  fs::create_directory_symlink("v2", folder / "data.next");
  fs::rename(folder / "data.next", folder / "data");
  Poll();
  EXPECT_THAT(listener.Take(), ElementsAre("snapshot b"));
}

}  // namespace
}  // namespace weft::control
