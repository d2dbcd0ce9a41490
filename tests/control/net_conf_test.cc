// SPDX-License-Identifier: Apache-2.0
// Upstream v0.28.9's rows "containsCIDR" and "config", and our own.
#include "control/net_conf.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Prefix;

NetConf Parsed(std::string_view text, const VxlanDefaults& defaults = kHnsDefaults) {
  auto conf = ParseNetConf(text, "net-conf.json", defaults);
  if (!conf.ok()) {
    ADD_FAILURE() << conf.status();
    return {};
  }
  return *std::move(conf);
}

std::string Error(std::string_view text, const VxlanDefaults& defaults = kHnsDefaults) {
  const auto conf = ParseNetConf(text, "net-conf.json", defaults);
  return conf.ok() ? "OK" : std::string(conf.status().message());
}

// Upstream's minimum for a cluster with Windows nodes (2.5).
constexpr const char* kUsual =
    R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";

TEST(NetConf, TheUsualOne) {
  const NetConf conf = Parsed(kUsual);
  EXPECT_TRUE(conf.enable_ipv4);
  EXPECT_FALSE(conf.enable_ipv6);
  EXPECT_EQ(conf.network, Prefix("10.244.0.0/16"));
  EXPECT_FALSE(conf.ipv6_network.has_value());
  EXPECT_EQ(conf.type, BackendType::kVxlan);
  EXPECT_EQ(conf.vni.value(), 4096u);
  EXPECT_EQ(conf.port, 4789);
  EXPECT_FALSE(conf.mtu.has_value());
  EXPECT_EQ(conf.name, "flannel.4096");
  EXPECT_THAT(conf.notes, IsEmpty());
}

TEST(NetConf, DefaultsAreReported) {
  const NetConf conf = Parsed(R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}})");
  EXPECT_EQ(conf.vni.value(), 4096u);
  EXPECT_EQ(conf.port, 4789);
  EXPECT_THAT(conf.notes, Contains(HasSubstr("Backend.VNI is absent: 4096 is used")));
  EXPECT_THAT(conf.notes, Contains(HasSubstr("Backend.Port is absent: 4789 is used")));
}

// The defaults of upstream v0.28.9 on Linux where the file has neither.
TEST(NetConf, LinuxHasDefaultsOfItsOwn) {
  const std::string_view bare = R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}})";
  const NetConf conf = Parsed(bare, kLinuxDefaults);
  EXPECT_EQ(conf.vni.value(), 1u);
  EXPECT_EQ(conf.port, 8472);
  EXPECT_EQ(conf.name, "flannel.1");
  EXPECT_THAT(conf.notes, Contains(HasSubstr("Backend.VNI is absent: 1 is used")));
  EXPECT_THAT(conf.notes, Contains(HasSubstr("Backend.Port is absent: 8472 is used")));

  const NetConf written = Parsed(kUsual, kLinuxDefaults);
  EXPECT_EQ(written.vni.value(), 4096u);
  EXPECT_EQ(written.port, 4789);
  EXPECT_THAT(written.notes, IsEmpty());

  EXPECT_EQ(
      Parsed(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Port":0}})", kLinuxDefaults)
          .port,
      8472);
}

TEST(NetConf, UnknownKeysAreNamed) {
  const NetConf conf = Parsed(
      R"({"Network":"10.244.0.0/16","Netwrok":1,"Backend":{"Type":"vxlan","VNI":4096,"Port":4789,"Prot":8472}})");
  EXPECT_THAT(conf.notes, ElementsAre(HasSubstr(R"("netwrok" is unknown and ignored)"),
                                      HasSubstr(R"("prot" is unknown and ignored)")));
  EXPECT_EQ(conf.port, 4789);
  EXPECT_THAT(
      Parsed(R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw","VNI":1}})").notes,
      ElementsAre(HasSubstr(R"("vni" is unknown and ignored: the keys here are Type, Name, DNS)")));
  EXPECT_THAT(Parsed(R"({"Network":"10.244.0.0/16","Backend":{"Type":"alloc","x":1}})").notes,
              ElementsAre(HasSubstr("the keys here are Type")));
  std::string many = R"({"Network":"10.244.0.0/16","Backend":{"Type":"alloc")";
  for (char key = 'a'; key <= 'z'; ++key) many += std::string(",\"") + key + "\":1";
  EXPECT_EQ(Parsed(many + "}}").notes.size(), 10u);
}

