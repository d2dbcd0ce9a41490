// SPDX-License-Identifier: Apache-2.0
// Our rules in the kernel, as the programs nft and iptables show them, in a network namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/netfilter.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/host/iptables_linux.h"
#include "control/host/nftables_linux.h"
#include "control/host/packet_filter.h"
#include "tests/support/lease_makers.h"
#include "tests/support/netns.h"
#include "tests/support/test_path.h"

namespace weft::host {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::weft::testing::Prefix;

// Its output, both streams, without iptables' warning that the other kind has tables, too.
std::string Shell(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 256> chunk;
  while (std::fgets(chunk.data(), chunk.size(), pipe) != nullptr) {
    if (chunk[0] != '#') output += chunk.data();
  }
  ::pclose(pipe);
  return output;
}

// The result of `body` in a process of its own: 0 if nothing failed.
int InChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int result = -1;
  EXPECT_EQ(::waitpid(child, &result, 0), child);
  return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

// From now on this process's mounts are its own.
bool UnshareMounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

class PacketFilterLinuxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    Shell("nft flush ruleset; iptables-legacy -F FORWARD; ip6tables-legacy -F FORWARD");
  }

  static std::vector<FilterRule> Masquerade() {
    std::vector<FilterRule> rules =
        MasqueradeRules({Prefix("10.244.0.0/16"), Prefix("10.244.1.0/24")}, {});
    const std::vector<FilterRule> v6 =
        MasqueradeRules({Prefix("fd10:244::/48"), Prefix("fd10:244:0:1::/64")}, {});
    rules.insert(rules.end(), v6.begin(), v6.end());
    return rules;
  }
  static std::vector<FilterRule> Forward() {
    std::vector<FilterRule> rules = ForwardRules(Prefix("10.244.0.0/16"));
    const std::vector<FilterRule> v6 = ForwardRules(Prefix("fd10:244::/48"));
    rules.insert(rules.end(), v6.begin(), v6.end());
    return rules;
  }
  // A machine that is busy elsewhere is nothing to judge by.
  template <typename Call>
  static auto Patiently(const Call& call) {
    const auto code = [](const auto& result) {
      if constexpr (std::is_same_v<decltype(call()), absl::Status>)
        return result.code();
      else
        return result.status().code();
    };
    auto result = call();
    for (int i = 0; i < 100 && code(result) == absl::StatusCode::kDeadlineExceeded; ++i)
      result = call();
    return result;
  }
  bool Has(FilterPart part, const std::vector<FilterRule>& rules) {
    const absl::StatusOr<bool> has = Patiently([&] { return filter_->Has(part, rules); });
    EXPECT_TRUE(has.ok()) << has.status();
    return has.value_or(false);
  }
  void Put(FilterPart part, const std::vector<FilterRule>& rules) {
    EXPECT_EQ(Patiently([&] { return filter_->Put(part, rules); }), absl::OkStatus());
  }

  std::unique_ptr<PacketFilter> filter_ = OpenPacketFilter();
};

constexpr char kTable[] = R"(table inet weft {
	comment "made by weft's flanneld"
	chain postrouting {
		type nat hook postrouting priority srcnat + 5; policy accept;
		meta nfproto ipv4 meta mark & 0x00004000 == 0x00004000 return
		ip saddr 10.244.1.0/24 ip daddr 10.244.0.0/16 return
		ip saddr 10.244.0.0/16 ip daddr 10.244.1.0/24 return
		ip saddr != 10.244.0.0/16 ip daddr 10.244.1.0/24 return
		ip saddr 10.244.0.0/16 ip daddr != 224.0.0.0/4 masquerade fully-random
		ip saddr != 10.244.0.0/16 ip daddr 10.244.0.0/16 masquerade fully-random
		meta nfproto ipv6 meta mark & 0x00004000 == 0x00004000 return
		ip6 saddr fd10:244:0:1::/64 ip6 daddr fd10:244::/48 return
		ip6 saddr fd10:244::/48 ip6 daddr fd10:244:0:1::/64 return
		ip6 saddr != fd10:244::/48 ip6 daddr fd10:244:0:1::/64 return
		ip6 saddr fd10:244::/48 ip6 daddr != ff00::/8 masquerade fully-random
		ip6 saddr != fd10:244::/48 ip6 daddr fd10:244::/48 masquerade fully-random
	}
}
)";

