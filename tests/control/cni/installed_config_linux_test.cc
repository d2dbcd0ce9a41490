// SPDX-License-Identifier: Apache-2.0
// A disk that fills up between any two steps of an installation, played by the largest file that
// this process may write.
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "control/cni/installed_config.h"
#include "tests/support/test_path.h"

namespace weft::cni {
namespace {

TEST(InstalledConfigLinuxTest, OnAFullDiskAConfigurationIsWholeAndASecondRunCompletes) {
  const std::filesystem::path root = weft::testing::TestPath();
  const std::string path = (root / "net.d" / "10-flannel.conflist").string();
  const auto read = [&] {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  int full = 0;  // runs that met the full disk
  for (int step = 1;; ++step) {
    std::filesystem::remove_all(root);
    ASSERT_TRUE(InstallConfig({(root / "state").string(), path, "old"}).ok());
    int changes = 0;
    InstallRequest request{(root / "state").string(), path, "new text"};
    request.before_change = [&] {
      const rlimit none{0, usual.rlim_max};
      if (++changes == step) ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    };
    const absl::Status status = InstallConfig(request).status();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
    if (changes < step) break;
    request.before_change = {};
    if (!status.ok()) {
      ++full;
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("File too large"));
      EXPECT_THAT(read(), ::testing::AnyOf("old", "new text")) << step;
    }
    EXPECT_TRUE(InstallConfig(request).ok()) << step;
    EXPECT_EQ(read(), "new text");
    EXPECT_EQ(RemoveInstalledConfig((root / "state").string())->removed.size(), 1u) << step;
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_GE(full, 3) << "the record, the file, and the record again";
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace weft::cni