// A file of nonsense does not fill the log.
TEST(NetConf, OfManyUnknownKeysTenAreNamed) {
  std::string text = R"({"Network":"10.244.0.0/16","Backend":{"Type":"alloc"})";
  for (int i = 0; i < 100; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(Parsed(text + "}").notes.size(), 10u);
}

TEST(NetConf, EnableNFTablesIsKept) {
  EXPECT_FALSE(Parsed(kUsual).nftables);
  EXPECT_TRUE(Parsed(R"({"Network":"10.0.0.0/8","EnableNFTables":true,"Backend":{"Type":"alloc"}})")
                  .nftables);
}

// Row "net-conf with BOM, mixed-case keys, duplicate keys".
TEST(NetConf, BomMixedCaseAndDuplicateKeys) {
  const NetConf conf = Parsed(
      "\xef\xbb\xbf"
      R"({"Network":"10.0.0.0/8","network":"10.3.7.9/16","BACKEND":{"type":"VXLAN","vni":1,"VNI":7,"pOrT":8472}})");
  EXPECT_EQ(conf.network, Prefix("10.3.0.0/16"));
  EXPECT_EQ(conf.vni.value(), 7u);
  EXPECT_EQ(conf.port, 8472);
}

// Row "lower-case enableIPv6, ipv6Network fc00::/48, IPv4 off".
TEST(NetConf, Ipv6Only) {
  const NetConf conf = Parsed(
      R"({"enableIPv4":false,"enableIPv6":true,"ipv6Network":"fc00::/48","Backend":{"Type":"vxlan"}})");
  EXPECT_FALSE(conf.enabled(IpFamily::kV4));
  EXPECT_TRUE(conf.enabled(IpFamily::kV6));
  EXPECT_EQ(conf.network_of(IpFamily::kV6), Prefix("fc00::/48"));
  EXPECT_FALSE(conf.network.has_value());
}

TEST(NetConf, DualStack) {
  const NetConf conf = Parsed(
      R"({"EnableIPv6":true,"Network":"10.244.0.0/16","IPv6Network":"fd00:10:244::7/56","Backend":{"Type":"vxlan"}})");
  EXPECT_EQ(conf.network, Prefix("10.244.0.0/16"));
  EXPECT_EQ(conf.ipv6_network, Prefix("fd00:10:244::/56"));
}

// Row "explicit SubnetMin/Max/Len": accepted, without use under Kubernetes.
TEST(NetConf, SubnetRangesAreCheckedReportedAndIgnored) {
  const NetConf conf = Parsed(
      R"({"Network":"10.3.0.0/16","SubnetMin":"10.3.5.0","SubnetMax":"10.3.8.0","SubnetLen":28,
      "IPv6SubnetMin":"fc00::1","IPv6SubnetMax":"fc00::2","IPv6SubnetLen":124,"Backend":{"Type":"alloc"}})");
  EXPECT_EQ(conf.notes.size(), 6u);
  EXPECT_THAT(conf.notes, Contains("SubnetLen is ignored: subnets come from the Nodes' podCIDRs"));
}