TEST_F(PacketFilterLinuxTest, TheTableIsWhatNftShows) {
  for (int round = 0; round < 2; ++round) EXPECT_FALSE(Has(FilterPart::kMasquerade, Masquerade()));
  Put(FilterPart::kMasquerade, Masquerade());
  EXPECT_EQ(Shell("nft list ruleset"), kTable);
  EXPECT_TRUE(Has(FilterPart::kMasquerade, Masquerade()));
  EXPECT_FALSE(Has(FilterPart::kMasquerade, Forward()));
  EXPECT_FALSE(Has(FilterPart::kMasquerade, {}));
  Put(FilterPart::kMasquerade, {});
  EXPECT_EQ(Shell("nft list ruleset"), "");
  EXPECT_TRUE(Has(FilterPart::kMasquerade, {}));
}

TEST_F(PacketFilterLinuxTest, AMarkIsComparedUnderItsMask) {
  const FilterRule rule{IpFamily::kV4, FilterRule::Mark{0x0100'0100, 0xff00'ff00}, {}, {}};
  Put(FilterPart::kMasquerade, {rule});
  EXPECT_THAT(Shell("nft list ruleset"), HasSubstr("meta mark & 0xff00ff00 == 0x01000100 return"));
}

TEST_F(PacketFilterLinuxTest, EachForeignChangeIsDetectedAndRepaired) {
  for (const char* change : {
           "nft flush ruleset",
           "nft delete table inet weft",
           "nft flush chain inet weft postrouting",
           "nft add rule inet weft postrouting accept",
           "nft insert rule inet weft postrouting accept",
           "nft 'flush chain inet weft postrouting; delete chain inet weft postrouting; add chain "
           "inet weft postrouting'",
       }) {
    Put(FilterPart::kMasquerade, Masquerade());
    EXPECT_TRUE(Has(FilterPart::kMasquerade, Masquerade()));
    EXPECT_EQ(Shell(change), "");
    EXPECT_FALSE(Has(FilterPart::kMasquerade, Masquerade())) << change;
    Put(FilterPart::kMasquerade, Masquerade());
    EXPECT_EQ(Shell("nft list ruleset"), kTable) << change;
  }
}

TEST_F(PacketFilterLinuxTest, ForeignChangesElsewhereAreIgnored) {
  Put(FilterPart::kMasquerade, Masquerade());
  EXPECT_EQ(Shell("nft add table ip foreign"), "");
  EXPECT_TRUE(Has(FilterPart::kMasquerade, Masquerade()));
  EXPECT_EQ(Shell("nft delete table ip foreign"), "");
}

TEST_F(PacketFilterLinuxTest, AForeignTableOfOurNameIsKept) {
  const std::string foreign = "table inet weft {\n\tchain c {\n\t\taccept\n\t}\n}\n";
  EXPECT_EQ(Shell("nft 'add table inet weft; add chain inet weft c; add rule inet weft c accept'"),
            "");
  for (const auto& rules : {Masquerade(), std::vector<FilterRule>()}) {
    const absl::Status status = filter_->Put(FilterPart::kMasquerade, rules);
    EXPECT_THAT(std::string(status.message()), HasSubstr("was not made by flanneld"));
    EXPECT_EQ(Shell("nft list ruleset"), foreign);
  }
  EXPECT_THAT(std::string(filter_->Has(FilterPart::kMasquerade, Masquerade()).status().message()),
              HasSubstr("nft delete table inet weft"));
  EXPECT_TRUE(Has(FilterPart::kMasquerade, {}));
}

