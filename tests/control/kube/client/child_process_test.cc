// SPDX-License-Identifier: Apache-2.0
#include "control/child_process.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/client/test_plugin.h"
#include "tests/support/test_path.h"
#include "tests/support/wait.h"

namespace weft::control {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr auto kLong = std::chrono::minutes(1);

class ChildProcessTest : public ::testing::Test {
 protected:
  ChildProcessTest() { fs::create_directories(folder); }
  ~ChildProcessTest() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  ChildSpec Plugin(std::vector<std::string> args) const {
    return {testing::TestPlugin(), std::move(args), {}, kLong};
  }
  absl::StatusOr<ChildResult> Run(std::vector<std::string> args) {
    return RunChild(Plugin(std::move(args)), stop);
  }
  std::string Output(std::vector<std::string> args) {
    const auto result = Run(std::move(args));
    return result.ok() ? result->output : result.status().ToString();
  }

  const fs::path folder = testing::TestPath();
  const std::string file = testing::Utf8(folder / "hangs");
  std::atomic<bool> stop{false};
};

// Without a shell: nothing in them has a meaning.
TEST_F(ChildProcessTest, WordsArriveAsTheyAre) {
  const std::vector<std::string> words = {
      "words", "",     " ",     "a b",       "tab\there", "\"",         "a\"b c\"",
      "\\",    "\\\\", "x\\\"", "C:\\a b\\", "C:\\a\\",   "%PATH%",     "$HOME;`id`|<>",
      "*",     "'",    "^&",    "^\"&|",     "\\\\\"",    "--flag=x y", "\xc3\xa9"};
  std::string expected;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) expected += "[" + words[i] + "]";
  EXPECT_THAT(Output(words), HasSubstr(expected));
}

TEST_F(ChildProcessTest, VariablesAreAddedToOurs) {
  ChildSpec spec = Plugin({"variable", "WEFT_PLANTED"});
  EXPECT_EQ(RunChild(spec, stop)->output, "(unset)");
  spec.env = {{"WEFT_PLANTED", "a=b \"c\""}};
  EXPECT_EQ(RunChild(spec, stop)->output, "a=b \"c\"");
  EXPECT_NE(Output({"variable", "PATH"}), "(unset)");
  spec = Plugin({"variable", "PATH"});
  spec.env = {{"PATH", "ours"}};
  EXPECT_EQ(RunChild(spec, stop)->output, "ours");
  spec.env = {{"WEFT_PLANTED", "alone"}};
  spec.inherits_environment = false;
  EXPECT_EQ(RunChild(spec, stop)->output, "(unset)");
}

TEST_F(ChildProcessTest, StandardInputIsEmpty) { EXPECT_EQ(Output({"input"}), "0"); }

TEST_F(ChildProcessTest, ExitStatusAndStandardErrorAreReturned) {
  const auto result = Run({"fail", "7", "no login"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_THAT(result->errors, HasSubstr("no login"));
  EXPECT_EQ(result->output, "");
}

TEST_F(ChildProcessTest, OutputIsLimited) {
  ChildSpec spec = Plugin({"fill", "500000"});
  EXPECT_EQ(RunChild(spec, stop)->output.size(), 500'000u);
  spec.most_output = 499'999;
  EXPECT_EQ(RunChild(spec, stop).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ChildProcessTest, TimeIsLimited) {
  ChildSpec spec = Plugin({"hang", file});
  spec.limit = std::chrono::milliseconds(100);
  const auto result = RunChild(spec, stop);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(result.status().message(), "did not end within 100 ms and was killed");
  spec.limit = std::chrono::milliseconds(0);
  stop = true;
  EXPECT_EQ(RunChild(spec, stop).status().code(), absl::StatusCode::kCancelled) << "it comes first";
}

TEST_F(ChildProcessTest, AStopKillsItAndItsChildren) {
  const std::vector<std::string> words = testing::UnderAShell(file);
  ChildSpec spec{words[0], {words.begin() + 1, words.end()}, {}, kLong};
  for (const bool supervised : {true, false}) {
    spec.supervised = supervised;
    fs::remove(folder / "hangs");
    stop = false;
    std::thread stopper([this] {
      EXPECT_TRUE(testing::Await(kLong, [this] { return fs::exists(folder / "hangs"); }));
      stop = true;
    });
    EXPECT_EQ(RunChild(spec, stop).status().code(), absl::StatusCode::kCancelled);
    stopper.join();
    EXPECT_TRUE(testing::Await(kLong, [this] { return testing::IsReleased(file); }));
  }
}

TEST_F(ChildProcessTest, AProgramThatCannotBeStartedIsAnError) {
  ChildSpec spec{testing::Utf8(folder / "none"), {}, {}, kLong};
  for (const bool supervised : {true, false}) {
    spec.supervised = supervised;
    EXPECT_THAT(RunChild(spec, stop).status().ToString(), HasSubstr("cannot be started"));
  }
}

// ---- which file

TEST(FindProgramTest, AnAbsolutePathIsItself) {
  EXPECT_EQ(*FindProgram(testing::TestPlugin(), "", ""), testing::TestPlugin());
  EXPECT_EQ(FindProgram(testing::TestPlugin() + "-none", "", "").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(FindProgramTest, ANameIsFoundInPathAlone) {
  const fs::path plugin = testing::TestPlugin();
  const std::string folder = testing::Utf8(plugin.parent_path());
  const std::string separator = fs::path::preferred_separator == '/' ? ":" : ";";
  const fs::path before = fs::current_path();
  fs::current_path(plugin.parent_path());
  for (const char* command : {"test_plugin"}) {
    // An empty entry, ".", and a relative folder would be the current folder.
    for (const std::string& path : {std::string(), separator, separator + "." + separator + "./"})
      EXPECT_EQ(FindProgram(command, path, ".EXE").status().code(), absl::StatusCode::kNotFound)
          << path;
    const auto found = FindProgram(command, "." + separator + folder, ".COM;.EXE");
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(fs::equivalent(*found, plugin));
  }
  fs::current_path(before);
}

TEST(FindProgramTest, ARelativePathIsRefused) {
  for (const char* command : {"", "./test_plugin", "bin/test_plugin"})
    EXPECT_EQ(FindProgram(command, "/bin", "").status().code(), absl::StatusCode::kInvalidArgument)
        << command;
}

}  // namespace
}  // namespace weft::control
