// SPDX-License-Identifier: Apache-2.0
#include "control/cni/containerd_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/test_path.h"

namespace weft::cni {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ContainerdFolders kDefaults = FoldersIn("").value();

struct TomlRow {
  const char* name;
  const char* toml;
  ContainerdFolders folders;
};
void PrintTo(const TomlRow& row, std::ostream* out) { *out << row.name; }

class FoldersTest : public ::testing::TestWithParam<TomlRow> {};
INSTANTIATE_TEST_SUITE_P(
    Toml, FoldersTest,
    ::testing::Values(
        TomlRow{"version1",
                "[plugins.cri.cni]\n conf_dir = \"/a\"\n bin_dir=\"/b\\\"c\"\n",
                {"/a", "/b\"c"}},
        TomlRow{
            "version2",
            "version = 2\r\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\r\n"
            "bin_dir = \"C:\\\\opt\\\\cni\\\\bin\"\r\nconf_dir = 'C:\\etc\\cni\\net.d' # here\r\n",
            {R"(C:\etc\cni\net.d)", R"(C:\opt\cni\bin)"}},
        TomlRow{"version3",
                "[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = ['/b', '/c']\n"
                "conf_dir = '/a'\n",
                {"/a", "/b"}},
        TomlRow{"a_list_over_lines",
                "[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = [\n  # ours\n\n"
                "  \"/b\",\n]\n",
                {kDefaults.conf_dir, "/b"}},
        TomlRow{"other_sections",
                "conf_dir = '/x'\n[plugins.\"io.containerd.grpc.v1.cri\"]\nconf_dir = '/x'\n"
                "[plugins.other.cni]\nconf_dir = '/x'\n",
                kDefaults},
        TomlRow{"empty_values",
                "[plugins.cri.cni]\nconf_dir = \"\"\nbin_dirs = []\nmax_conf_num = 1\n",
                kDefaults}),
    [](const auto& each) { return each.param.name; });

TEST_P(FoldersTest, AreRead) {
  const auto folders = FoldersIn(GetParam().toml);
  ASSERT_TRUE(folders.ok()) << folders.status();
  EXPECT_EQ(folders->conf_dir, GetParam().folders.conf_dir);
  EXPECT_EQ(folders->bin_dir, GetParam().folders.bin_dir);
}

// TOML that containerd takes and nobody writes, and files that are not read: not passed over.
TEST(FoldersInTest, WhatIsNotUnderstoodIsNamed) {
  const struct {
    const char *toml, *unread;  // "": nothing is left out
  } rows[] = {
      {"version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n",
       "line 2, which imports other files, may set conf_dir or bin_dir; give both with"},
      {"imports = [\n  \"a.toml\",\n]\n", "line 1, which imports"},
      {"imports = []\n", ""},
      {"imports = [ ] # 'none'\n", ""},
      {"plugins.cri.cni.conf_dir = '/a'\n", "line 1, may set conf_dir or bin_dir"},
      {"[plugins.'io.containerd.grpc.v1.cri']\ncni.bin_dir = '/b'\n", "line 2, may set"},
      {"[plugins.'io.containerd.cri.v1.runtime']\n\ncni = { bin_dirs = ['/b'] }\n",
       "line 3, may set"},
      {"[plugins.cri.containerd.runtimes.a]\ncni_conf_dir = '/a'\n", ""},
      {"[plugins.other]\nconf_dir = '/a'\na.conf_dir = '/a'\n# cni = { conf_dir = '/a' }\n", ""},
      {"[plugins.other]\ncni_timeout = 7\nargs = [\n  'cni/conf_dir',\n]\n", ""},
      {"[plugins.cri.cni]\nconf_template = '/cni/conf_dir'\n", ""},
  };
  for (const auto& row : rows) {
    const auto folders = FoldersIn(row.toml);
    ASSERT_TRUE(folders.ok()) << row.toml << folders.status();
    EXPECT_EQ(folders->conf_dir, kDefaults.conf_dir) << row.toml;
    if (*row.unread == '\0')
      EXPECT_EQ(folders->unread, "") << row.toml;
    else
      EXPECT_THAT(folders->unread, HasSubstr(row.unread)) << row.toml;
  }
}

TEST(FoldersInTest, AValueThatIsNoTextIsNamedByItsLine) {
  for (const char* const value : {"7", "", "\"/a", "'/a", "\"\\", "\"\\u0041\"", "# '/a' #"}) {
    EXPECT_EQ(FoldersIn(std::string("[plugins.cri.cni]\nconf_dir = ") + value).status().message(),
              "line 2 has no text in quotes")
        << value;
  }
}

class ContainerdFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  const std::filesystem::path root_ = weft::testing::TestPath();
};

TEST_F(ContainerdFilesTest, AMissingFileSetsNothingAndABrokenOneIsNamed) {
  const std::string path = (root_ / "config.toml").string();
  EXPECT_EQ(ReadContainerdFolders(path).value(), kDefaults);
  const std::filesystem::path long_path = root_ / std::string(300, 'n');
  std::error_code error;
  EXPECT_FALSE(std::filesystem::exists(long_path, error));
  EXPECT_EQ(ReadContainerdFolders(long_path.string()).ok(), !error) << "a missing one on Windows";
  Write("config.toml", "[plugins.cri.cni]\nconf_dir = 7");
  EXPECT_THAT(std::string(ReadContainerdFolders(path).status().message()),
              HasSubstr("config.toml: line 2 has no text in quotes; give --conf-dir"));
  Write("config.toml", std::string(1024 * 1024 + 1, '#'));
  EXPECT_THAT(std::string(ReadContainerdFolders(path).status().message()),
              HasSubstr("it is too large; give --conf-dir"));
}

TEST_F(ContainerdFilesTest, ConfigurationsInContainerdsOrder) {
  EXPECT_THAT(ConfigsIn((root_ / "none").string()).value(), IsEmpty());
  for (const char* const name : {"10-b.conf", "05.json", "10-a.conflist", "00.txt", "9"})
    Write(name, "");
  EXPECT_THAT(ConfigsIn(root_.string()).value(),
              ElementsAre("05.json", "10-a.conflist", "10-b.conf"));
  EXPECT_THAT(std::string(ConfigsIn((root_ / "9").string()).status().message()),
              HasSubstr("; give another --conf-dir"));
}

}  // namespace
}  // namespace weft::cni
