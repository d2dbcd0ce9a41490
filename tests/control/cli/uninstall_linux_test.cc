// SPDX-License-Identifier: Apache-2.0
// flannelctl uninstall, killed before each of its changes: the files', the ledger's, and those that
// it requests of HNS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/control/cli/installed_node.h"
#include "tests/support/traced_child_linux.h"

namespace weft::cli {
namespace {

using ::testing::ElementsAreArray;
using ::testing::Gt;
using weft::testing::RunTraced;
using weft::testing::TracedRun;

class UninstallKilledTest : public ::testing::Test {
 protected:
  TracedRun Run(const std::vector<std::string>& more, std::size_t kill_at = SIZE_MAX) {
    std::vector<std::string> words = {WEFT_FLANNELCTL, "uninstall", "--admin=none",
                                      "--hns=" + node_.hns()};
    for (const std::string& flag : node_.Flags()) words.push_back(flag);
    words.insert(words.end(), more.begin(), more.end());
    return RunTraced(words, (weft::testing::TestPath().string() + ".out"), kill_at);
  }
  void TearDown() override { std::filesystem::remove(weft::testing::TestPath().string() + ".out"); }
  InstalledNode node_;
};

TEST_F(UninstallKilledTest, ASecondRunCompletesIt) {
  const TracedRun whole = Run({});
  ASSERT_EQ(whole.exit_code, 0);
  EXPECT_THAT(node_.State(), ElementsAreArray(InstalledNode::Left()));
  ASSERT_THAT(whole.changes.size(), Gt(20u));
  std::size_t kills = 0;
  for (std::size_t at = 0;; ++at) {
    node_.Sow();
    const TracedRun killed = Run({}, at);
    if (!killed.killed) break;  // it has fewer changes than this
    ++kills;
    const TracedRun second = Run({});
    ASSERT_EQ(second.exit_code, 0)
        << "killed before " << at << ", after " << (at == 0 ? "nothing" : killed.changes.back());
    ASSERT_THAT(node_.State(), ElementsAreArray(InstalledNode::Left()))
        << "killed before " << at << ", after " << (at == 0 ? "nothing" : killed.changes.back());
  }
  std::printf("killed at %zu places\n", kills);
  EXPECT_EQ(kills, whole.changes.size());
}

TEST_F(UninstallKilledTest, ADryRunWritesNothing) {
  const std::vector<std::string> before = node_.State();
  const TracedRun run = Run({"--dry-run"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(node_.State(), before);
}

}  // namespace
}  // namespace weft::cli
