// SPDX-License-Identifier: Apache-2.0
// A daemon in this process with its own folder: lease file, subnet.env, admin socket. Its loop runs
// on the test's thread until the condition that the test waits for is true.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "control/daemon/daemon.h"
#include "control/daemon/event_loop.h"
#include "control/daemon/health.h"
#include "tests/support/node_json.h"
#include "tests/support/test_path.h"
#include "tests/support/wait.h"

namespace weft::daemon {

class DaemonFixture : public ::testing::Test {
 protected:
  using Node = weft::testing::NodeJson;
  static constexpr char kNetConf[] =
      R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";

  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    config_.options.node_name = "a";
    config_.options.lease_file = Path("nodes.json");
    config_.options.subnet_file = Path("subnet.env");
    config_.options.state_dir = Path("state");
    config_.options.source_vip_store = Path("networks");
    config_.options.data_plane = config::DataPlane::kNone;
    config_.options.net_config_path = Path("net-conf.json");
    Write("net-conf.json", kNetConf);
    config_.conf = control::ParseNetConf(kNetConf, "net-conf.json", control::kHnsDefaults).value();
  }
  void TearDown() override {
    daemon_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name) + ".new", std::ios::binary) << text;
    std::filesystem::rename(Path(name) + ".new", Path(name));
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void WriteNodes(const std::vector<Node>& nodes) const {
    Write("nodes.json", weft::testing::NodeListJson(nodes));
  }

  absl::Status Start(std::unique_ptr<host::Host> host) {
    absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Make(loop_, config_, std::move(host));
    if (!daemon.ok()) return daemon.status();
    daemon_ = *std::move(daemon);
    return daemon_->Start();
  }

  // Runs the loop until `holds`.
  ::testing::AssertionResult RunUntil(
      const std::function<bool()>& holds,
      std::source_location where = std::source_location::current()) {
    Timer timer(loop_);
    return weft::testing::Await({std::chrono::seconds(15), where}, holds, [&] {
      timer.Set(std::chrono::steady_clock::now() + std::chrono::milliseconds(5),
                [&] { loop_.Stop(); });
      loop_.Run();
    });
  }
  bool Ready() const { return AllOk(daemon_->Checks()); }
  ::testing::AssertionResult RunUntilReady(
      std::source_location where = std::source_location::current()) {
    return RunUntil([this] { return Ready(); }, where);
  }
  // The value of a sample of /metrics; -1: there is none.
  double Sample(const std::string& sample) const {
    const std::string metrics = "\n" + daemon_->ReadMetrics();
    const std::size_t at = metrics.find("\n" + sample + " ");
    return at == std::string::npos ? -1 : std::stod(metrics.substr(at + sample.size() + 2));
  }
  admin::Check CheckNamed(std::string_view name) const {
    for (const admin::Check& check : daemon_->Checks()) {
      if (check.name == name) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  EventLoop loop_;
  DaemonConfig config_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace weft::daemon
