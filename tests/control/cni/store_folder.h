// SPDX-License-Identifier: Apache-2.0
// A host-local store of the test's own, for the network "flannel.4096".
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "control/cni/source_vip.h"
#include "tests/support/test_path.h"

namespace weft::cni {

inline constexpr char kReservation[] = "kube-proxy\r\nsource-vip";

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  SourceVipSpec Spec(const std::string& subnet = "10.244.1.0/24") const {
    return {root_.string(), "flannel.4096", *IpPrefix::Parse(subnet)};
  }
  std::filesystem::path Folder() const { return root_ / "flannel.4096"; }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(Folder());
    std::ofstream(Folder() / name, std::ios::binary) << text;
  }
  static std::string Read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(Folder()))
      names.insert(each.path().filename().string());
    return names;
  }

  const std::filesystem::path root_ = weft::testing::TestPath();
};

}  // namespace weft::cni
