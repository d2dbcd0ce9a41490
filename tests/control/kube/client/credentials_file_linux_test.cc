// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "control/kube/client/credentials_file.h"
#include "gtest/gtest.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

// The first page of a process, which is never mapped.
TEST(CredentialsFileTest, UnreadableFiles) {
  EXPECT_EQ(ReadCredentialsFile("/proc/self/mem").status(),
            absl::UnavailableError("cannot be read"));
}

TEST(CredentialsFileTest, MissingFiles) {
  const std::filesystem::path loop = testing::TestPath();
  std::filesystem::create_symlink(loop, loop);
  EXPECT_EQ(ReadCredentialsFile(loop.string()).status(),
            absl::NotFoundError("cannot be opened: Too many levels of symbolic links"));
  std::filesystem::remove(loop);
}

TEST(CredentialsFileTest, ForbiddenFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const std::string path = testing::TestPath().string();
  std::ofstream(path) << "s3cret";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    const bool named = ReadCredentialsFile(path).status() ==
                       absl::NotFoundError("cannot be opened: Permission denied");
    ::_exit(named ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  std::filesystem::remove(path);
  ASSERT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

}  // namespace
}  // namespace weft::kube