// Another program may create it between our read and our change.
TEST_F(PacketFilterLinuxTest, AnExistingTableIsNotWrittenInto) {
  constexpr NftChain kOurs{NFPROTO_INET, "weft", "postrouting"};
  EXPECT_EQ(Shell("nft add table inet weft"), "");
  absl::StatusOr<NfTables> nft = NfTables::Open();
  ASSERT_TRUE(nft.ok()) << nft.status();
  NftBatch batch;
  batch.AddTable(kOurs, "made by weft's flanneld");
  batch.AddPostroutingChain(kOurs);
  EXPECT_TRUE(absl::IsAlreadyExists(nft->Commit(std::move(batch))));
  EXPECT_EQ(Shell("nft list ruleset"), "table inet weft {\n}\n");
}

TEST_F(PacketFilterLinuxTest, ALaterProcessReplacesAnEarlierOnesAtOnce) {
  Put(FilterPart::kMasquerade, Masquerade());
  EXPECT_EQ(Shell("iptables -P FORWARD DROP"), "");
  Put(FilterPart::kForward, Forward());
  filter_ = OpenPacketFilter();
  EXPECT_FALSE(Has(FilterPart::kMasquerade, {}));
  EXPECT_FALSE(Has(FilterPart::kForward, {}));
  Put(FilterPart::kMasquerade, Masquerade());
  Put(FilterPart::kForward, Forward());
  EXPECT_THAT(Shell("nft list ruleset"), HasSubstr(kTable));
  EXPECT_EQ(Shell("iptables -S FORWARD | grep -c weft-forward"), "2\n");
}

constexpr char kForwardRules[] =
    "-A FORWARD -s 10.244.0.0/16 -m comment --comment weft-forward -j ACCEPT\n"
    "-A FORWARD -d 10.244.0.0/16 -m comment --comment weft-forward -j ACCEPT\n";
constexpr char kForwardRulesV6[] =
    "-A FORWARD -s fd10:244::/48 -m comment --comment weft-forward -j ACCEPT\n"
    "-A FORWARD -d fd10:244::/48 -m comment --comment weft-forward -j ACCEPT\n";

TEST_F(PacketFilterLinuxTest, WithoutAChainNothingIsMissingAndNothingIsMade) {
  EXPECT_TRUE(Has(FilterPart::kForward, Forward()));
  Put(FilterPart::kForward, Forward());
  EXPECT_EQ(Shell("nft list ruleset"), "");
  EXPECT_EQ(Shell("nft 'add table ip filter; add chain ip filter FORWARD'"), "");
  EXPECT_TRUE(Has(FilterPart::kForward, Forward())) << "a chain that no packet passes";
}

TEST_F(PacketFilterLinuxTest, AChainThatAppearsGetsItsRulesAtItsEnd) {
  EXPECT_TRUE(Has(FilterPart::kForward, Forward()));
  EXPECT_EQ(Shell("iptables -P FORWARD DROP; iptables -A FORWARD -s 10.9.0.0/16 -j DROP"), "");
  EXPECT_FALSE(Has(FilterPart::kForward, Forward()));
  Put(FilterPart::kForward, Forward());
  EXPECT_TRUE(Has(FilterPart::kForward, Forward()));
  EXPECT_FALSE(Has(FilterPart::kForward, ForwardRules(Prefix("10.99.0.0/16"))));
  EXPECT_EQ(Shell("iptables -S FORWARD"),
            std::string("-P FORWARD DROP\n-A FORWARD -s 10.9.0.0/16 -j DROP\n") + kForwardRules);
  EXPECT_THAT(Shell("nft list ruleset"), Not(HasSubstr("table ip6")));
  EXPECT_EQ(Shell("ip6tables -P FORWARD DROP"), "");
  EXPECT_FALSE(Has(FilterPart::kForward, Forward()));
  Put(FilterPart::kForward, Forward());
  EXPECT_EQ(Shell("ip6tables -S FORWARD"), std::string("-P FORWARD DROP\n") + kForwardRulesV6);
}

