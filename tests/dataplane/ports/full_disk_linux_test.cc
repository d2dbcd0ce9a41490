// SPDX-License-Identifier: Apache-2.0
// A trace on a disk that fills up: a limit on the size of files plays it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "dataplane/ports/trace_port.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/memory_port.h"
#include "tests/support/test_path.h"

namespace weft::dataplane {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr rlim_t kRoom = 64 * 1024;  // bytes
constexpr std::size_t kSize = 1000;

class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGXFSZ, SIG_IGN);  // or the first byte too many ends the process
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{.rlim_cur = kRoom, .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  void TearDown() override {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::filesystem::remove(path_);
  }

  // One batch of 100 packets, more than the disk has room for; returns how many were sent.
  static std::size_t SendMany(PacketPort& port) {
    ByteVector bytes = MakePacket(PortKind::kPodL3, 1, kSize);
    Packet packet;
    packet.data = bytes.data();
    packet.length = kSize;
    Batch batch;
    for (int i = 0; i < 100; ++i) batch.Add(packet);
    port.Send(batch);
    std::size_t went = 0;
    for (const Packet& sent : batch) went += sent.verdict == Verdict::kForward ? 1u : 0u;
    return went;
  }

  rlimit before_{};
  const std::string path_ = weft::testing::TestPath().string() + ".pcapng";
};

// The trace only observes: packets continue without it.
TEST_F(FullDiskTest, ATraceEndsAndPacketsContinue) {
  const auto file = OpenTrace(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  MemoryOptions memory;
  memory.kind = PortKind::kPodL3;
  memory.capacity = 1000;
  MemoryLink pods = MemoryLink::Make(memory), wire = MemoryLink::Make(PortKind::kWireDatagram);
  const TracedPorts ports =
      Trace({std::move(pods.first), std::move(wire.first)}, *file, "pods", "wire", {});
  EXPECT_EQ(SendMany(*ports.pods), 100u);
  EXPECT_EQ(SendMany(*ports.pods), 100u);
  EXPECT_EQ(ReceiveBytes(*pods.second).size(), 200u);
  (*file)->Flush();
  EXPECT_THAT(std::string((*file)->status().message()),
              AllOf(HasSubstr(path_), HasSubstr("check the path and the free space")));
  const std::uintmax_t size = std::filesystem::file_size(path_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
  EXPECT_EQ(SendMany(*ports.pods), 100u);
  EXPECT_EQ(std::filesystem::file_size(path_), size) << "it has ended";
}

TEST_F(FullDiskTest, ATraceThatCannotEvenBeginIsRefused) {
  const rlimit nothing{.rlim_cur = 0, .rlim_max = before_.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &nothing), 0);
  EXPECT_THAT(std::string(OpenTrace(path_).status().message()),
              AllOf(HasSubstr(path_), HasSubstr("File too large")));
}

}  // namespace
}  // namespace weft::dataplane