TEST(NetConf, BackendMembers) {
  const NetConf conf = Parsed(
      R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","Name":"vxlan0",
      "VNI":16777215,"Port":1,"MTU":9000,"Learning":true,"GBP":false,"DirectRouting":false,"MacPrefix":"0E-2A"}})");
  EXPECT_EQ(conf.name, "vxlan0");
  EXPECT_EQ(conf.vni.value(), Vni::kMax);
  EXPECT_EQ(conf.port, 1);
  EXPECT_EQ(conf.mtu, OuterMtu::From(9000));
  EXPECT_THAT(conf.notes, Contains(HasSubstr("MacPrefix is ignored")));
  EXPECT_THAT(conf.notes, Contains(HasSubstr("more than 16 bits")));
  EXPECT_THAT(conf.notes, Each(Not(HasSubstr("is unknown"))));
}

TEST(NetConf, MtuZeroIsNotSet) {
  EXPECT_FALSE(
      Parsed(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","MTU":0}})").mtu.has_value());
}

TEST(NetConf, Alloc) {
  const NetConf conf = Parsed(R"({"Network":"10.244.0.0/16","Backend":{"Type":"alloc"}})");
  EXPECT_EQ(conf.type, BackendType::kAlloc);
  EXPECT_EQ(Name(conf.type), "alloc");
  EXPECT_THAT(conf.notes, IsEmpty());
}

TEST(NetConf, HostGwReadsWhatItsHnsNetworkNeeds) {
  const NetConf bare = Parsed(R"({"Network":"10.244.0.0/16","Backend":{"Type":"Host-GW"}})");
  EXPECT_EQ(bare.type, BackendType::kHostGw);
  EXPECT_EQ(Name(bare.type), "host-gw");
  EXPECT_EQ(bare.name, "cbr0");
  EXPECT_THAT(bare.notes, IsEmpty());
  // Upstream's decoder of these two alone minds their case.
  const NetConf full = Parsed(
      R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw","name":"l2","DNSServerList":"10.96.0.10"}})");
  EXPECT_EQ(full.name, "l2");
  EXPECT_EQ(full.dns_servers, "10.96.0.10");
  EXPECT_THAT(full.notes, IsEmpty());
}

TEST(NetConf, DirectRouting) {
  EXPECT_TRUE(Parsed(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","DirectRouting":true}})")
                  .direct_routing);
  EXPECT_FALSE(Parsed(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan"}})").direct_routing);
}

struct ErrorRow {
  const char* text;
  const char* error;  // part of it, after "net-conf net-conf.json: "
};

