// SPDX-License-Identifier: Apache-2.0
// The source VIP's reservation, killed before each of its changes, and where the system refuses.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/control/cni/store_folder.h"
#include "tests/support/traced_child_linux.h"

namespace weft::cni {
namespace {

using weft::testing::RunTraced;
using weft::testing::TracedRun;

using Files = std::map<std::string, std::string>;  // name and text

constexpr char kPod[] = "4f1c\r\neth0";

class SourceVipKilledTest : public StoreTest {
 protected:
  TracedRun Run(const std::string& subnet, std::size_t kill_at = SIZE_MAX) {
    return RunTraced({WEFT_CHANGE_SOURCE_VIP, root_.string(), "flannel.4096", subnet},
                     root_.string() + ".out", kill_at);
  }
  void TearDown() override {
    StoreTest::TearDown();
    std::filesystem::remove(root_.string() + ".out");
  }
  void Sow(const Files& files) {
    std::filesystem::remove_all(root_);
    for (const auto& [name, text] : files) Write(name, text);
  }
  Files Found() const {
    Files files;
    for (const std::string& name : Names()) files[name] = Read(Folder() / name);
    return files;
  }
};

TEST_F(SourceVipKilledTest, ASecondRunCompletesIt) {
  struct Row {
    const char* name;
    const char* subnet;
    Files before, after;
    std::size_t least;  // changes
  };
  for (const Row& row :
       {Row{"a new node", "10.244.1.0/24", {}, {{"10.244.1.2", kReservation}, {"lock", ""}}, 4},
        Row{"another PodCIDR",
            "10.244.1.0/24",
            {{"10.244.1.2", kPod},
             {"10.244.9.2", kReservation},
             {"10.244.9.3", kPod},
             {"lock", ""}},
            {{"10.244.1.2", kPod},
             {"10.244.1.3", kReservation},
             {"10.244.9.3", kPod},
             {"lock", ""}},
            3}}) {
    SCOPED_TRACE(row.name);
    Sow(row.before);
    const TracedRun whole = Run(row.subnet);
    ASSERT_EQ(whole.exit_code, 0);
    EXPECT_EQ(Found(), row.after);
    EXPECT_GE(whole.changes.size(), row.least);
    std::size_t kills = 0;
    for (;; ++kills) {
      Sow(row.before);
      const TracedRun killed = Run(row.subnet, kills);
      if (!killed.killed) break;  // it has fewer changes than this
      SCOPED_TRACE("killed before " + std::to_string(kills));
      ASSERT_EQ(Run(row.subnet).exit_code, 0);
      EXPECT_EQ(Found(), row.after);
    }
    std::printf("%s: killed at %zu places\n", row.name, kills);
    EXPECT_EQ(kills, whole.changes.size());
  }
}

// With as much of a resource as is left.
absl::Status ReserveWithin(__rlimit_resource resource, rlim_t most, const SourceVipSpec& spec) {
  rlimit usual{};
  EXPECT_EQ(::getrlimit(resource, &usual), 0);
  const rlimit limit{most, usual.rlim_max};
  EXPECT_EQ(::setrlimit(resource, &limit), 0);
  const absl::Status status = ReserveSourceVip(spec).status();
  EXPECT_EQ(::setrlimit(resource, &usual), 0);
  return status;
}

using SourceVipLinuxTest = StoreTest;

TEST_F(SourceVipLinuxTest, WithoutRoomOrDescriptorsNoneIsReserved) {
  std::signal(SIGXFSZ, SIG_IGN);
  EXPECT_THAT(ReserveWithin(RLIMIT_FSIZE, 0, Spec()).message(),
              ::testing::HasSubstr("cannot reserve " + (Folder() / "10.244.1.2").string()));
  const int free = ::dup(STDERR_FILENO);
  ::close(free);
  const auto most = static_cast<rlim_t>(free);
  EXPECT_THAT(ReserveWithin(RLIMIT_NOFILE, most, Spec()).message(),
              ::testing::AllOf(::testing::HasSubstr("cannot open the lock "),
                               ::testing::HasSubstr("until this is corrected")));
  EXPECT_THAT(ReserveWithin(RLIMIT_NOFILE, most + 1, Spec()).message(),
              ::testing::HasSubstr("cannot read the folder " + Folder().string()))
      << "the lock has the last one";
}

TEST_F(SourceVipLinuxTest, AFolderThatCannotBeLookedForIsNamed) {
  std::filesystem::create_directories(root_);
  SourceVipSpec spec = Spec();
  spec.network = std::string(300, 'n');
  EXPECT_THAT(FindSourceVip(spec).status().message(),
              ::testing::HasSubstr("cannot read the folder"));
}

}  // namespace
}  // namespace weft::cni
