// SPDX-License-Identifier: Apache-2.0
#include "dataplane/wait_set.h"

#include <gtest/gtest.h>

#include <thread>

#ifdef __linux__
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace weft::dataplane {
namespace {

using std::chrono::milliseconds;

TEST(WaitSet, AWakeBeforeTheWaitIsNotLost) {
  auto waits = WaitSet::Make({});
  ASSERT_TRUE(waits.ok()) << waits.status();
  (*waits)->Wake();
  (*waits)->Wake();
  EXPECT_FALSE((*waits)->Wait(milliseconds(-1)));  // returns at once; no handle is ready
  (*waits)->Wake();
  (*waits)->WaitForWake(milliseconds(-1));
}

TEST(WaitSet, AnotherThreadWakesTheSleeper) {
  auto waits = WaitSet::Make({});
  ASSERT_TRUE(waits.ok()) << waits.status();
  std::jthread other([&] { (*waits)->Wake(); });
  EXPECT_FALSE((*waits)->Wait(milliseconds(-1)));
}

TEST(WaitSet, TimePasses) {
  auto waits = WaitSet::Make({});
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_FALSE((*waits)->Wait(milliseconds(1)));
  (*waits)->WaitForWake(milliseconds(0));
}

#ifdef __linux__
TEST(WaitSet, SaysWhatToRaise) {
  constexpr WaitHandle kNone[] = {-1};
  EXPECT_THAT(WaitSet::Make(kNone).status().message(),
              ::testing::HasSubstr("raise fs.epoll.max_user_watches"));
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  for (const rlim_t more : {0, 1}) {
    const rlimit few{static_cast<rlim_t>(next) + more, usual.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const absl::Status status = WaitSet::Make({}).status();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
    EXPECT_THAT(status.message(), ::testing::HasSubstr("raise the limit of open files")) << more;
  }
}
#endif

}  // namespace
}  // namespace weft::dataplane
