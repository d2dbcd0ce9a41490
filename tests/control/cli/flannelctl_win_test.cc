// SPDX-License-Identifier: Apache-2.0
// flannelctl.exe queries a running flanneld.exe: two programs, one pipe.
#include <windows.h>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/program_win.h"
#include "tests/support/test_path.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weft::testing::Program;

namespace fs = std::filesystem;

struct Answer {
  DWORD code = 0;
  std::string out, err;
};

class FlannelctlWindowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "net-conf.json")
        << R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";
    std::ofstream(folder_ / "nodes.json") << R"({"items":[
{"metadata":{"name":"a","annotations":{"flannel.alpha.coreos.com/kube-subnet-manager":"true"}},
 "spec":{"podCIDR":"10.244.1.0/24"}},
{"metadata":{"name":"b","annotations":{"flannel.alpha.coreos.com/kube-subnet-manager":"true",
  "flannel.alpha.coreos.com/backend-type":"vxlan",
  "flannel.alpha.coreos.com/backend-data":"{\"VNI\":4096,\"VtepMAC\":\"02:00:00:00:00:0b\"}",
  "flannel.alpha.coreos.com/public-ip":"192.0.2.11"}},
 "spec":{"podCIDR":"10.244.2.0/24"}}]})";
  }
  // Wine closes the files of a process a moment after it has ended.
  void TearDown() override {
    std::error_code error;
    EXPECT_TRUE(weft::testing::Await(std::chrono::seconds(60), [&] {
      fs::remove_all(folder_, error);
      return !error;
    })) << error.message();
  }

  std::unique_ptr<Program> StartFlanneld() {
    const std::string folder = folder_.string();
    auto program = std::make_unique<Program>(
        FLANNELD,
        std::vector<std::string>{"--lease-source=file:" + folder + "\\nodes.json", "--node-name=a",
                                 "--net-config-path=" + folder + "\\net-conf.json",
                                 "--subnet-file=" + folder + "\\subnet.env",
                                 "--state-dir=" + folder + "\\state", "--admin=" + pipe_,
                                 "--dataplane=none", "--iface=127.0.0.1"},
        folder_ / "flanneld.out", folder_ / "flanneld.log");
    EXPECT_TRUE(program->Prints("] ready\n"));
    return program;
  }
  Answer RunFlannelctl(std::vector<std::string> words) {
    words.push_back("--admin=" + pipe_);
    Program program(FLANNELCTL, words, folder_ / "out", folder_ / "err");
    const DWORD code = program.Wait();
    return {code, program.output(), program.error()};
  }

  const fs::path folder_ = weft::testing::TestPath();
  const std::string pipe_ = R"(\\.\pipe\weft-test-)" + std::to_string(::GetCurrentProcessId());
};

TEST_F(FlannelctlWindowsTest, ReadsStatusAndLeasesOfARunningFlanneld) {
  const auto flanneld = StartFlanneld();

  const Answer status = RunFlannelctl({"status"});
  EXPECT_EQ(status.code, 0u) << status.out;
  EXPECT_EQ(status.err, "");
  EXPECT_THAT(status.out,
              AllOf(StartsWith("flanneld "), HasSubstr(" on a: ready\n"),
                    HasSubstr(", process " + std::to_string(flanneld->id()) + "\n"),
                    HasSubstr("  backend    vxlan, data plane none\n"),
                    HasSubstr("  ipv4       subnet 10.244.1.0/24, public IP 127.0.0.1, VTEP MAC "),
                    HasSubstr("  leases     1 usable, 1 self\n")));

  const Answer leases = RunFlannelctl({"leases"});
  EXPECT_EQ(leases.code, 0u);
  EXPECT_EQ(leases.err, "");
  EXPECT_EQ(leases.out,
            "NODE   SUBNET          PUBLIC-IP    VTEP-MAC            STATE\n"
            "a      10.244.1.0/24   -            -                   self\n"
            "b      10.244.2.0/24   192.0.2.11   02:00:00:00:00:0b   usable\n");

  const Answer plan = RunFlannelctl({"plan"});
  EXPECT_EQ(plan.code, 2u);
  EXPECT_EQ(plan.out, "");
  EXPECT_THAT(plan.err, HasSubstr("this flanneld does not program HNS"));

  EXPECT_TRUE(flanneld->Running()) << flanneld->error();
}

// No code page of Windows has both.
TEST_F(FlannelctlWindowsTest, WordsAreUnicode) {
  const fs::path file = folder_ / u8"узлы-節點.json";
  fs::copy_file(folder_ / "nodes.json", file);
  Program program(FLANNELCTL, {"leases", "--from", weft::testing::Utf8(file), "--node-name=a"},
                  folder_ / "out", folder_ / "err");
  EXPECT_EQ(program.Wait(), 0u) << program.error();
  EXPECT_THAT(program.output(), HasSubstr("10.244.2.0/24"));
}

// Of tests/support/program_win.h: it is started twice.
TEST_F(FlannelctlWindowsTest, AProgramThatNeverPrintsIsAPeersFailure) {
  Program silent(CRASH, {}, folder_ / "out", folder_ / "err");
  EXPECT_NONFATAL_FAILURE(EXPECT_THROW(silent.Wait(), ::testing::AssertionException),
                          "peer: ended twice without output: ");
}

TEST_F(FlannelctlWindowsTest, ReportsThatNoFlanneldAnswers) {
  for (const bool before : {true, false}) {
    if (!before) StartFlanneld();  // and it ends
    const Answer status = RunFlannelctl({"status"});
    EXPECT_EQ(status.code, 2u) << before;
    EXPECT_EQ(status.out, "") << before;
    EXPECT_THAT(status.err, StartsWith("flannelctl status: flanneld does not answer (" + pipe_));
  }
}

}  // namespace
}  // namespace weft::cli