TEST_F(PacketFilterLinuxTest, MissingForwardRulesAreDetectedAndRemovalLeavesNoTrace) {
  EXPECT_EQ(Shell("iptables -P FORWARD DROP; iptables -A FORWARD -s 10.9.0.0/16 -j DROP"), "");
  const std::string before = Shell("nft list ruleset");
  Put(FilterPart::kForward, Forward());
  EXPECT_EQ(Shell("iptables -D FORWARD 2"), "");
  EXPECT_FALSE(Has(FilterPart::kForward, Forward()));
  Put(FilterPart::kForward, Forward());
  EXPECT_EQ(Shell("iptables -S FORWARD | grep -c weft-forward"), "2\n");
  EXPECT_EQ(Shell("iptables -F FORWARD; iptables -A FORWARD -s 10.9.0.0/16 -j DROP"), "");
  EXPECT_FALSE(Has(FilterPart::kForward, Forward()));
  Put(FilterPart::kForward, Forward());
  EXPECT_TRUE(Has(FilterPart::kMasquerade, {}));
  EXPECT_FALSE(Has(FilterPart::kForward, {}));
  Put(FilterPart::kForward, {});
  EXPECT_TRUE(Has(FilterPart::kForward, {}));
  EXPECT_EQ(Shell("nft list ruleset | sed 's/ counter packets [0-9]* bytes [0-9]*//'"),
            Shell("echo '" + before + "' | sed 's/ counter packets [0-9]* bytes [0-9]*//;$d'"));
}

// Correct rules are not written again each time the other family's are missing.
TEST_F(PacketFilterLinuxTest, ACorrectFamilyIsNotTouched) {
  EXPECT_EQ(Shell("iptables -P FORWARD DROP; ip6tables -P FORWARD DROP"), "");
  Put(FilterPart::kForward, Forward());
  const std::string before = Shell("nft -a list chain ip filter FORWARD");
  EXPECT_THAT(before, HasSubstr("# handle "));
  EXPECT_EQ(Shell("ip6tables -F FORWARD"), "");
  EXPECT_FALSE(Has(FilterPart::kForward, Forward()));
  Put(FilterPart::kForward, Forward());
  EXPECT_EQ(Shell("nft -a list chain ip filter FORWARD"), before);
  EXPECT_EQ(Shell("ip6tables -S FORWARD"), std::string("-P FORWARD DROP\n") + kForwardRulesV6);
}

TEST_F(PacketFilterLinuxTest, LegacyOrderAndRepetitionAreIgnored) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP"), "");
  Put(FilterPart::kForwardLegacy, Forward());
  EXPECT_EQ(Shell("iptables-legacy -I FORWARD -d 10.244.0.0/16 -m comment --comment weft-forward "
                  "-j ACCEPT"),
            "");
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, Forward()));
  EXPECT_EQ(Shell("iptables-legacy -D FORWARD 3"), "");
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, Forward()));
  EXPECT_FALSE(Has(FilterPart::kForwardLegacy, {}));
}

TEST_F(PacketFilterLinuxTest, ALegacyRuleMayMatchWhatIsOutside) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP"), "");
  const FilterRule rule{IpFamily::kV4, {}, FilterRule::Side{Prefix("10.244.0.0/16"), true}, {}};
  Put(FilterPart::kForwardLegacy, {rule});
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, {rule}));
  EXPECT_EQ(Shell("iptables-legacy -S FORWARD"),
            "-P FORWARD DROP\n-A FORWARD ! -s 10.244.0.0/16 -m comment --comment weft-forward -j "
            "RETURN\n");
}

