// SPDX-License-Identifier: Apache-2.0
#include "control/cli/node_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "control/cni/source_vip.h"
#include "control/process_lock.h"
#include "tests/support/test_path.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSubnetEnv[] =
    "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\n"
    "FLANNEL_IPMASQ=true\n";
#ifdef _WIN32  // where no name ends in a dot
constexpr char kNoRange[] = "cni/flannel.4096/last_reserved_ip";
#else
constexpr char kNoRange[] = "cni/flannel.4096/last_reserved_ip.";
#endif

class NodeFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { Sow(); }
  void TearDown() override { fs::remove_all(root_); }

  // What a node has: flanneld's files, and others in the same folders.
  void Sow() {
    fs::remove_all(root_);
    const std::string subnet = "10.244.1.0/24";
    Write("run/subnet.env", kSubnetEnv);
    Write("run/subnet.env.weft-0123456789abcdef", "");
    Write("vip/sourceVip.json",
          cni::SourceVipJson(*IpAddress::Parse("10.244.1.2"), *IpPrefix::Parse(subnet)));
    Write("cni/flannel.4096/10.244.1.2", "kube-proxy\r\nsource-vip");
    Write("cni/flannel.4096/10.244.1.7", "4711\r\neth0");
    Write("cni/flannel.4096/10.244.1.7.weft-0123456789abcdef", "");
    Write("cni/flannel.4096/fd00__7", "4711\r\neth0");
    Write("cni/flannel.4096/last_reserved_ip.0", "10.244.1.7");
    Write("cni/flannel.4096/lock", "");
    Write("log/flanneld.log", "x");
    Write("log/flanneld.1.log", "x");
    Write("state/journal.json", "{}");
    Write("state/journal.json.weft-0123456789abcdef", "");
    Write("state/ledger.json", "{}");
    Write("state/ledger.changes", "");
    Write("state/ledger.json.broken-0123456789abcdef", "");
    Write("state/lock", "");
    Write("state/cni.lock", "");
  }
  // Files of other programs, in each folder.
  void SowForeign() {
    for (const char* const name : {"run/docker.pid",
                                   "run/subnet.env.bak",
                                   "vip/other.json",
                                   "cni/flannel.4096/notes",
                                   "cni/flannel.4096/notes.weft-0123456789abcdef",
                                   "cni/flannel.4096/7",
                                   "cni/flannel.4096/10.244.1.9.backup",
                                   kNoRange,
                                   "cni/flannel.4096/last_reserved_ip.x",
                                   "cni/other/10.9.0.1",
                                   "cni/results/x",
                                   "log/app.log",
                                   "log/flanneld.x.log",
                                   "log/flanneld..log",
                                   "log/flanneld.1.txt",
                                   "state/.broken-0123456789abcdef",
                                   "state/cni.json.orig99",
                                   "state/journal.json.AbCdEf",
                                   "state/ledger.json.backup",
                                   "state/ledger.json.broken-by-me",
                                   "state/ledger.json.foreign-0123456789abcdef",
                                   "state/ledger.json0123456789abcdef",
                                   "state/own.txt"})
      Write(name, "not ours");
  }
  void Write(const std::string& name, const std::string& text) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  NodeFiles Files() const {
    return {At("run/subnet.env"), At("cni"),       At("vip/sourceVip.json"), At("log"),
            At("state"),          {"flannel.4096"}};
  }
  std::string At(const std::string& name) const { return (root_ / name).string(); }
  // Paths under the root, folders with a slash.
  std::vector<std::string> Tree() const {
    std::vector<std::string> tree;
    for (const auto& each : fs::recursive_directory_iterator(root_)) {
      tree.push_back(fs::relative(each.path(), root_).generic_string() +
                     (each.is_directory() ? "/" : ""));
    }
    std::ranges::sort(tree);
    return tree;
  }
  // Both parts, the first `most` changes of them; how many there were.
  std::size_t Apply(std::size_t most = SIZE_MAX) {
    std::size_t applied = 0;
    for (const Deletions& part : {FindDeletions(Files()), FindStateDeletions(Files())}) {
      for (const Deletion& each : part.rows) {
        if (applied == most) return applied;
        const absl::Status status = each.apply();
        EXPECT_TRUE(status.ok()) << status;
        ++applied;
      }
    }
    return applied;
  }

  const fs::path root_ = weft::testing::TestPath();
};

