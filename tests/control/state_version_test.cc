// SPDX-License-Identifier: Apache-2.0
// Of a later program's file only the head is known.
#include "control/state_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/test_path.h"

namespace weft::control {
namespace {

class StateVersionTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(path_); }
  void TearDown() override { std::filesystem::remove_all(path_); }

  const std::filesystem::path path_ = weft::testing::TestPath();
};

TEST_F(StateVersionTest, TheHeadDecides) {
  const struct {
    const char* description;
    std::string text;
    bool later;
  } rows[] = {
      {"empty", "", false},
      {"no JSON", "garbage", false},
      {"no object", R"([{"version":2}])", false},
      {"before versions", R"({"apiVersion":"weft/journal/v1"})", false},
      {"ours", R"({"version":1})", false},
      {"of a member", R"({"version":1,"own":{"version":2}})", false},
      {"as a value", R"({"kind":"version","next":1})", false},
      {"of the second line", "{\"version\":1}\n{\"version\":2}\n", false},
      {"without a line's end", R"({"version":2})", true},
      {"lines", "{\"version\":2}\n{}\n", true},
      {"one object of several lines", "{\n \"rows\": {},\n \"version\": 2\n}\n", true},
      {"cut off", R"({"version":2,"rows":[)", true},
      {"a long line", R"({"version":2,"rows":")" + std::string(100'000, 'x'), true},
      {"a fraction", R"({"version":1.5})", true},
      {"a text", R"({"version":"1"})", true},
      {"null", R"({"version":null})", true},
      {"an object", R"({"version":{"major":1}})", true},
  };
  for (const auto& row : rows) {
    std::ofstream(path_, std::ios::binary) << row.text;
    const absl::Status status = CheckStateFile(path_.string());
    EXPECT_EQ(absl::IsUnimplemented(status), row.later) << row.description << ": " << status;
    EXPECT_EQ(status.ok(), !row.later) << row.description << ": " << status;
  }
}

TEST_F(StateVersionTest, WhatCannotBeReadMayBeOfALaterOne) {
  EXPECT_TRUE(CheckStateFile(path_.string()).ok()) << "there is none";
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(CheckStateFile(path_.string()).ok()) << "a folder is none of ours";
  if (std::filesystem::path::preferred_separator != '/') return;  // links need a right there
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(path_, path_);
  for (const std::string& file : {(path_ / "below").string(), std::string("/proc/self/mem")}) {
    const absl::Status status = CheckStateFile(file);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(file + " cannot be read: "));
  }
}

}  // namespace
}  // namespace weft::control