// As if another program takes the lock half-way.
TEST_F(PacketFilterLinuxTest, ALegacyChangeThatFailsHalfWayInterruptsNoTraffic) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP"), "");
  EXPECT_FALSE(Patiently([] { return PutLegacyForward(Forward(), "two words"); }).ok());
  Put(FilterPart::kForwardLegacy, ForwardRules(Prefix("10.99.0.0/16")));
  // With our comment, and not deletable by the words of its listing.
  EXPECT_EQ(Shell("iptables-legacy -A FORWARD -m comment --comment weft-forward -m comment "
                  "--comment 'two words' -j ACCEPT"),
            "");
  EXPECT_FALSE(Patiently([&] { return filter_->Put(FilterPart::kForwardLegacy, Forward()); }).ok());
  EXPECT_THAT(Shell("iptables-legacy -S FORWARD"), HasSubstr(kForwardRules));
}

TEST_F(PacketFilterLinuxTest, Legacy) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP; iptables-legacy -A FORWARD -s 10.9.0.0/16 "
                  "-m comment --comment weft-forwarder -j DROP; ip6tables-legacy -P FORWARD DROP"),
            "");
  const std::string before = Shell("iptables-legacy -S; ip6tables-legacy -S");
  EXPECT_FALSE(Has(FilterPart::kForwardLegacy, Forward()));
  Put(FilterPart::kForwardLegacy, Forward());
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, Forward()));
  EXPECT_EQ(Shell("iptables-legacy -S FORWARD"),
            std::string("-P FORWARD DROP\n-A FORWARD -s 10.9.0.0/16 -m comment --comment "
                        "weft-forwarder -j DROP\n") +
                kForwardRules);
  EXPECT_EQ(Shell("ip6tables-legacy -S FORWARD"),
            std::string("-P FORWARD DROP\n") + kForwardRulesV6);
  EXPECT_EQ(Shell("iptables-legacy -D FORWARD 2"), "");
  EXPECT_FALSE(Has(FilterPart::kForwardLegacy, Forward()));
  Put(FilterPart::kForwardLegacy, Forward());
  EXPECT_EQ(Shell("iptables-legacy -S FORWARD | grep -c 'weft-forward '"), "2\n");
  Put(FilterPart::kForwardLegacy, {});
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, {}));
  EXPECT_EQ(Shell("iptables-legacy -S; ip6tables-legacy -S"), before);
  EXPECT_EQ(Shell("nft list ruleset"), "") << "nothing of nf_tables is touched";
}

// Listing it would create it, with three chains.
TEST_F(PacketFilterLinuxTest, LegacyWithoutTheFilterTableGetsNone) {
  ASSERT_EQ(::unshare(CLONE_NEWNET), 0);  // in the former one SetUp has made the table
  EXPECT_EQ(Shell("iptables-legacy -t nat -N other"), "");
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, Forward())) << "nothing drops there";
  Put(FilterPart::kForwardLegacy, Forward());
  EXPECT_EQ(Shell("cat /proc/self/net/ip_tables_names"), "nat\n");
}

// proc(5): the file of the tables' names is root's.
TEST_F(PacketFilterLinuxTest, LegacyTablesThatMayNotBeReadAreNotNone) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP"), "");
  const auto refused = [](const absl::Status& status) {
    return absl::IsPermissionDenied(status) &&
           status.message().starts_with("it is not known whether this host has tables");
  };
  EXPECT_EQ(InChild([&] {
              if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
              if (!refused(filter_->Has(FilterPart::kForwardLegacy, Forward()).status())) return 3;
              return refused(filter_->Put(FilterPart::kForwardLegacy, Forward())) ? 0 : 4;
            }),
            0);
  // Where the system has no such file, there are no tables; a masked one may hide some.
  EXPECT_EQ(InChild([&] {
              if (!UnshareMounts() || ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0) return 2;
              std::filesystem::create_directories("/proc/self/net");
              const absl::StatusOr<bool> none = HasLegacyForward(Forward(), "weft-forward");
              if (!none.ok() || !*none) return 3;
              std::filesystem::create_symlink("/dev/null", "/proc/self/net/ip_tables_names");
              return refused(HasLegacyForward(Forward(), "weft-forward").status()) ? 0 : 4;
            }),
            0);
}

