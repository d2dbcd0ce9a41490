// SPDX-License-Identifier: Apache-2.0
#include "control/cni/installed_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "control/file_io.h"
#include "control/process_lock.h"
#include "tests/support/test_path.h"

namespace weft::cni {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InstalledConfigTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  InstallRequest Request(const std::string& text,
                         const std::string& name = "10-flannel.conflist") const {
    return {(root_ / "state").string(), PathOf(name), text};
  }
  std::string PathOf(const std::string& name) const { return (root_ / "net.d" / name).string(); }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string Read(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(root_ / "net.d", error))
      names.push_back(each.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  RemovedConfig Removed() const { return *RemoveInstalledConfig((root_ / "state").string()); }

  const std::filesystem::path root_ = weft::testing::TestPath();
  const std::string ours_ = PathOf("10-flannel.conflist");
};

TEST_F(InstalledConfigTest, AnUnchangedFileIsNotWrittenAgain) {
  EXPECT_TRUE(InstallConfig(Request("a"))->written);
  EXPECT_EQ(Read(ours_), "a");
  const std::filesystem::path record = root_ / "state" / "cni.json";
  const auto time = std::filesystem::last_write_time(ours_) - std::chrono::hours(1);
  for (const auto& file : {std::filesystem::path(ours_), record})
    std::filesystem::last_write_time(file, time);
  EXPECT_FALSE(InstallConfig(Request("a"))->written);
  EXPECT_EQ(std::filesystem::last_write_time(ours_), time);
  EXPECT_EQ(std::filesystem::last_write_time(record), time);
  EXPECT_TRUE(InstallConfig(Request("b"))->written) << "other facts";
  EXPECT_EQ(Read(ours_), "b");
  EXPECT_THAT(Names(), ElementsAre("10-flannel.conflist"));
}

// As after net-conf's Backend.Type or the node's podCIDR changed.
TEST_F(InstalledConfigTest, WhatDoesNotFitTheNodeIsNamed) {
  NodeFacts facts;
  facts.network = "cbr0";
  facts.bridge = true;
  facts.subnet = IpPrefix::Parse("10.244.7.0/24");
  const auto why = [&](const std::string& text) {
    EXPECT_TRUE(InstallConfig(Request(text)).ok());
    return WhyUnfit((root_ / "state").string(), facts);
  };
  const auto config = [](const std::string& name, const std::string& type,
                         const std::string& subnet) {
    return R"({"name":")" + name + R"(","cniVersion":"1.0.0","plugins":[{"type":")" + type +
           R"(","ipam":{"type":"host-local","subnet":")" + subnet + R"("}}]})";
  };
  EXPECT_EQ(WhyUnfit((root_ / "state").string(), facts), "") << "nothing is installed";
  EXPECT_EQ(why(config("cbr0", "win-bridge", "10.244.7.0/24")), "") << "no policies: meant so";
  EXPECT_EQ(why(config("flannel.4096", "win-bridge", "10.244.7.0/24")),
            "the CNI configuration " + ours_ +
                ": name: flanneld's network is cbr0: no pod can start in it; set name to that; run "
                "\"flannelctl cni install\" again");
  EXPECT_THAT(why(config("cbr0", "win-overlay", "10.244.7.0/24")),
              HasSubstr("plugins[0].type: net-conf's Backend.Type is host-gw"));
  EXPECT_THAT(why(config("cbr0", "win-bridge", "10.244.8.0/24")),
              HasSubstr("plugins[0].ipam.subnet: the node's subnet is 10.244.7.0/24"));
  EXPECT_THAT(why("{"), HasSubstr(ours_));
  std::filesystem::remove(ours_);
  EXPECT_EQ(WhyUnfit((root_ / "state").string(), facts), "") << "it was removed";
  Write((root_ / "state" / "cni.json").string(), "{}");
  EXPECT_THAT(WhyUnfit((root_ / "state").string(), facts), HasSubstr("cni.json: it is not of the"));
  Write((root_ / "state" / "cni.json").string(), R"({"version": 2, "files": [)");
  EXPECT_THAT(WhyUnfit((root_ / "state").string(), facts), HasSubstr("cni.json has version 2"));
}

