// SPDX-License-Identifier: Apache-2.0
// One writer changes the table, workers forward with it, other threads read counters: run under the
// thread sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/dataplane/support.h"
#include "tests/support/wait.h"

namespace weft::dataplane {
namespace {

constexpr std::uint32_t kNodes = 64;
constexpr std::size_t kWorkers = 2;

RemoteSpec LeaseOf(std::uint32_t node, std::uint32_t vtep) {
  return {
      "node-" + std::to_string(node),
      *IpPrefix::From(IpAddress::V4(0x0a80'0000 + (node << 8)), 24 + static_cast<int>(node % 3)),
      IpAddress::V4(0xc000'0200 + vtep), Mac("02:00:00:00:00:01")};
}

TEST(Concurrency, ReadersSeeWholeStatesWhileTheWriterChurns) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  PeerTable peers(kWorkers);
  RemoteTable remotes(config.local, peers);
  remotes.Update(std::vector{LeaseOf(0, 0)}, {});
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> forwarded{0};
  Counters counters;

  const auto work = [&](std::size_t worker) {
    std::mt19937 random(static_cast<std::uint32_t>(worker));
    ForwarderConfig mine = config;
    mine.worker = worker;
    Forwarder forwarder(mine, remotes, peers, counters);
    auto batch = std::make_unique<Batch>();
    auto replies = std::make_unique<Batch>();
    while (!stop) {
      Buffers buffers(32);
      batch->clear();
      for (int i = 0; i < 32; ++i) {
        const IpAddress to =
            IpAddress::V4(0x0a80'0000 + (static_cast<std::uint32_t>(random() % kNodes) << 8) + 1);
        batch->Add(buffers.Make(PacketBuilder(Ip("10.244.2.9"), to).Build()));
      }
      forwarder.Refresh();
      forwarder.Encapsulate(*batch, *replies);
      for (const Packet& packet : *batch) {
        if (packet.verdict != Verdict::kForward) continue;
        // The writer gives every VTEP a number below 8.
        ASSERT_LT(packet.outer_address.v4() - 0xc000'0200, 8u);
        forwarded.fetch_add(1, std::memory_order_relaxed);
      }
      forwarder.LearnPathMtu(
          {IpAddress::V4(0xc000'0200 + static_cast<std::uint32_t>(random() % 8)), 1400}, {});
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < kWorkers; ++worker) threads.emplace_back(work, worker);
  threads.emplace_back([&] {
    while (!stop) {
      const auto snapshot = remotes.snapshot();
      for (std::uint32_t node = 0; node < kNodes; ++node) {
        const Remote* const remote = snapshot->Find(IpAddress::V4(0x0a80'0000 + (node << 8) + 1));
        if (remote != nullptr) {
          ASSERT_TRUE(snapshot->IsVtep(remote->vtep));
        }
      }
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      ASSERT_FALSE(peers.Read().empty());
      std::this_thread::yield();
    }
  });

  std::mt19937 random(3);
  const auto change = [&] {
    std::vector<RemoteSpec> changed;
    std::vector<IpPrefix> removed;
    for (std::uint32_t i = random() % 4; i > 0; --i)
      changed.push_back(LeaseOf(random() % kNodes, random() % 8));
    if (random() % 3 == 0) removed.push_back(LeaseOf(random() % kNodes, 0).subnet);
    remotes.Update(changed, removed);
  };
  for (int step = 0; step < 3000; ++step) change();
  EXPECT_TRUE(testing::Await(
      std::chrono::seconds(10), [&] { return forwarded > 0; }, change));
  stop = true;
  threads.clear();
  remotes.Update({}, {});
  EXPECT_EQ(remotes.retired_states(), 0u);
}

}  // namespace
}  // namespace weft::dataplane