const ErrorRow kErrorRows[] = {
    {"", "it is empty; correct the file"},
    {"{", "line 1, column 2: not JSON"},
    {R"({"Network":"10.0.0.0/8",})", "not JSON"},
    {R"({"Network":"10.0.0.0/8"} x)", "not JSON"},
    {"[]", "it is an array, not an object"},
    {R"({})", "Network: the key is missing; add"},
    {R"({"Network":null})", "Network: the key is missing; add"},
    {R"({"Network":""})", "Network: \"\" is not an IPv4 address block"},
    {R"({"Network":"10.0.0.0"})", "Network: \"10.0.0.0\" is not an IPv4 address block"},
    {R"({"Network":"fd00::/56"})", "Network: \"fd00::/56\" is not an IPv4 address block"},
    {R"({"Network":7})", "Network: 7 is not a string"},
    {R"({"Network":"10.0.0.0/8","IPv6Network":"10.0.0.0/8"})",
     "IPv6Network: \"10.0.0.0/8\" is not an IPv6 address block"},
    {R"({"Network":"10.0.0.0/8","EnableIPv6":true})", "IPv6Network: the key is missing; add"},
    {R"({"EnableIPv4":false})", "EnableIPv4: false leaves no family"},
    {R"({"EnableIPv4":"true"})",
     "EnableIPv4: \"true\" is not true or false; write it without quotes"},
    {R"({"EnableNFTables":1})", "EnableNFTables: 1 is not true or false"},
    {R"({"Network":"10.0.0.0/8","SubnetLen":24.0})", "SubnetLen: 24.0 is not a whole number"},
    {R"({"Network":"10.0.0.0/8","SubnetLen":"24"})", "SubnetLen: \"24\" is not a whole number"},
    {R"({"Network":"10.0.0.0/8","SubnetLen":-1})", "SubnetLen: -1 is not a whole number"},
    {R"({"Network":"10.0.0.0/8","SubnetMin":"x"})", "SubnetMin: \"x\" is not an address"},
    {R"({"Network":"10.0.0.0/8"})",
     "Backend: the key is missing; add how peers are reached: \"Backend\": {\"Type\": \"vxlan\""},
    {R"({"Network":"10.0.0.0/8","Backend":null})", "Backend: the key is missing"},
    {R"({"Network":"10.0.0.0/8","Backend":"vxlan"})", "Backend: \"vxlan\" is not an object"},
    {R"({"Network":"10.0.0.0/8","Backend":{}})", "Backend.Type: \"\" is not a supported backend"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"udp"}})",
     "Backend.Type: \"udp\" is not a supported backend; use \"vxlan\""},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":7}})", "Backend.Type: 7 is not a string"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","VNI":16777216}})",
     "Backend.VNI: 16777216 is not a whole number from 0 to 16777215"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","VNI":"4096"}})",
     "Backend.VNI: \"4096\""},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Port":65536}})", "Backend.Port: 65536"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Port":0}})",
     "Backend.Port: 0 is no UDP port"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","MTU":100}})",
     "Backend.MTU: 100 leaves no room"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","MTU":65536}})", "Backend.MTU: 65536"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","GBP":true}})",
     "Backend.GBP: true is not supported"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","DirectRouting":"yes"}})",
     "Backend.DirectRouting: \"yes\" is not true or false"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"host-gw","Name":7}})",
     "Backend.Name: 7 is not a string"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"host-gw","DNSServerList":["10.96.0.10"]}})",
     "Backend.DNSServerList: an array is not a string"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Learning":"no"}})",
     "Backend.Learning: \"no\" is not true or false"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"a\u001b[2J"}})", R"("a\x1b[2J")"},
    {"null", "it is null, not an object"},
    {R"("10.244.0.0/16")", "it is \"10.244.0.0/16\", not an object; write {\"Network\": ..."},
    {"\xff\xfe{", "it is UTF-16, as PowerShell 5 writes with \">\": write UTF-8; correct the file"},
    {R"({"Network":{}})", "Network: an object is not a string; write it in quotes"},
    {R"({"EnableIPv4":false,"EnableIPv6":true,"Network":"10.0.0.0/8"})",
     "add the cluster's pod network, for example \"IPv6Network\": \"fd00:10:244::/56\", or "
     "\"EnableIPv6\": false"},
    {R"({"Network":"10.0.0.0/8","EnableIPv6":null,"IPv6Network":[]})",
     "IPv6Network: an array is not a string"},
    {R"({"Network":"10.0.0.0/8","SubnetMin":["10.0.1.0"]})", "SubnetMin: an array is not a string"},
    {R"({"Network":"10.0.0.0/8","SubnetMax":"fd00::1"})",
     "SubnetMax: \"fd00::1\" is not an address; leave the key out: it is not used"},
    {R"({"Network":"10.0.0.0/8","IPv6SubnetMin":"10.0.0.1"})",
     "IPv6SubnetMin: \"10.0.0.1\" is not an address"},
    {R"({"Network":"10.0.0.0/8","IPv6SubnetLen":4294967296})",
     "IPv6SubnetLen: 4294967296 is not a whole number from 0 to 4294967295"},
    {R"({"Network":"10.0.0.0/8","Backend":["vxlan"]})", "Backend: an array is not an object"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","VNI":-1}})",
     "Backend.VNI: -1 is not a whole number from 0 to 16777215"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Name":{}}})",
     "Backend.Name: an object is not a string"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","MacPrefix":7}})",
     "Backend.MacPrefix: 7 is not a string"},
    {R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","GBP":1}})",
     "Backend.GBP: 1 is not true or false"},
};

