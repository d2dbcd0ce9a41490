// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/server_choice.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<std::string> Texts(const ServerChoice& choice) {
  std::vector<std::string> texts;
  for (const ServerState& each : choice.States())
    texts.push_back(each.server + (each.in_use ? " * " : " ") + each.text);
  return texts;
}

TEST(ServerChoice, TheFirstIsUsedUntilItFails) {
  ServerChoice choice({{"a"}, {"b"}, {"c"}});
  EXPECT_THAT(Texts(choice), ElementsAre("a * in use", "b not in use", "c not in use"));
  choice.Answered(0);
  EXPECT_EQ(choice.current(), 0u);
  EXPECT_TRUE(choice.Failed(0, "connection refused"));
  EXPECT_THAT(Texts(choice), ElementsAre("a failed: connection refused",
                                         "b * in use, taken over from a", "c not in use"));
}

TEST(ServerChoice, TheNextIsUsedInACircle) {
  ServerChoice choice({{"a"}, {"b"}, {"c"}});
  for (const std::size_t next : {1u, 2u, 0u, 1u}) {
    choice.Failed(choice.current(), "down");
    EXPECT_EQ(choice.current(), next);
  }
}

// It works, and the earlier one may fail again.
TEST(ServerChoice, AServerThatWorksStaysInUse) {
  ServerChoice choice({{"a"}, {"b"}});
  choice.Failed(0, "down");
  choice.Answered(1);
  choice.Answered(0);  // an older request
  EXPECT_EQ(choice.current(), 1u);
  EXPECT_THAT(Texts(choice), ElementsAre("a not in use", "b * in use, taken over from a"));
}

// The watch and a patch run at once, and both lose the server.
TEST(ServerChoice, OneLossThatTwoRequestsReportIsOne) {
  ServerChoice choice({{"a"}, {"b"}, {"c"}});
  EXPECT_TRUE(choice.Failed(0, "down"));
  EXPECT_FALSE(choice.Failed(0, "down as well"));
  EXPECT_EQ(choice.current(), 1u);
}

TEST(ServerChoice, ASingleServerStaysInUse) {
  ServerChoice choice({{"a"}});
  EXPECT_FALSE(choice.Failed(0, "down"));
  EXPECT_THAT(Texts(choice), ElementsAre("a * in use; it fails: down"));
  choice.Answered(0);
  EXPECT_THAT(Texts(choice), ElementsAre("a * in use"));
}

TEST(ServerChoice, OneThatCannotBeUsedIsLeftOutUntilItCan) {
  absl::StatusOr<std::string> opened = absl::NotFoundError("no such file");
  int tries = 0;
  ServerChoice choice({{"a"}, {"the file's", [&] {
                                 ++tries;
                                 return opened;
                               }}});
  EXPECT_EQ(tries, 0) << "read before it is needed";
  EXPECT_FALSE(choice.Failed(0, "down"));
  EXPECT_THAT(Texts(choice),
              ElementsAre("a * in use; it fails: down", "the file's failed: no such file"));
  opened = "https://b";
  EXPECT_TRUE(choice.Failed(0, "down"));
  EXPECT_EQ(choice.name(choice.current()), "https://b");
  EXPECT_EQ(tries, 2);
}

TEST(ServerChoice, TheTextOfAnErrorIsBounded) {
  ServerChoice choice({{"a"}, {"b"}});
  std::string why(ServerChoice::kMostWhy - 1, 'x');
  why += "\xc3\xa9 and so on";  // a character of two bytes at the limit
  choice.Failed(0, why);
  EXPECT_EQ(choice.States()[0].text,
            "failed: " + std::string(ServerChoice::kMostWhy - 1, 'x') + "...");
  choice.Failed(0, std::string(ServerChoice::kMostWhy + 1, '\x80'));
  EXPECT_EQ(choice.States()[0].text, "failed: ...") << "no UTF-8";
}

}  // namespace
}  // namespace weft::kube