TEST_F(InstalledConfigTest, AnotherProgramsFileIsNotReplaced) {
  Write(ours_, "theirs");
  Write(PathOf("05-other.conf"), "other");
  const auto refused = InstallConfig(Request("a"));
  EXPECT_THAT(refused.status().message(),
              AllOf(HasSubstr(ours_), HasSubstr("did not write"), HasSubstr("--overwrite")));
  EXPECT_EQ(Read(ours_), "theirs");
  EXPECT_THAT(Removed().removed, IsEmpty()) << "a refused install makes nothing ours";
  InstallRequest request = Request("a");
  request.overwrite = true;
  EXPECT_TRUE(InstallConfig(request)->written);
  EXPECT_EQ(Read(ours_), "a");
  EXPECT_EQ(Read(PathOf("05-other.conf")), "other");
}

// The older program of an operator who goes back: pods must start.
TEST_F(InstalledConfigTest, ARecordOfALaterVersionIsLeftAndStopsNothing) {
  const std::string record = (root_ / "state" / "cni.json").string();
  for (const char* text : {R"({"apiVersion": "weft/cni/v1", "version": 2, "files": []})",
                           R"({"apiVersion": "weft/cni/v2", "version": 2, "rows": {}})"}) {
    SCOPED_TRACE(text);
    std::filesystem::remove_all(root_);
    Write(record, text);
    const auto installed = InstallConfig(Request("a"));
    ASSERT_TRUE(installed.ok()) << installed.status();
    EXPECT_TRUE(installed->written);
    EXPECT_THAT(installed->left,
                ElementsAre(AllOf(HasSubstr("cni.json"), HasSubstr("has version 2"),
                                  ::testing::Not(HasSubstr("remove it")))));
    EXPECT_FALSE(InstallConfig(Request("a"))->differs);
    const auto other = InstallConfig(Request("b"));
    EXPECT_FALSE(other->written) << "perhaps the later program's";
    EXPECT_TRUE(other->differs);
    EXPECT_EQ(Read(ours_), "a");
    std::filesystem::remove(ours_);
    std::filesystem::create_directories(ours_);
    EXPECT_TRUE(InstallConfig(Request("a"))->differs);
    EXPECT_EQ(Read(record), text);
    EXPECT_EQ(RemoveInstalledConfig((root_ / "state").string()).status().code(),
              absl::StatusCode::kUnimplemented);
  }
}

// Byte for byte as commit 0ac4ae1 wrote it, the last one whose record has no version.
TEST_F(InstalledConfigTest, TheRecordOf0ac4ae1IsRead) {
  const std::string path = std::filesystem::path(ours_).generic_string();
  Write(ours_, "a");
  Write((root_ / "state" / "cni.json").string(),
        "{\n  \"apiVersion\": \"weft/cni/v1\",\n  \"files\": [\n    {\n      \"path\": \"" + path +
            "\",\n      \"texts\": [\n        \"a\"\n      ]\n    }\n  ]\n}\n");
  EXPECT_THAT(*ReadConfigRecord((root_ / "state").string()), ElementsAre(ConfigFile{path, {"a"}}));
  EXPECT_THAT(Removed().removed, ElementsAre(path));
  EXPECT_FALSE(std::filesystem::exists(ours_));
}

TEST_F(InstalledConfigTest, AFileThatAPersonChangedIsLeft) {
  ASSERT_TRUE(InstallConfig(Request("a")).ok());
  Write(ours_, "a, changed");
  EXPECT_THAT(InstallConfig(Request("b")).status().message(), HasSubstr("was changed after"));
  for (int run = 0; run < 2; ++run) {
    const RemovedConfig removed = Removed();
    EXPECT_THAT(removed.removed, IsEmpty());
    EXPECT_THAT(removed.left, ElementsAre(AllOf(HasSubstr(ours_), HasSubstr("was changed after"))));
  }
  EXPECT_EQ(Read(ours_), "a, changed");
  Write(ours_, std::string(kMostConfigText + 1, 'a'));
  EXPECT_THAT(InstallConfig(Request("b")).status().message(), HasSubstr("was changed after"));
  EXPECT_THAT(Removed().left, ElementsAre(HasSubstr("is left: it is too large")));
  Write(ours_, "a");
  EXPECT_THAT(Removed().removed, ElementsAre(ours_)) << "changed back";
  EXPECT_FALSE(std::filesystem::exists(ours_));
  EXPECT_FALSE(std::filesystem::exists(root_ / "state" / "cni.json"));
  EXPECT_THAT(Removed().removed, IsEmpty()) << "a second run";
}

