// SPDX-License-Identifier: Apache-2.0
#include "control/host/name_servers_linux.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "control/host/system_file_linux.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::host {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ResolvConf, NamesItsServers) {
  EXPECT_THAT(ParseResolvConf("# nameserver 10.0.0.1\n"
                              "#nameserver 10.0.0.2\n"
                              "search example.com\n"
                              "nameserver 192.0.2.53\n"
                              "nameserver\t2001:db8::53  \r\n"
                              "nameserver fe80::1%eth0\n"
                              "nameserver\n"
                              "nameserver name.example.com\n"
                              "options ndots:5\n"
                              "nameserver 192.0.2.54"),
              ElementsAre(Address("192.0.2.53"), Address("2001:db8::53"), Address("fe80::1"),
                          Address("192.0.2.54")));
  EXPECT_THAT(ParseResolvConf(""), IsEmpty());
  EXPECT_THAT(ParseResolvConf(std::string(1000, '\0')), IsEmpty());
}

TEST(ResolvConf, TheFileOfThisMachineIsReadOrMissing) { EXPECT_TRUE(ReadNameServers().ok()); }

TEST(ResolvConf, AMissingFileHasNoneAndAnUnreadableOneIsAnError) {
  const std::filesystem::path folder = weft::testing::TestPath();
  std::filesystem::create_directories(folder);
  const std::string conf = folder / "resolv.conf", stub = folder / "stub.conf";
  EXPECT_THAT(*ReadNameServers(conf, stub), IsEmpty());
  std::ofstream(conf) << "nameserver 192.0.2.53\n" << std::flush;
  std::filesystem::create_symlink(stub, stub);
  EXPECT_THAT(*ReadNameServers(conf, stub), ElementsAre(Address("192.0.2.53")));
  std::ofstream(conf) << "nameserver 127.0.0.53\n" << std::flush;
  EXPECT_THAT(std::string(ReadNameServers(conf, stub).status().message()),
              ::testing::HasSubstr("cannot read " + stub + ": "));
  EXPECT_FALSE(ReadNameServers(stub, conf).ok());
  std::filesystem::remove_all(folder);
}

TEST(ReadSystemFileTest, OnlyTheSystemSaysThatThereIsNone) {
  EXPECT_TRUE(absl::IsNotFound(ReadSystemFile("/proc/self/net/weft-none").status()));
  EXPECT_EQ(*ReadSystemFile("/proc/sys/kernel/ostype"), "Linux\n");
  EXPECT_TRUE(absl::IsUnavailable(ReadSystemFile("/dev/null").status())) << "it masks a file";
  EXPECT_FALSE(ReadSystemFile("/proc/self").ok());
  // Without /proc, which a container may lack.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
      ::_exit(2);
    const bool named =
        absl::IsUnavailable(ReadSystemFile("/proc/self/net/dev").status()) &&
        absl::IsInvalidArgument(ReadSystemFile("/proc/" + std::string(5000, 'x')).status()) &&
        absl::IsNotFound(ReadSystemFile(weft::testing::TestPath()).status());
    ::_exit(named ? 0 : 3);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(WIFEXITED(result) ? WEXITSTATUS(result) : -1, 0);
}

TEST(ReadSystemFileTest, TheFirstMebibyteOfARegularFileIsRead) {
  const std::filesystem::path path = weft::testing::TestPath();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(ReadSystemFile(path).ok()) << "and does not wait for its writer";
  const int ends = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  char byte = 'x';
  EXPECT_EQ(::write(ends, &byte, 1), 1);
  EXPECT_FALSE(ReadSystemFile(path).ok());
  EXPECT_EQ(::read(ends, &byte, 1), 1) << "it took nothing";
  ::close(ends);
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(std::size_t{2} << 20, 'x') << std::flush;
  EXPECT_EQ(ReadSystemFile(path)->size(), std::size_t{1} << 20);
  std::filesystem::remove(path);
  EXPECT_FALSE(ReadSystemFile("/proc/self/mem").ok()) << "it has no first page";
}

}  // namespace
}  // namespace weft::host
