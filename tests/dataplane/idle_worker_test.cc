// SPDX-License-Identifier: Apache-2.0
// A worker without packets sleeps.
#include <gtest/gtest.h>

#ifdef __linux__
#include <pthread.h>
#include <time.h>
#endif

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <source_location>
#include <thread>
#include <vector>

#include "dataplane/ports/udp_port.h"
#include "dataplane/worker.h"
#include "tests/dataplane/support.h"
#include "tests/support/wait.h"

namespace weft::dataplane {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{10};

// Receives nothing, and counts its calls.
class CountingPort final : public PacketPort {
 public:
  CountingPort(PortKind kind, std::span<const WaitHandle> handles)
      : kind_(kind), handles_(handles.begin(), handles.end()) {}

  PortKind kind() const override { return kind_; }
  const PortFeatures& features() const override { return features_; }
  std::span<const WaitHandle> wait_handles() const override { return handles_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    const std::lock_guard lock(mutex_);
    ++calls_;
    called_.notify_all();
    return 0;
  }
  void Send(Batch&) override {}

  // How often, after a pause.
  std::uint64_t CallsAfter(milliseconds pause) {
    std::this_thread::sleep_for(pause);
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  ::testing::AssertionResult AreMoreThan(
      std::uint64_t calls, std::source_location where = std::source_location::current()) {
    std::unique_lock lock(mutex_);
    return testing::Await({kLimit, where}, called_, lock, [&] { return calls_ > calls; });
  }

 private:
  const PortKind kind_;
  const std::vector<WaitHandle> handles_;
  PortFeatures features_;
  std::mutex mutex_;
  std::condition_variable called_;
  std::uint64_t calls_ = 0;
};

constexpr std::uint64_t kRoundsBeforeSleep = 1;
// worker.cc's kFruitlessWakes.
constexpr std::uint64_t kWakesBeforePause = 64;

// A worker between two ports that receive nothing. Their handles are sockets.
class IdleWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    UdpOptions options;
    options.bind_address = Ip("127.0.0.1");
    options.port = 0;
    options.sending_sockets = 1;
    // Two, because Windows waits for no handle twice.
    for (auto* socket : {&socket_, &silent_socket_}) {
      auto opened = UdpPort::Open(options);
      ASSERT_TRUE(opened.ok()) << opened.status();
      *socket = *std::move(opened);
    }
  }
  void Run(bool with_handles, BusyPoll busy_poll = {std::chrono::microseconds(0)}) {
    thread_ = {};
    const auto handles = [&](const UdpPort& socket) {
      return with_handles ? socket.wait_handles() : std::span<const WaitHandle>();
    };
    pods_ = std::make_unique<CountingPort>(PortKind::kPodL3, handles(*socket_));
    wire_ = std::make_unique<CountingPort>(PortKind::kWirePacket, handles(*silent_socket_));
    worker_ = std::make_unique<Worker>(*pods_, *wire_, node_.forwarder, node_.counters, busy_poll);
    thread_ = std::jthread([this](std::stop_token stop) {
      const absl::Status status = worker_->Run(stop);
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  // Makes the handle ready; its data is never read.
  void Poke() {
    auto batch = std::make_unique<Batch>();
    Packet packet = node_.buffers.Make(ByteVector(100));
    packet.outer_address = Ip("127.0.0.1");
    batch->Add(packet);
    socket_->Send(*batch);
    ASSERT_EQ((*batch)[0].verdict, Verdict::kForward);
  }

  Node node_;
  std::unique_ptr<UdpPort> socket_;
  std::unique_ptr<UdpPort> silent_socket_;
  std::unique_ptr<CountingPort> pods_;
  std::unique_ptr<CountingPort> wire_;
  std::unique_ptr<Worker> worker_;
  std::jthread thread_;  // first to go
};

TEST_F(IdleWorker, SleepsUntilAHandleIsReady) {
  Run(/*with_handles=*/true);
  ASSERT_TRUE(pods_->AreMoreThan(kRoundsBeforeSleep - 1));
  // A signal that ends the sleep early costs as many rounds again: room for a few.
  constexpr std::uint64_t kFew = 8 * kRoundsBeforeSleep;
  EXPECT_LE(pods_->CallsAfter(milliseconds(200)), kFew);
  EXPECT_LE(wire_->CallsAfter(milliseconds(0)), kFew);
  Poke();
  EXPECT_TRUE(pods_->AreMoreThan(kFew)) << "it is awake";
}

// A removed device stays "ready".
TEST_F(IdleWorker, AHandleThatIsReadyForNothingIsIgnoredForAWhile) {
  Poke();
  Run(/*with_handles=*/true);
  const auto start = steady_clock::now();
  const std::uint64_t calls = pods_->CallsAfter(milliseconds(200));
  const auto pauses = static_cast<std::uint64_t>((steady_clock::now() - start) / milliseconds(10));
  EXPECT_LE(calls, (kWakesBeforePause + 1) * kRoundsBeforeSleep * (pauses + 1));
  EXPECT_TRUE(pods_->AreMoreThan(calls + 3 * kWakesBeforePause * kRoundsBeforeSleep))
      << "and is polled again";
}

// A tunnel without packets must not keep every state of the table that was replaced meanwhile.
TEST_F(IdleWorker, ASleepingWorkerHoldsNoOldTable) {
  Run(/*with_handles=*/true);
  ASSERT_TRUE(pods_->AreMoreThan(kRoundsBeforeSleep - 1));
  const IpPrefix subnet = Prefix("10.244.200.0/24");
  int changes = 0;
  const auto change = [&] {
    const RemoteSpec lease = Lease("comes-and-goes", "10.244.200.0/24", "192.0.2.200",
                                   changes % 4 == 0 ? "02:00:00:00:00:c8" : "02:00:00:00:00:c9");
    if (changes++ % 2 == 0) {
      node_.remotes.Update({&lease, 1}, {});
    } else {
      node_.remotes.Update({}, {&subnet, 1});
    }
  };
  while (changes < 10'000) change();
  EXPECT_TRUE(testing::Await(
      kLimit, [&] { return node_.remotes.retired_states() <= 1; }, change));
  EXPECT_LE(node_.peers.Read().size(), 1u + 5u) << "nor the peers of those states";
}

#ifdef __linux__
// CPU time of the thread so far.
std::chrono::nanoseconds CpuTime(std::jthread& thread) {
  clockid_t clock{};
  EXPECT_EQ(pthread_getcpuclockid(thread.native_handle(), &clock), 0);
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Meanwhile it reads no port, and a stop ends it at once.
TEST_F(IdleWorker, BusyPollingDoesNotSleep) {
  Run(/*with_handles=*/true, {std::chrono::hours(1), 100});
  EXPECT_TRUE(testing::Await(kLimit, [&] { return CpuTime(thread_) >= milliseconds(20); }));
  EXPECT_EQ(pods_->CallsAfter(milliseconds(0)), kRoundsBeforeSleep);
  Poke();
  EXPECT_TRUE(pods_->AreMoreThan(kRoundsBeforeSleep));
}

TEST_F(IdleWorker, AHandleThatIsNoneIsAnError) {
  constexpr WaitHandle kNone[] = {-1};
  CountingPort pods(PortKind::kPodL3, kNone);
  CountingPort wire(PortKind::kWirePacket, {});
  EXPECT_FALSE(Worker(pods, wire, node_.forwarder, node_.counters).Run({}).ok());
  EXPECT_EQ(pods.CallsAfter(milliseconds(0)), 0u);
}

// By time after a packet, and by share of a core.
TEST_F(IdleWorker, BusyPollingEnds) {
  for (const BusyPoll& bounded :
       {BusyPoll{milliseconds(1), 100}, BusyPoll{std::chrono::hours(1), 0}}) {
    Run(/*with_handles=*/true, bounded);
    const auto start = steady_clock::now();
    EXPECT_TRUE(testing::Await(kLimit, [&] {
      return steady_clock::now() - start - CpuTime(thread_) >= milliseconds(100);
    }));
  }
}
#endif

// Ports without handles can only be polled, each millisecond.
TEST_F(IdleWorker, WithoutHandlesItPolls) {
  Run(/*with_handles=*/false);
  const auto start = steady_clock::now();
  const std::uint64_t calls = pods_->CallsAfter(milliseconds(100));
  const auto sleeps = static_cast<std::uint64_t>((steady_clock::now() - start) / milliseconds(1));
  EXPECT_LE(calls, kRoundsBeforeSleep * (sleeps + 2));
  EXPECT_TRUE(pods_->AreMoreThan(calls));
  Run(/*with_handles=*/false, {std::chrono::hours(1), 100});
  EXPECT_TRUE(pods_->AreMoreThan(3)) << "which no busy polling replaces";
}

}  // namespace
}  // namespace weft::dataplane