// iptables of nf_tables is none.
TEST_F(PacketFilterLinuxTest, WithoutAProgramThatRunsLegacyTablesAreAnError) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP"), "");
  const std::string broken = weft::testing::TestPath().string();
  std::ofstream(broken).flush();
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  const auto replace = [](const std::string& name, const std::string& by) {
    for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/local/sbin/", "/usr/bin/", "/bin/"})
      ::mount(by.c_str(), (folder + name).c_str(), nullptr, MS_BIND, nullptr);
  };
  EXPECT_EQ(InChild([&] {
              const auto has = [] { return HasLegacyForward(Forward(), "weft-forward").status(); };
              const auto says = [](const absl::Status& status, std::string_view what) {
                return absl::StrContains(status.message(), what);
              };
              if (!UnshareMounts()) return 2;
              replace("iptables-legacy", broken);
              if (!says(has(), "iptables-legacy cannot be started")) return 3;
              const absl::Status put = PutLegacyForward(Forward(), "weft-forward");
              if (!says(put, "iptables-legacy cannot be started")) return 4;
              replace("iptables-legacy", "/dev/null");
              if (!says(has(), "this program is not found")) return 5;
              replace("iptables", broken);
              return says(has(), "this program is not found") ? 0 : 6;
            }),
            0);
  std::filesystem::remove(broken);
}

TEST_F(PacketFilterLinuxTest, WithoutTheCapabilityItIsNamed) {
  EXPECT_EQ(
      InChild([&] {
        const auto refused = [](const absl::Status& status, std::string_view what) {
          return absl::IsPermissionDenied(status) &&
                 status.message() == absl::StrCat("cannot read ", what,
                                                  ": Operation not permitted; run as root or with "
                                                  "CAP_NET_ADMIN");
        };
        if (::setuid(65534) != 0) return 2;
        if (!refused(filter_->Has(FilterPart::kMasquerade, {}).status(), "nftables' generation"))
          return 3;
        if (!refused(filter_->Put(FilterPart::kMasquerade, {}), "nftables' table inet weft"))
          return 4;
        return refused(filter_->Put(FilterPart::kForward, {}),
                       "chain FORWARD of nftables' table ip filter")
                   ? 0
                   : 5;
      }),
      0);
}

// It may pass: no word of rights, and a condition while it lasts.
TEST_F(PacketFilterLinuxTest, WithoutDescriptorsNoRightIsMissing) {
  const std::unique_ptr<PacketFilter> opened = OpenPacketFilter();
  ASSERT_TRUE(opened->Has(FilterPart::kForward, {}).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status statuses[] = {HasLegacyForward(Forward(), "weft-forward").status(),
                                   filter_->Has(FilterPart::kForward, {}).status(),
                                   filter_->Put(FilterPart::kForward, {})};
  const absl::Status again = opened->Has(FilterPart::kForward, {}).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const absl::Status& status : statuses) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("as root")));
  }
  EXPECT_EQ(again, absl::OkStatus());
}

// flanneld's would choose iptables' extensions and libraries.
TEST_F(PacketFilterLinuxTest, IptablesGetsNothingOfTheEnvironment) {
  EXPECT_EQ(Shell("iptables-legacy -P FORWARD DROP"), "");
  ::setenv("XTABLES_LIBDIR", "/nonexistent", 1);
  Put(FilterPart::kForwardLegacy, Forward());
  ::unsetenv("XTABLES_LIBDIR");
  EXPECT_TRUE(Has(FilterPart::kForwardLegacy, Forward()));
}

}  // namespace
}  // namespace weft::host