TEST_F(InstalledConfigTest, AFileWithOurTextIsAdopted) {
  Write(ours_, "a");
  EXPECT_FALSE(InstallConfig(Request("a"))->written);
  EXPECT_THAT(Removed().removed, ElementsAre(ours_));
}

TEST_F(InstalledConfigTest, AnotherPlaceReplacesTheFormer) {
  ASSERT_TRUE(InstallConfig(Request("a")).ok());
  ASSERT_TRUE(InstallConfig(Request("b", "05-flannel.conflist")).ok());
  EXPECT_THAT(Names(), ElementsAre("05-flannel.conflist"));
  Write(PathOf("05-flannel.conflist"), "changed");
  const auto installed = InstallConfig(Request("c"));
  EXPECT_THAT(installed->left, ElementsAre(HasSubstr("05-flannel.conflist")));
  EXPECT_EQ(Read(PathOf("05-flannel.conflist")), "changed");
  EXPECT_THAT(Removed().removed, ElementsAre(ours_));
}

TEST_F(InstalledConfigTest, ADryRunRemovesNothing) {
  ASSERT_TRUE(InstallConfig(Request("a")).ok());
  const auto would = RemoveInstalledConfig((root_ / "state").string(), /*dry_run=*/true);
  EXPECT_THAT(would->removed, ElementsAre(ours_));
  EXPECT_EQ(Read(ours_), "a");
  Write(ours_, "changed");
  EXPECT_THAT(RemoveInstalledConfig((root_ / "state").string(), /*dry_run=*/true)->left,
              ElementsAre(HasSubstr("was changed after")));
  Write(ours_, "a");
  EXPECT_THAT(Removed().removed, ElementsAre(ours_));
}

TEST_F(InstalledConfigTest, AFolderOrALinkIsNotReplacedAndNotRemoved) {
  std::filesystem::create_directories(ours_);
  EXPECT_THAT(InstallConfig(Request("a")).status().message(), HasSubstr("no regular file"));
  std::filesystem::remove(ours_);
  ASSERT_TRUE(InstallConfig(Request("a")).ok());
  std::filesystem::remove(ours_);
  std::filesystem::create_directories(ours_);
  EXPECT_THAT(Removed().left, ElementsAre(HasSubstr("no regular file")));
  EXPECT_TRUE(std::filesystem::is_directory(ours_));
}

// Also with our own text: it is a person's copy.
TEST_F(InstalledConfigTest, CopiesNextToItStay) {
  const std::vector<std::string> names = {
      "10-flannel.conflist",        "10-flannel.conflist.0123456789abcdef.tmp",
      "10-flannel.conflist.AbCdEf", "10-flannel.conflist.backup",
      "10-flannel.conflist.bak.01", "10-flannel.conflist.before",
      "10-flannel.conflist.dpkg12", "10-flannel.conflist.rpmnew",
      "10-flannel.conflist.weft-1"};
  for (const std::string& name : names) Write(PathOf(name), "a");
  InstallRequest request = Request("b");
  request.overwrite = true;
  ASSERT_TRUE(InstallConfig(request).ok());
  EXPECT_EQ(Names(), names);
  EXPECT_THAT(Removed().removed, ElementsAre(ours_));
  EXPECT_EQ(Names(), std::vector(names.begin() + 1, names.end()));
}

TEST_F(InstalledConfigTest, NamesThatContainerdDoesNotReadAreRefused) {
  EXPECT_THAT(InstallConfig(Request("a", "10-flannel.txt")).status().message(),
              HasSubstr(".conflist"));
  EXPECT_THAT(InstallConfig(Request(std::string(kMostConfigText + 1, 'a'))).status().message(),
              HasSubstr("its text is too long; shorten it"));
  EXPECT_FALSE(std::filesystem::exists(root_));
}