TEST_F(NodeFilesTest, EverythingOfOursGoes) {
  EXPECT_EQ(Apply(), 20u);
  EXPECT_THAT(Tree(), ElementsAre("cni/", "run/", "vip/"));
  EXPECT_EQ(Apply(), 0u) << "a second run has nothing to do";
  EXPECT_THAT(FindDeletions(Files()).kept, IsEmpty());
  Sow();
  fs::remove(root_ / "cni/flannel.4096/lock");
  EXPECT_EQ(Apply(), 19u);
  EXPECT_THAT(Tree(), ElementsAre("cni/", "run/", "vip/"));
}

TEST_F(NodeFilesTest, ForeignFilesStayAndAreNamed) {
  SowForeign();
  Deletions found = FindDeletions(Files());
  EXPECT_THAT(found.kept,
              ElementsAre(At("cni/flannel.4096/10.244.1.9.backup") + ": flanneld did not write it",
                          At("cni/flannel.4096/7") + ": flanneld did not write it",
                          At(kNoRange) + ": flanneld did not write it",
                          At("cni/flannel.4096/last_reserved_ip.x") + ": flanneld did not write it",
                          At("cni/flannel.4096/notes") + ": flanneld did not write it",
                          At("cni/flannel.4096/notes.weft-0123456789abcdef") +
                              ": flanneld did not write it",
                          At("log/app.log") + ": flanneld did not write it",
                          At("log/flanneld..log") + ": flanneld did not write it",
                          At("log/flanneld.1.txt") + ": flanneld did not write it",
                          At("log/flanneld.x.log") + ": flanneld did not write it"));
  found = FindStateDeletions(Files());
  EXPECT_THAT(
      found.kept,
      ElementsAre(HasSubstr("state/.broken-"), HasSubstr("state/cni.json.orig99"),
                  HasSubstr("state/journal.json.AbCdEf"), HasSubstr("state/ledger.json.backup"),
                  HasSubstr("state/ledger.json.broken-"), HasSubstr("state/ledger.json.foreign-"),
                  HasSubstr("state/ledger.json0123"), HasSubstr("state/own.txt")));
  Apply();
  EXPECT_THAT(
      Tree(),
      ElementsAre("cni/", "cni/flannel.4096/", "cni/flannel.4096/10.244.1.9.backup",
                  "cni/flannel.4096/7", kNoRange, "cni/flannel.4096/last_reserved_ip.x",
                  "cni/flannel.4096/notes", "cni/flannel.4096/notes.weft-0123456789abcdef",
                  "cni/other/", "cni/other/10.9.0.1", "cni/results/", "cni/results/x", "log/",
                  "log/app.log", "log/flanneld..log", "log/flanneld.1.txt", "log/flanneld.x.log",
                  "run/", "run/docker.pid", "run/subnet.env.bak", "state/",
                  "state/.broken-0123456789abcdef", "state/cni.json.orig99",
                  "state/journal.json.AbCdEf", "state/ledger.json.backup",
                  "state/ledger.json.broken-by-me", "state/ledger.json.foreign-0123456789abcdef",
                  "state/ledger.json0123456789abcdef", "state/own.txt", "vip/", "vip/other.json"));
}

// Killed before each of its changes.
TEST_F(NodeFilesTest, ASecondRunCompletesAnyKilledOne) {
  SowForeign();
  const std::size_t changes = Apply();
  const std::vector<std::string> done = Tree();
  ASSERT_GT(changes, 10u);
  for (std::size_t killed_at = 0; killed_at < changes; ++killed_at) {
    Sow();
    SowForeign();
    EXPECT_EQ(Apply(killed_at), killed_at);
    EXPECT_EQ(Apply(), changes - killed_at);
    EXPECT_EQ(Tree(), done) << "killed before change " << killed_at;
  }
}

TEST_F(NodeFilesTest, AFileOfThatNameWithAnotherContentStays) {
  for (const char* const text : {"PATH=/bin\n", "", "FLANNEL_SUBNET\n", "FLANNEL_MTU=1\nX=1\n"}) {
    Write("run/subnet.env", text);
    EXPECT_THAT(FindDeletions(Files()).kept,
                Contains(At("run/subnet.env") + ": flanneld did not write it"))
        << text;
  }
  for (const char* const text :
       {"{}", "[]", "x", R"({"ip4":7})", R"({"ip4":{"ip":7}})", R"({"ip4":{"ip":"10.244.1.2"}})",
        R"({"ip4":{"ip":"10.244.1.2/24","gateway":"10.244.1.1"}})", R"({"ip4":{"ip":"a/24"}})",
        R"({"ip4":{"ip":"10.244.1.2/33"}})"}) {
    Write("vip/sourceVip.json", text);
    EXPECT_THAT(FindDeletions(Files()).kept,
                Contains(At("vip/sourceVip.json") + ": flanneld did not write it"))
        << text;
  }
  Write("run/subnet.env", std::string(65 * 1024, 'x'));
  EXPECT_THAT(FindDeletions(Files()).kept, Contains(At("run/subnet.env") + ": it is too large"));
}

