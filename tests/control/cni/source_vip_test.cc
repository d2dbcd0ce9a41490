// SPDX-License-Identifier: Apache-2.0
// host-local itself is in tests/e2e/windows_test.py (source_vip).
#include "control/cni/source_vip.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/process_lock.h"
#include "nlohmann/json.hpp"
#include "tests/control/cni/store_folder.h"

namespace weft::cni {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SourceVipTest : public StoreTest {
 protected:
  std::string Reserved(const std::string& subnet = "10.244.1.0/24") const {
    const absl::StatusOr<IpAddress> address = ReserveSourceVip(Spec(subnet));
    return address.ok() ? address->ToString() : std::string(address.status().message());
  }
};

TEST_F(SourceVipTest, IsWrittenAsHostLocalWritesIt) {
  EXPECT_EQ(Reserved(), "10.244.1.2");
  EXPECT_EQ(Read(Folder() / "10.244.1.2"), kReservation);
  EXPECT_THAT(Names(), ElementsAre("10.244.1.2", "lock"));
  EXPECT_TRUE(IsSourceVip(Spec(), *IpAddress::Parse("10.244.1.2")));
  EXPECT_EQ(FindSourceVip(Spec()).value(), IpAddress::Parse("10.244.1.2"));
}

TEST_F(SourceVipTest, IsKeptAndIsTheLowestFreeAddress) {
  Write("10.244.1.2", "pod1\r\neth0");
  Write("10.244.1.3", "");  // host-local died: it never gives this one out
  std::filesystem::create_directories(Folder() / "10.244.1.4");
  Write("last_reserved_ip.0", "10.244.1.9");
  EXPECT_EQ(Reserved(), "10.244.1.5");
  std::filesystem::remove(Folder() / "10.244.1.2");
  EXPECT_EQ(Reserved(), "10.244.1.5") << "kept over a restart";
  EXPECT_EQ(Read(Folder() / "last_reserved_ip.0"), "10.244.1.9");
}

TEST_F(SourceVipTest, ReservationsOfOthersAreAdopted) {
  const struct {
    const char* who;
    const char* content;
    bool adopted;
  } rows[] = {{"RKE2", kReservation, true},
              {"RKE2, line end at the end", "kube-proxy\r\nsource-vip\r\n", true},
              {"an early host-local", "kube-proxy", true},
              {"Microsoft's scripts", "dummy\r\ndummy", true},
              {"Microsoft's scripts by an early host-local", "dummy", true},
              {"a pod", "4f1c\r\neth0", false},
              {"a pod whose id begins like it", "kube-proxy-1\r\nsource-vip", false},
              {"kube-proxy on another interface", "kube-proxy\r\neth0", false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.who);
    std::filesystem::remove_all(root_);
    Write("10.244.1.77", row.content);
    EXPECT_EQ(Reserved(), row.adopted ? "10.244.1.77" : "10.244.1.2");
    EXPECT_EQ(Read(Folder() / "10.244.1.77"), row.content) << "left as it is";
  }
}

TEST_F(SourceVipTest, AnAddressThatNoPodMayHaveIsNotAdopted) {
  for (const char* name : {"10.244.1.0", "10.244.1.1", "10.244.1.255"}) {
    std::filesystem::remove_all(root_);
    Write(name, kReservation);
    EXPECT_EQ(Reserved(), "10.244.1.2") << name;
    EXPECT_FALSE(std::filesystem::exists(Folder() / name)) << name;
  }
}

// host-local makes none; a pipe that is read would stop flanneld.
TEST_F(SourceVipTest, ALinkIsNotFollowed) {
  Write("elsewhere", kReservation);
  std::error_code error;
  std::filesystem::create_symlink(Folder() / "elsewhere", Folder() / "10.244.1.2", error);
  if (error) return;  // Wine, and Windows without the privilege
  EXPECT_EQ(Reserved(), "10.244.1.3");
}

TEST_F(SourceVipTest, AnotherPodCidrReleasesTheOldOneAndNothingElse) {
  Write("10.244.1.9", "pod1\r\neth0");
  Write("10.244.1.8", "dummy\r\ndummy");
  Write("10.244.1.2", kReservation);
  EXPECT_EQ(Reserved("10.244.7.0/24"), "10.244.7.2");
  EXPECT_THAT(Names(), ElementsAre("10.244.1.8", "10.244.1.9", "10.244.7.2", "lock"));
}

TEST_F(SourceVipTest, ThePreferredAddressIsTakenIfItIsFree) {
  const auto preferring = [this](const char* text) {
    std::filesystem::remove_all(root_);
    Write("10.244.1.2", "pod1\r\neth0");
    return ReserveSourceVip(Spec(), IpAddress::Parse(text)).value().ToString();
  };
  EXPECT_EQ(preferring("10.244.1.77"), "10.244.1.77");
  EXPECT_EQ(preferring("10.244.1.254"), "10.244.1.254");
  for (const char* not_free :
       {"10.244.1.2", "10.244.1.1", "10.244.1.255", "10.244.7.7", "af4:107::1"})
    EXPECT_EQ(preferring(not_free), "10.244.1.3") << not_free;
  EXPECT_EQ(ReserveSourceVip(Spec(), IpAddress::Parse("10.244.1.77")).value().ToString(),
            "10.244.1.3")
      << "the reserved one stays";
}

// All states that a process killed between two steps can leave: folder, lock, a temporary file
// (empty, half, whole), the reservation, the old one not yet released.
TEST_F(SourceVipTest, ASecondRunCompletesAnyKilledOne) {
  const std::vector<std::pair<std::string, std::string>> steps[] = {
      {{"lock", ""}},
      {{"lock", ""}, {"10.244.1.2.weft-0123456789abcdef", ""}},
      {{"lock", ""}, {"10.244.1.2.weft-0123456789abcdef", "kube-pr"}},
      {{"lock", ""}, {"10.244.1.2.weft-0123456789abcdef", kReservation}},
      {{"lock", ""}, {"10.244.1.2", kReservation}},
      {{"lock", ""}, {"10.244.1.2", kReservation}, {"10.244.9.2", kReservation}},
      {{"lock", ""}, {"10.244.1.2", kReservation}, {"10.244.1.3", kReservation}}};
  for (const auto& files : steps) {
    std::filesystem::remove_all(root_);
    for (const auto& [name, text] : files) Write(name, text);
    SCOPED_TRACE(files.back().first);
    EXPECT_EQ(Reserved(), "10.244.1.2");
    EXPECT_THAT(Names(), ElementsAre("10.244.1.2", "lock"));
  }
}

TEST_F(SourceVipTest, OtherFilesOfItsFolderStay) {
  for (const char* const name : {"10.244.1.2.backup", "10.244.1.9.AbCdEf", "10.244.1.9.bak.01",
                                 "fd00::1", "notes.weft-0123456789abcdef"})
    Write(name, kReservation);
  std::set<std::string> names = Names();  // Windows has no "fd00::1"
  names.insert({"10.244.2.2", "lock"});
  EXPECT_EQ(Reserved(), "10.244.1.2");
  EXPECT_EQ(Reserved("10.244.2.0/24"), "10.244.2.2") << "and the former one is released";
  EXPECT_EQ(Names(), names);
}

TEST_F(SourceVipTest, AFormerOneIsFoundWhereAskedAndNoneIsInTheSubnet) {
  Write("10.243.1.2", kReservation);
  EXPECT_EQ(FindSourceVip(Spec()).value(), std::nullopt);
  EXPECT_EQ(FindSourceVip(Spec(), /*or_former=*/true).value(), IpAddress::Parse("10.243.1.2"));
  Write("10.244.1.5", kReservation);
  EXPECT_EQ(FindSourceVip(Spec(), /*or_former=*/true).value(), IpAddress::Parse("10.244.1.5"));
}

TEST_F(SourceVipTest, AFullSubnetIsReported) {
  for (const char* name : {"10.244.1.2", "10.244.1.3", "10.244.1.4", "10.244.1.5", "10.244.1.6"})
    Write(name, "pod\r\neth0");
  EXPECT_THAT(Reserved("10.244.1.0/29"),
              AllOf(HasSubstr("no address of 10.244.1.0/29 is free"), HasSubstr("5 reservations"),
                    HasSubstr("End a pod")));
  std::filesystem::remove(Folder() / "10.244.1.6");
  EXPECT_EQ(Reserved("10.244.1.0/29"), "10.244.1.6") << "the last before broadcast";
}

TEST_F(SourceVipTest, ThousandsOfEntries) {
  for (int i = 0; i < 3000; ++i)
    Write(absl::StrCat("10.244.", 16 + i / 256, ".", i % 256), "pod\r\neth0");
  EXPECT_EQ(Reserved("10.244.16.0/20"), "10.244.27.184");
}

TEST_F(SourceVipTest, SubnetsWithoutRoom) {
  for (const char* subnet : {"10.244.1.0/31", "10.244.1.0/32", "fd00:1::/64", "fd00::/16"}) {
    EXPECT_THAT(Reserved(subnet), HasSubstr("PodCIDR of /30 or larger")) << subnet;
    EXPECT_FALSE(FindSourceVip(Spec(subnet)).ok()) << subnet;
    EXPECT_FALSE(std::filesystem::exists(root_));
  }
  EXPECT_EQ(Reserved("10.244.1.0/30"), "10.244.1.2");
}

TEST_F(SourceVipTest, FilesInPlaceOfFoldersAreNamed) {
  std::filesystem::create_directories(root_.parent_path());
  std::ofstream(root_) << "a file";
  EXPECT_THAT(Reserved(), AllOf(HasSubstr("cannot create the folder"), HasSubstr(root_.string()),
                                HasSubstr("--source-vip-store")));
  std::filesystem::remove_all(root_);
  std::filesystem::create_directories(Folder() / "lock");
  EXPECT_THAT(Reserved(), AllOf(HasSubstr("cannot open the lock"), HasSubstr("flannel.4096")));
  std::filesystem::remove_all(Folder());
  std::ofstream(Folder()) << "a file";
  EXPECT_THAT(FindSourceVip(Spec()).status().message(), HasSubstr("cannot read the folder"));
}

TEST_F(SourceVipTest, WhatCannotBeRemovedIsNamed) {
  std::filesystem::create_directories(Folder() / "10.244.1.2.weft-0123456789abcdef" / "a");
  EXPECT_THAT(Reserved(), HasSubstr("cannot release "));
}

TEST_F(SourceVipTest, WaitsForTheLock) {
  ASSERT_EQ(Reserved(), "10.244.1.2");
  auto lock = control::ProcessLock::TryTakeHostLocal((Folder() / "lock").string());
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(ReserveSourceVip(Spec()).status()));
  EXPECT_EQ(FindSourceVip(Spec()).value(), IpAddress::Parse("10.244.1.2")) << "reading needs none";
}

TEST_F(SourceVipTest, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"", ".", "..", "../x", "a/b", "a\\b", "c:x"}) {
    SourceVipSpec spec = Spec();
    spec.network = name;
    EXPECT_THAT(std::string(ReserveSourceVip(spec).status().message()),
                HasSubstr("change Name in net-conf"))
        << name;
    EXPECT_FALSE(FindSourceVip(spec).ok());
    EXPECT_FALSE(std::filesystem::exists(root_));
  }
}

TEST_F(SourceVipTest, TheFileHasBothShapes) {
  const auto json = nlohmann::json::parse(
      SourceVipJson(*IpAddress::Parse("10.244.1.2"), *IpPrefix::Parse("10.244.1.0/24")));
  EXPECT_EQ(json["ip4"]["ip"], "10.244.1.2/24");
  EXPECT_EQ(json["ips"][0]["address"], "10.244.1.2/24");
  EXPECT_EQ(json["ips"][0]["gateway"], "10.244.1.1");
}

}  // namespace
}  // namespace weft::cni