TEST(NetConf, ErrorsNameFileKeyValueRuleAndFix) {
  for (const ErrorRow& row : kErrorRows) {
    const std::string error = Error(row.text);
    EXPECT_THAT(error, ::testing::StartsWith("net-conf net-conf.json: ")) << row.text;
    EXPECT_THAT(error, HasSubstr(row.error)) << row.text;
    EXPECT_THAT(error, HasSubstr("; ")) << row.text;
  }
}

TEST(NetConf, OfManyErrorsTheFirstIsReported) {
  EXPECT_THAT(Error(R"({"Network":7,"SubnetLen":-1,"Backend":{"Type":"udp"}})"),
              HasSubstr("Network: 7 is not a string"));
}

struct LimitRow {
  const char* backend;  // after "Type": "vxlan"
  bool fine;
};

TEST(NetConf, LimitsOfNumbers) {
  const LimitRow rows[] = {
      {R"("VNI":0)", true},    {R"("VNI":16777215)", true}, {R"("VNI":16777216)", false},
      {R"("Port":1)", true},   {R"("Port":65535)", true},   {R"("Port":65536)", false},
      {R"("MTU":137)", false},  // 68 bytes of pod packet and 70 of encapsulation over IPv6
      {R"("MTU":138)", true},  {R"("MTU":65535)", true},    {R"("MTU":65536)", false},
  };
  for (const LimitRow& row : rows) {
    const std::string text =
        std::string(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan",)") + row.backend + "}}";
    EXPECT_EQ(Error(text) == "OK", row.fine) << text << ": " << Error(text);
  }
}

TEST(NetConf, AVniAbove16BitsIsAcceptedAndReported) {
  const auto notes = [](const char* vni) {
    return Parsed(
               std::string(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Port":1,"VNI":)") +
               vni + "}}")
        .notes;
  };
  EXPECT_THAT(notes("65535"), IsEmpty());
  EXPECT_THAT(notes("65536"), ElementsAre("Backend.VNI 65536 is more than 16 bits: upstream "
                                          "flannel on Windows skips such peers"));
}

// The default name of the device follows the VNI; upstream's Windows flannel names networks so.
TEST(NetConf, TheNameFollowsTheVniUnlessGiven) {
  EXPECT_EQ(Parsed(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","VNI":7}})").name,
            "flannel.7");
  EXPECT_EQ(Parsed(R"({"Network":"10.0.0.0/8","Backend":{"Type":"vxlan","Name":""}})").name,
            "flannel.4096");
}

TEST(NetConf, ANetworkOfAFamilyThatIsOffIsCheckedAndNotUsed) {
  const NetConf conf =
      Parsed(R"({"Network":"10.0.0.0/8","IPv6Network":"fd00::/48","Backend":{"Type":"vxlan"}})");
  EXPECT_FALSE(conf.ipv6_network.has_value());
  EXPECT_EQ(conf.network_of(IpFamily::kV4), Prefix("10.0.0.0/8"));
}

TEST(NetConf, IPv6IsLeftOutOnlyNextToIPv4) {
  const char* const v6_alone = R"({"EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00::/48",)"
                               R"("Backend":{"Type":"alloc"}})";
  for (const char* const text : {kUsual, v6_alone}) {
    NetConf conf = Parsed(text);
    LeaveOutIPv6(conf);
    EXPECT_FALSE(conf.ipv6_left_out) << text;
    EXPECT_EQ(conf.enable_ipv6, text == v6_alone);
  }
}

TEST(NetConf, LoadNamesThePath) {
  const auto missing = LoadNetConf("/no/such/net-conf.json", kHnsDefaults);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("net-conf /no/such/net-conf.json: cannot be opened; check the path"));
}

// As it is mounted where the ConfigMap lacks the key. Windows opens no folder at all.
TEST(NetConf, LoadOfAFolderIsAnError) {
  const auto conf = LoadNetConf(std::filesystem::temp_directory_path().string(), kHnsDefaults);
  EXPECT_THAT(std::string(conf.status().message()),
              ::testing::AnyOf(HasSubstr("cannot be read"), HasSubstr("cannot be opened")));
}