TEST_F(NodeFilesTest, AFolderInThePlaceOfAFileStays) {
  fs::remove(root_ / "run/subnet.env");
  fs::create_directory(root_ / "run/subnet.env");
  fs::remove(root_ / "state/lock");
  fs::create_directory(root_ / "state/lock");
  fs::remove_all(root_ / "log");
  Write("log", "a file");
  EXPECT_THAT(FindDeletions(Files()).kept, ElementsAre(At("run/subnet.env") + ": it is no file",
                                                       At("log") + ": it is no folder"));
  EXPECT_THAT(FindStateDeletions(Files()).kept,
              ElementsAre(At("state/lock") + ": flanneld did not write it"));
}

// host-local's folder may be given to another program by a link.
TEST_F(NodeFilesTest, LinksAreNotFollowed) {
  Write("elsewhere/10.244.1.9", "x");
  fs::remove_all(root_ / "cni/flannel.4096");
  std::error_code error;
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "cni/flannel.4096", error);
  if (error) return;  // this file system has no links
  EXPECT_THAT(FindDeletions(Files()).kept, Contains(At("cni/flannel.4096") + ": it is no folder"));
  Apply();
  EXPECT_TRUE(fs::exists(root_ / "elsewhere/10.244.1.9"));
}

TEST_F(NodeFilesTest, ANetworksNameNeverLeadsOutOfTheStore) {
  for (const char* const name : {"10.0.0.1", "cni/10.0.0.1", "cni/a/x", "cni/file"})
    Write(name, "x");
  for (const char* const name : {"..", ".", "", "a/../..", "..\\", "C:x", "file", "missing"}) {
    NodeFiles files = Files();
    files.networks = {name};
    for (const Deletion& each : FindDeletions(files).rows)
      EXPECT_THAT(each.what, ::testing::Not(HasSubstr("10.0.0.1"))) << name;
    EXPECT_THAT(ContainersIn(files), IsEmpty()) << name;
  }
}

TEST_F(NodeFilesTest, AddressesOfContainersAreThoseThatNoSourceVipHas) {
  Write("cni/flannel.4096/10.244.1.8", "dummy\r\ndummy");
  Write("cni/flannel.4096/10.244.1.9", "kube-proxy");
  Write("cni/flannel.4096/10.244.1.6", std::string(65 * 1024, 'x'));
  EXPECT_THAT(ContainersIn(Files()), ElementsAre("10.244.1.6 (\"its file cannot be read\")",
                                                 "10.244.1.7 (\"4711\")", "fd00::7 (\"4711\")"));
}

TEST_F(NodeFilesTest, NothingOfHostLocalsIsDeletedWhileItWorks) {
  const auto lock = control::ProcessLock::TryTakeHostLocal(At("cni/flannel.4096/lock"));
  ASSERT_TRUE(lock.ok()) << lock.status();
  std::ostringstream out, err;
  std::istringstream in;
  Io io{in, out, err};
  EXPECT_FALSE(Delete(FindDeletions(Files()), /*dry_run=*/false, "reset", io));
  EXPECT_TRUE(fs::exists(root_ / "cni/flannel.4096/10.244.1.7"));
  EXPECT_THAT(err.str(), HasSubstr("flannelctl reset: not complete; run it again\n"));
}

TEST_F(NodeFilesTest, ADryRunDeletesNothing) {
  const std::vector<std::string> before = Tree();
  std::ostringstream out, err;
  std::istringstream in;
  Io io{in, out, err};
  EXPECT_TRUE(Delete(FindDeletions(Files()), /*dry_run=*/true, "reset", io));
  EXPECT_EQ(Tree(), before);
  EXPECT_THAT(out.str(), HasSubstr("would delete " + At("run/subnet.env") + "\n"));
}

}  // namespace
}  // namespace weft::cli
