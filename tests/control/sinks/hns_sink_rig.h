// SPDX-License-Identifier: Apache-2.0
// An HNS sink on an emulator in process, and words to wait for its thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <source_location>
#include <string>

#include "control/emulator/hns/emulator.h"
#include "control/sinks/hns_sink.h"
#include "hns/client.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/lease_makers.h"
#include "tests/support/wait.h"

namespace weft::testing {

class HnsSinkRig {
 public:
  explicit HnsSinkRig(control::RoundThread::Limits limits = {}) : limits_(limits) {}

  // Begins the sink.
  control::HnsSink& Start() {
    sink_ = std::make_unique<control::HnsSink>(
        hns_, spec, [wakeups = wakeups_] { wakeups->Notify(); }, limits_);
    return *sink_;
  }
  void Stop() { sink_.reset(); }
  control::HnsSink& sink() { return *sink_; }
  hns::emulator::Emulator& emulator() { return *hns_; }
  NodeHost host() { return NodeHost(emulation_->node); }

  // Until `holds`, checked after every round.
  ::testing::AssertionResult Until(const std::function<bool()>& holds,
                                   std::source_location where = std::source_location::current()) {
    int seen = -1;
    std::unique_lock lock(wakeups_->mutex);
    return Await({std::chrono::seconds(60), where}, wakeups_->changed, lock, [&] {
      while (seen != wakeups_->rounds) {  // more of them may end meanwhile
        seen = wakeups_->rounds;
        lock.unlock();
        const bool held = holds();
        lock.lock();
        if (held) return true;
      }
      return false;
    });
  }
  ::testing::AssertionResult Holds(std::source_location where = std::source_location::current()) {
    return Until(
        [this] {
          return sink_->State().known && sink_->Report().settled &&
                 sink_->State().outcome.state == hns::OverlayState::kInSync;
        },
        where);
  }

  // The network is ready for peers.
  ::testing::AssertionResult IsInSync(
      std::source_location where = std::source_location::current()) {
    return Until([this] { return sink_->State().outcome.state >= hns::OverlayState::kRoutes; },
                 where);
  }

  hns::Network Read() {
    const auto networks = hns::Client(*hns_).Networks(spec.name);
    EXPECT_TRUE(networks.ok() && networks->size() == 1) << networks.status();
    return networks.ok() && !networks->empty() ? networks->front() : hns::Network();
  }
  std::set<std::string> Routes() {
    std::set<std::string> destinations;
    for (const hns::Policy& policy : Read().policies) {
      if (const auto route = hns::ReadRemoteSubnetRoute(policy))
        destinations.insert(route->destination.ToString());
    }
    return destinations;
  }
  // A foreign change of the network's policies.
  void Meddle(std::string_view request, const hns::Policy& policy) {
    auto network = hns::Client(*hns_).Open(Read());
    ASSERT_TRUE(network.ok()) << network.status();
    const absl::Status status =
        request == "Add" ? network->Add({policy}) : network->Remove({policy});
    ASSERT_TRUE(status.ok()) << status;
  }

  hns::OverlaySpec spec{"flannel.4096",
                        Prefix("10.244.9.0/24"),
                        *hns::IsolationId::From(4096),
                        4789,
                        "Ethernet",
                        Address("192.168.1.10"),
                        false};

 private:
  // Outlives the sink's threads.
  struct Wakeups {
    void Notify() {
      const std::lock_guard lock(mutex);
      ++rounds;
      changed.notify_all();
    }
    std::mutex mutex;
    std::condition_variable changed;
    int rounds = 0;
  };
  struct Emulation {
    hns::emulator::SystemClock clock;
    EthernetNode node{clock};
  };

  const control::RoundThread::Limits limits_;
  const std::shared_ptr<Wakeups> wakeups_ = std::make_shared<Wakeups>();
  const std::shared_ptr<Emulation> emulation_ = std::make_shared<Emulation>();
  const std::shared_ptr<hns::emulator::Emulator> hns_{emulation_, &emulation_->node.hns()};
  std::unique_ptr<control::HnsSink> sink_;
};

}  // namespace weft::testing