TEST(NetConf, LoadReadsTheFile) {
  const auto path = std::filesystem::temp_directory_path() / "weft-net-conf-test.json";
  std::ofstream(path) << kUsual;
  const auto conf = LoadNetConf(path.string(), kHnsDefaults);
  ASSERT_TRUE(conf.ok()) << conf.status();
  EXPECT_EQ(conf->network, Prefix("10.244.0.0/16"));
  std::filesystem::remove(path);
}

TEST(NetConf, LoadTakesOneMebibyteAndNoMore) {
  const auto path = std::filesystem::temp_directory_path() / "weft-net-conf-limit-test.json";
  const std::size_t most = std::size_t{1} << 20;
  for (const std::size_t size : {most, most + 1}) {
    std::ofstream(path, std::ios::binary)
        << kUsual << std::string(size - std::string_view(kUsual).size(), ' ');
    const auto conf = LoadNetConf(path.string(), kHnsDefaults);
    EXPECT_EQ(conf.ok(), size == most) << conf.status();
    if (conf.ok()) continue;
    EXPECT_THAT(std::string(conf.status().message()),
                ::testing::AllOf(HasSubstr(path.string()), HasSubstr("larger than 1 MiB"),
                                 HasSubstr("is it the right file?")));
  }
  std::filesystem::remove(path);
}

TEST(CheckInsideNetwork, NamesTheConflictingValuesAndTheirSources) {
  EXPECT_EQ(CheckInsideNetwork(Prefix("10.9.1.0/24"), Prefix("10.244.0.0/16")).message(),
            "podCIDR 10.9.1.0/24 lies outside Network 10.244.0.0/16 of net-conf: make net-conf "
            "agree with kube-controller-manager's --cluster-cidr");
  EXPECT_THAT(std::string(CheckInsideNetwork(Prefix("fd09::/64"), Prefix("fd00::/48")).message()),
              HasSubstr("podCIDR fd09::/64 lies outside IPv6Network fd00::/48 of net-conf"));
}

TEST(CheckInsideNetwork, UpstreamsRows) {
  const struct {
    const char* network;
    const char* pod_cidr;
    bool inside;
  } rows[] = {
      {"10.244.0.0/16", "10.244.0.0/16", true},
      {"10.244.0.0/16", "10.244.0.0/24", true},
      {"10.244.0.0/16", "10.244.255.0/24", true},
      {"10.244.0.0/16", "10.244.0.0/15", false},
      {"10.244.0.0/16", "192.168.0.0/24", false},
      {"2001:db8:1234::/48", "2001:db8:1234::/48", true},
      {"2001:db8:1234::/48", "2001:db8:1234::/64", true},
      {"2001:db8:1234::/48", "2001:db8:1234:ffff::/64", true},
      {"2001:db8:1234::/48", "2001:db8:1234::/47", false},
      {"2001:db8:1234::/48", "fe02::/32", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(CheckInsideNetwork(Prefix(row.pod_cidr), Prefix(row.network)).ok(), row.inside)
        << row.pod_cidr << " in " << row.network;
  }
}

// Row "VNI 70000: rejected".
TEST(CheckForHns, Takes4096To65535) {
  NetConf conf = Parsed(kUsual);
  for (const auto& [vni, fine] :
       {std::pair(1u, false), {4095u, false}, {4096u, true}, {65535u, true}, {70000u, false}}) {
    conf.vni = *Vni::From(vni);
    EXPECT_EQ(CheckForHns(conf).ok(), fine) << vni;
    if (fine) continue;
    EXPECT_THAT(
        std::string(CheckForHns(conf).message()),
        ::testing::AllOf(HasSubstr("Backend.VNI: " + std::to_string(vni)),
                         HasSubstr("from 4096 to 65535"), HasSubstr("write 4096 for all nodes")));
  }
}

}  // namespace
}  // namespace weft::control
