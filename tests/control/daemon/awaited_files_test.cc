// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/awaited_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/test_path.h"

namespace weft::daemon {
namespace {

using std::chrono::steady_clock;

class AwaitedFilesTest : public ::testing::Test {
 protected:
  AwaitedFilesTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.net_config_path = Path("net-conf.json");
  }
  ~AwaitedFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  // The file comes while it is awaited. `answers`: of `read`, in turn, the last again and again.
  absl::Status Await(const std::vector<absl::Status>& answers) {
    Timer put(loop_), end(loop_);
    put.Set(steady_clock::now(), [this] { Write("net-conf.json", "{}"); });
    end.Set(steady_clock::now() + std::chrono::seconds(20), [this] { loop_.Stop(); });
    return ReadAwaitedFiles(loop_, options_,
                            [&] { return answers[std::min(reads_++, answers.size() - 1)]; });
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  EventLoop loop_;
  config::Options options_;
  std::size_t reads_ = 0;
};

TEST_F(AwaitedFilesTest, TheFirstThatIsMissingOrEmptyIsNamed) {
  const auto sentence = [this](const std::string& name, const char* absence, const char* flag) {
    return (name == "net-conf.json" ? "net-conf " : "kubeconfig ") + Path(name) + " " + absence +
           "; flanneld waits for it: put it there, or correct " + flag;
  };
  Write("kubeconfig", "{}");
  options_.kubeconfig_file = Path("kubeconfig");
  options_.kube_subnet_mgr = true;
  EXPECT_EQ(MissingFile(options_),
            sentence("net-conf.json", "does not exist", "--net-config-path"));
  Write("net-conf.json", "");
  EXPECT_EQ(MissingFile(options_), sentence("net-conf.json", "is empty", "--net-config-path"));
  Write("net-conf.json", "{}");
  EXPECT_EQ(MissingFile(options_), "");
  std::filesystem::remove(Path("kubeconfig"));
  EXPECT_EQ(MissingFile(options_), sentence("kubeconfig", "does not exist", "--kubeconfig-file"));
  options_.kube_subnet_mgr = false;
  EXPECT_EQ(MissingFile(options_), "");
  options_.kube_subnet_mgr = true;
  options_.kubeconfig_file.clear();
  EXPECT_EQ(MissingFile(options_), "");
}

TEST_F(AwaitedFilesTest, WhatComesIsReadOnce) {
  EXPECT_EQ(Await({absl::OkStatus()}), absl::OkStatus());
  EXPECT_EQ(reads_, 1u);
}

TEST_F(AwaitedFilesTest, WhatIsWrongIsReadAgainForTwoSeconds) {
  EXPECT_EQ(Await({absl::InvalidArgumentError("line 1"), absl::OkStatus()}), absl::OkStatus());
  EXPECT_EQ(reads_, 2u);
  std::filesystem::remove(Path("net-conf.json"));
  EXPECT_EQ(Await({absl::InvalidArgumentError("line 1")}), absl::InvalidArgumentError("line 1"));
  EXPECT_GT(reads_, 3u);
}

TEST_F(AwaitedFilesTest, AStopEndsTheWait) {
  Timer end(loop_);
  end.Set(steady_clock::now(), [this] { loop_.Stop(); });
  EXPECT_TRUE(absl::IsCancelled(
      ReadAwaitedFiles(loop_, options_, [] { return absl::UnknownError("not there"); })));
}

TEST_F(AwaitedFilesTest, AnInvalidHealthAddressEndsTheWait) {
  options_.healthz_ip = "localhost";
  options_.healthz_port = 0;
  EXPECT_EQ(Await({absl::OkStatus()}),
            absl::InvalidArgumentError("health checks: \"localhost\" is not an IP address to "
                                       "listen on (--healthz-ip, --healthz-port)"));
}

}  // namespace
}  // namespace weft::daemon
