// SPDX-License-Identifier: Apache-2.0
// Errors that only the kernel can cause: root may open every file.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "control/sources/file_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::control {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Conditions : public lease::SourceListener {
 public:
  void OnSnapshotBegin() override { ADD_FAILURE(); }
  void OnSnapshotEnd() override {}
  void OnUpsert(const lease::Lease&) override {}
  void OnDelete(const lease::NodeKey&) override {}
  void OnRefused(const lease::RefusedNode&) override {}
  void OnCondition(const absl::Status& status) override { seen.emplace_back(status.message()); }
  void OnOwnNode(const std::optional<lease::OwnNode>&) override {}

  std::vector<std::string> seen;
};

TEST(FileSourceLinuxTest, AFileThatCannotBeOpenedIsNamedWithTheCause) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "weft-file-source-unopened.json";
  std::ofstream(path) << R"({"items":[]})";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Conditions listener;
  FileSource source(path, kube::NodeJsonCodec({}, "us"));
  source.Start(listener);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  std::filesystem::remove(path);
  EXPECT_THAT(listener.seen,
              ElementsAre(AllOf(HasSubstr(path.native()),
                                HasSubstr("cannot be opened: Too many open files; check"))));
}

// A file of 4096 bytes whose read fails: `lo` has no speed.
TEST(FileSourceLinuxTest, AFileThatCannotBeReadIsNamedWithTheCause) {
  Conditions listener;
  FileSource source("/sys/class/net/lo/speed", kube::NodeJsonCodec({}, "us"));
  source.Start(listener);
  EXPECT_THAT(listener.seen, ElementsAre(AllOf(HasSubstr("/sys/class/net/lo/speed"),
                                               HasSubstr("cannot be read: Invalid argument"))));
}

}  // namespace
}  // namespace weft::control
