// SPDX-License-Identifier: Apache-2.0
#include "control/service/service_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/service/service_arguments.h"

namespace weft::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

TEST(ServiceCommand, InstallCollectsTheServicesWords) {
  const auto command = ParseCommand(Words{"install", "--kube-subnet-mgr", "--start=delayed",
                                          "--node-name", "a", "--service-name", "weft-2_b.c"});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->verb, Verb::kInstall);
  EXPECT_EQ(command->name, "weft-2_b.c");
  EXPECT_EQ(command->start, StartType::kDelayed);
  EXPECT_THAT(command->arguments, ElementsAre("--kube-subnet-mgr", "--node-name", "a"));
}

TEST(ServiceCommand, Defaults) {
  const auto command = ParseCommand(Words{"install"});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->name, "flanneld");
  EXPECT_EQ(command->start, StartType::kAuto);
  EXPECT_THAT(command->arguments, IsEmpty());
}

TEST(ServiceCommand, OtherVerbs) {
  EXPECT_EQ(ParseCommand(Words{"uninstall"})->verb, Verb::kUninstall);
  EXPECT_EQ(ParseCommand(Words{"start", "-service-name=x"})->name, "x");
  EXPECT_EQ(ParseCommand(Words{"stop"})->verb, Verb::kStop);
  EXPECT_EQ(ParseCommand(Words{"status"})->verb, Verb::kStatus);
}

TEST(ServiceCommand, Help) {
  for (const Words& words :
       {Words{}, Words{"help"}, Words{"--help"}, Words{"-help"}, Words{"-h"},
        Words{"install", "--help"}, Words{"stop", "-h"}, Words{"start", "-help"}})
    EXPECT_EQ(ParseCommand(words)->verb, Verb::kHelp);
}

TEST(ServiceCommand, WrongWords) {
  const struct {
    Words words;
    const char* message;
  } rows[] = {
      {{"instal"}, "unknown verb \"instal\"; one of install, uninstall, start, stop, status"},
      {{"stop", "--force"}, "\"--force\" is no option of service stop"},
      {{"start", "--start=auto"}, "\"--start=auto\" is no option of service start"},
      {{"install", "--start=boot"}, "--start=boot: must be one of auto, delayed, manual"},
      {{"install", "--start"}, "must be one of auto"},
      {{"install", "--service-name="}, "--service-name=\"\""},
      {{"install", "--service-name"}, "--service-name=\"\""},
      {{"install", "--service-name=a\\b"}, "--service-name=\"a\\\\b\""},
      {{"install", "--service-name=a b"}, "--service-name=\"a b\""},
      {{"install", "--service-name=" + std::string(81, 'a')}, "use 1 to 80"},
  };
  for (const auto& row : rows) {
    const auto command = ParseCommand(row.words);
    ASSERT_FALSE(command.ok()) << row.message;
    EXPECT_THAT(command.status().message(), HasSubstr(row.message));
  }
}

// ---- the words of the service's flanneld

absl::StatusOr<Words> ArgumentsOf(Words words) {
  for (const char* const needed :
       {"--lease-source=file:/nodes.json", "--node-name=a", "--dataplane=none"})
    words.insert(words.begin(), needed);
  return ServiceArguments(words, [](const std::string&) { return std::nullopt; });
}

TEST(ServiceArguments, TheLogFolderIsAddedWhereNoneIsGiven) {
  const auto arguments = ArgumentsOf({"--ip-masq"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->size(), 5u);
  EXPECT_EQ((*arguments)[3], "--ip-masq");
  EXPECT_EQ(arguments->back(), "--log-dir=" + DefaultLogFolder());
  EXPECT_THAT(DefaultLogFolder(), ::testing::EndsWith(R"(\var\log\weft)"));
  EXPECT_EQ(ArgumentsOf({R"(--log-dir=D:\log)"})->back(), R"(--log-dir=D:\log)");
}

TEST(ServiceArguments, WholePathsAreAccepted) {
  for (const char* const path :
       {R"(C:\k\config)", "C:/k/config", R"(\k\config)", "/k/config", R"(\\server\share\config)"})
    EXPECT_TRUE(ArgumentsOf({std::string("--net-config-path=") + path}).ok()) << path;
  EXPECT_TRUE(ArgumentsOf({"--admin=none"}).ok());
}

TEST(ServiceArguments, WhatTheServiceCouldNotUseIsRefused) {
  const struct {
    const char* word;
    const char* message;
  } rows[] = {
      {"--net-config-path=net-conf.json",
       "--net-config-path=\"net-conf.json\": a service starts in Windows' own folder"},
      {"--log-dir=log", "--log-dir=\"log\""},
      {"--log-dir=C:", "--log-dir=\"C:\""},
      {"--log-dir=1:\\log", "--log-dir=\"1:\\\\log\""},
      {"--log-dir=ab\\log", "--log-dir=\"ab\\\\log\""},
      {"--log-dir=none", "--log-dir=\"none\""},
      {"--state-dir=C:state", "--state-dir=\"C:state\""},
      {"--subnet-file=..\\subnet.env", "--subnet-file"},
      {"--admin=weft", "--admin=\"weft\""},
      {"--lease-source=file:nodes.json", "--lease-source=\"file:nodes.json\""},
      {"--lease-source=file:", "is not understood; write file:PATH"},
      {"--etcd-password=hunter2", "any user of this machine can read"},
      {"--ifce=Ethernet", "did you mean --iface?"},
      {"--log-files=0", "--log-files=0 must lie in 1..1000"},
      {"--log-file-size=4097", "--log-file-size=4097 must lie in 1..4096 (MiB)"},
      {"--iface-regex=(", "--iface-regex=("},
      {"--version", "--version"},
      {"word", "IGNORED"},
  };
  for (const auto& row : rows) {
    const auto arguments = ArgumentsOf({row.word});
    ASSERT_FALSE(arguments.ok()) << row.word;
    EXPECT_THAT(arguments.status().message(), HasSubstr(row.message));
    EXPECT_THAT(arguments.status().message(), ::testing::Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace weft::service