TEST_F(InstalledConfigTest, AFileInPlaceOfAFolderIsNamed) {
  Write((root_ / "state").string(), "a file");
  EXPECT_THAT(InstallConfig(Request("a")).status().message(),
              AllOf(HasSubstr("the folder "), HasSubstr("give another one with --state-dir")));
  std::filesystem::remove(root_ / "state");
  Write((root_ / "net.d").string(), "a file");
  EXPECT_THAT(InstallConfig(Request("a")).status().message(),
              HasSubstr("10-flannel.conflist: " +
                        std::make_error_code(std::errc::not_a_directory).message() +
                        "; make room there, or give another --conf-dir"));
}

TEST_F(InstalledConfigTest, OneRunWorksAtATime) {
  ASSERT_TRUE(InstallConfig(Request("a")).ok());
  const auto lock = control::ProcessLock::TryTake((root_ / "state" / "cni.lock").string());
  ASSERT_TRUE(lock.ok()) << lock.status();
  for (const absl::Status& status : {InstallConfig(Request("b")).status(),
                                     RemoveInstalledConfig((root_ / "state").string()).status()})
    EXPECT_THAT(status.message(), HasSubstr("run this again when it has ended"));
  EXPECT_EQ(Read(ours_), "a");
}

TEST_F(InstalledConfigTest, ADamagedRecordIsNamed) {
  ASSERT_TRUE(InstallConfig(Request("a")).ok());
  const std::string record = (root_ / "state" / "cni.json").string();
  for (const char* text :
       {"", "{", "[]", R"({"apiVersion":"weft/cni/v2","files":[]})",
        R"({"apiVersion":"weft/cni/v1","files":[{"path":1,"texts":[]}]})",
        R"({"apiVersion":"weft/cni/v1","files":[{"path":"/etc/passwd","texts":[]}]})",
        R"({"apiVersion":"weft/cni/v1","files":[{"path":"/a.conf","texts":[1]}]})"}) {
    SCOPED_TRACE(text);
    Write(record, text);
    EXPECT_THAT(InstallConfig(Request("b")).status().message(), HasSubstr("cni.json"));
    EXPECT_THAT(RemoveInstalledConfig((root_ / "state").string()).status().message(),
                HasSubstr("remove it"));
    EXPECT_EQ(Read(ours_), "a");
  }
  Write(record, std::string(16 * kMostConfigText + 1, ' '));
  EXPECT_THAT(InstallConfig(Request("b")).status().message(),
              HasSubstr("cni.json: it is too large; remove it"));
  std::filesystem::remove(record);
  std::filesystem::create_directories(record);
  EXPECT_THAT(InstallConfig(Request("b")).status().message(),
              HasSubstr("cni.json: it is no regular file; remove it"));
}

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

// A run that ends before its n-th change, for each n: the file has the old or the new text, a
// second run completes, or an uninstall removes it.
TEST_F(InstalledConfigTest, ASecondRunCompletesAnyKilledOne) {
  int most = 0;
  for (const bool uninstall : {false, true}) {
    for (int n = 0, killed = true; killed; ++n) {
      SCOPED_TRACE(n);
      std::filesystem::remove_all(root_);
      ASSERT_TRUE(InstallConfig(Request("old", "05-old.conflist")).ok());
      ASSERT_TRUE(InstallConfig(Request("old")).ok());
      Write(control::TemporaryOf(ours_), "half");  // of a killed ReplaceFileText
      Write(PathOf("20-other.conf"), "other");
      InstallRequest request = Request("new");
      int left = n;
      request.before_change = [&left] {
        if (left-- == 0) throw Killed();
      };
      killed = false;
      try {
        ASSERT_TRUE(InstallConfig(request).ok());
      } catch (const Killed&) {
        killed = true;
      }
      most = std::max(most, n);
      EXPECT_THAT(Read(ours_), ::testing::AnyOf("old", "new"));
      if (uninstall) {
        EXPECT_THAT(Removed().removed, ElementsAre(ours_));
        EXPECT_THAT(Names(), ElementsAre("20-other.conf"));
      } else {
        EXPECT_EQ(InstallConfig(Request("new")).status(), absl::OkStatus());
        EXPECT_EQ(Read(ours_), "new");
        EXPECT_THAT(Names(), ElementsAre("10-flannel.conflist", "20-other.conf"));
        EXPECT_THAT(*ReadConfigRecord((root_ / "state").string()),
                    ElementsAre(ConfigFile{ours_, {"new"}}));
      }
    }
  }
  EXPECT_EQ(most, 7) << "changes of an install";
}

}  // namespace
}  // namespace weft::cni
