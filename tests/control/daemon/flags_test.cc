// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "control/daemon/flag_table.h"

namespace weft::daemon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

Environment EnvironmentOf(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

absl::StatusOr<CommandLine> Parse(std::string_view words, Variables variables = {}) {
  const std::vector<std::string> list = absl::StrSplit(words, ' ', absl::SkipEmpty());
  return ParseFlags(list, EnvironmentOf(std::move(variables)));
}

// ---- Go's grammar, package flag

TEST(FlagGrammar, OneDashAndTwoAreTheSame) {
  for (const char* words : {"-public-ip=10.0.0.1", "--public-ip=10.0.0.1", "-public-ip 10.0.0.1",
                            "--public-ip 10.0.0.1"}) {
    const auto line = Parse(words);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->options.public_ip, "10.0.0.1") << words;
    EXPECT_THAT(line->warnings, IsEmpty());
  }
}

TEST(FlagGrammar, ABooleanAloneIsTrue) {
  EXPECT_TRUE(Parse("--ip-masq")->options.ip_masq);
  EXPECT_TRUE(Parse("--ip-masq=1")->options.ip_masq);
  EXPECT_FALSE(Parse("--ip-masq --ip-masq=F")->options.ip_masq);
  EXPECT_FALSE(Parse("--udp-checksum=false")->options.udp_checksum);
}

// Upstream loses --kube-subnet-mgr here without a word.
TEST(FlagGrammar, ABooleanTakesNoWordSoParsingStopsThereAndSaysSo) {
  const auto line = Parse("--ip-masq true --kube-subnet-mgr");
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->options.ip_masq);
  EXPECT_FALSE(line->options.kube_subnet_mgr);
  EXPECT_THAT(line->warnings,
              ElementsAre(AllOf(HasSubstr("IGNORED"), HasSubstr("\"true\" \"--kube-subnet-mgr\""),
                                HasSubstr("--ip-masq=true"))));
}

TEST(FlagGrammar, ALoneDashStopsParsing) {
  const auto line = Parse("- --ip-masq");
  ASSERT_TRUE(line.ok());
  EXPECT_FALSE(line->options.ip_masq);
  EXPECT_THAT(line->warnings, ElementsAre(HasSubstr("\"-\" \"--ip-masq\"")));
}

TEST(FlagGrammar, TwoDashesStopParsingAndTheRestIsNamed) {
  const auto line = Parse("--ip-masq -- --kube-subnet-mgr");
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->options.ip_masq);
  EXPECT_FALSE(line->options.kube_subnet_mgr);
  EXPECT_THAT(line->warnings, ElementsAre(HasSubstr("\"--kube-subnet-mgr\"")));
  EXPECT_THAT(Parse("--ip-masq --")->warnings, IsEmpty());
}

TEST(FlagGrammar, APasswordAmongIgnoredWordsIsNotShown) {
  const auto line = Parse("stray --etcd-password=hunter2 --etcd-password hunter3");
  ASSERT_TRUE(line.ok());
  EXPECT_THAT(line->warnings, ElementsAre(testing::Not(HasSubstr("hunter"))));
}

TEST(FlagGrammar, TheNextWordIsTheValueWhateverItLooksLike) {
  EXPECT_EQ(Parse("--public-ip --ip-masq")->options.public_ip, "--ip-masq");
  EXPECT_EQ(Parse("--subnet-file=")->options.subnet_file, "");
  EXPECT_EQ(Parse("--iface=a=b")->options.iface, std::vector<std::string>{"a=b"});
}

TEST(FlagGrammar, TheLastOfTwoCountsButListsGrow) {
  const auto line = Parse(
      "--public-ip=1.1.1.1 --public-ip=2.2.2.2 --iface=eth0 --iface=eth1 --iface-regex=a "
      "--iface-regex=b");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->options.public_ip, "2.2.2.2");
  EXPECT_THAT(line->options.iface, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(line->options.iface_regex, ElementsAre("a", "b"));
}

TEST(FlagGrammar, IntegersTakeGosBases) {
  EXPECT_EQ(Parse("--healthz-port=0x1F91")->options.healthz_port, 8081);
  EXPECT_EQ(Parse("--healthz-port 8_081")->options.healthz_port, 8081);
  EXPECT_EQ(Parse("-v 4")->options.verbosity, 4);
  EXPECT_EQ(Parse("--healthz-port=-1")->options.healthz_port, -1);
}

struct ErrorRow {
  const char* words;
  const char* message;
};

TEST(FlagErrors, SayWhatGoSays) {
  const ErrorRow rows[] = {
      {"--healthz-port=http", "invalid value \"http\" for flag -healthz-port: parse error"},
      {"--healthz-port=", "invalid value \"\" for flag -healthz-port: parse error"},
      {"--healthz-port=9223372036854775808",
       "invalid value \"9223372036854775808\" for flag -healthz-port: value out of range"},
      {"--ip-masq=yes", "invalid boolean value \"yes\" for -ip-masq: parse error"},
      {"--ip-masq=", "invalid boolean value \"\" for -ip-masq: parse error"},
      {"--public-ip", "flag needs an argument: -public-ip"},
      {"---ip-masq", "bad flag syntax: ---ip-masq"},
      {"--=x", "bad flag syntax: --=x"},
      {"-=x", "bad flag syntax: -=x"},
      {"--peer-check=maybe",
       "invalid value \"maybe\" for flag -peer-check: must be one of strict, lease, off"},
      {"--log-format=xml", "invalid value \"xml\" for flag -log-format: must be one of klog, json"},
      {"--logtostderr", "flag provided but not defined: -logtostderr"},
  };
  for (const ErrorRow& row : rows) {
    const auto line = Parse(row.words);
    ASSERT_FALSE(line.ok()) << row.words;
    EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(line.status().message()), testing::StartsWith(row.message))
        << row.words;
  }
}

TEST(FlagErrors, AnUnknownFlagSuggestsTheNearest) {
  const ErrorRow rows[] = {
      {"--ifce=eth0", "; did you mean --iface?"},
      {"--kube_subnet_mgr", "; did you mean --kube-subnet-mgr?"},
      {"--KubeSubnetMgr", "; did you mean --kube-subnet-mgr?"},
      {"--healthzport=1", "; did you mean --healthz-port?"},
      {"--IP-MASQ", "; did you mean --ip-masq?"},
  };
  for (const ErrorRow& row : rows) {
    const auto line = Parse(row.words);
    ASSERT_FALSE(line.ok()) << row.words;
    EXPECT_THAT(std::string(line.status().message()), testing::EndsWith(row.message));
  }
  EXPECT_THAT(std::string(Parse("--use-multi-cluster-cidr").status().message()),
              testing::Not(HasSubstr("mean")));
}

TEST(FlagErrors, HelpEndsParsingBeforeLaterErrors) {
  for (const char* words : {"-h", "--h", "-help", "--help", "--ip-masq --help --nonsense"}) {
    const auto line = Parse(words);
    ASSERT_TRUE(line.ok()) << words;
    EXPECT_TRUE(line->help) << words;
  }
}

// ---- the table (1.2)

TEST(FlagTable, HasEveryUpstreamFlagWithItsDefault) {
  for (const char* name : {"etcd-endpoints",
                           "etcd-prefix",
                           "etcd-keyfile",
                           "etcd-certfile",
                           "etcd-cafile",
                           "etcd-username",
                           "etcd-password",
                           "kube-subnet-mgr",
                           "kubeconfig-file",
                           "kube-api-url",
                           "kube-annotation-prefix",
                           "net-config-path",
                           "set-node-network-unavailable",
                           "iface",
                           "iface-regex",
                           "iface-can-reach",
                           "public-ip",
                           "public-ipv6",
                           "subnet-file",
                           "subnet-lease-renew-margin",
                           "ip-masq",
                           "ip-masq-fully-random-disable",
                           "iptables-resync",
                           "iptables-forward-rules",
                           "ip-blackhole-route",
                           "healthz-ip",
                           "healthz-port",
                           "version",
                           "v",
                           "vmodule",
                           "log_backtrace_at"}) {
    EXPECT_NE(FindFlag(name), nullptr) << name;
  }
  const Options options = Parse("")->options;
  EXPECT_EQ(options.net_config_path, "/etc/kube-flannel/net-conf.json");
  EXPECT_EQ(options.subnet_file, "/run/flannel/subnet.env");
  EXPECT_EQ(options.kube_annotation_prefix, "flannel.alpha.coreos.com");
  EXPECT_EQ(options.healthz_ip, "0.0.0.0");
  EXPECT_EQ(options.healthz_port, 0);
  EXPECT_EQ(options.subnet_lease_renew_margin, 60);
  EXPECT_EQ(options.iptables_resync, 5);
  EXPECT_TRUE(options.set_node_network_unavailable);
  EXPECT_TRUE(options.iptables_forward_rules);
  EXPECT_TRUE(options.udp_checksum);
  EXPECT_EQ(options.peer_check, "lease");
}

// Invocations of the field (1.5).
TEST(FlagTable, TakesRke2sCommandLine) {
  const auto line = Parse(
      "--kubeconfig-file=/var/lib/rancher/flannel.kubeconfig --ip-masq --kube-subnet-mgr "
      "--iptables-forward-rules=false "
      "--iface=10.0.0.4 --net-config-path=/var/lib/rancher/flanneld-net-conf.json");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_TRUE(line->options.kube_subnet_mgr);
  EXPECT_TRUE(line->options.ip_masq);
  EXPECT_THAT(line->options.iface, ElementsAre("10.0.0.4"));
  EXPECT_THAT(
      line->warnings,
      ElementsAre("accepted for upstream's sake, without meaning here: --iptables-forward-rules"));
}

TEST(FlagTable, TakesThePrepareNodeScriptsCommandLine) {
  const auto line =
      Parse("--kubeconfig-file=C:\\k\\config --iface=10.0.0.4 --ip-masq=1 --kube-subnet-mgr=1");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_TRUE(line->options.kube_subnet_mgr);
  EXPECT_THAT(line->warnings, IsEmpty());
}

TEST(FlagTable, FlagsWithoutMeaningAreToldInOneLineWithoutValues) {
  const auto line = Parse("--etcd-password=hunter2 --etcd-prefix=/x --iptables-resync=7");
  ASSERT_TRUE(line.ok());
  EXPECT_THAT(line->warnings,
              ElementsAre(AllOf(HasSubstr("--etcd-password, --etcd-prefix, --iptables-resync"),
                                testing::Not(HasSubstr("hunter2")))));
}

// ---- environment (1.3)

TEST(FlagEnvironment, EveryFlagHasAVariable) {
  EXPECT_EQ(VariableOf("kube-subnet-mgr"), "FLANNELD_KUBE_SUBNET_MGR");
  EXPECT_EQ(VariableOf("v"), "FLANNELD_V");
  EXPECT_EQ(VariableOf("log_backtrace_at"), "FLANNELD_LOG_BACKTRACE_AT");
  EXPECT_EQ(VariableOf("a.b"), "FLANNELD_A_B");
}

TEST(FlagEnvironment, AVariableCountsWhereTheFlagIsNotGiven) {
  const auto line = Parse("--public-ip=1.1.1.1", {{"FLANNELD_PUBLIC_IP", "2.2.2.2"},
                                                  {"FLANNELD_IP_MASQ", "true"},
                                                  {"FLANNELD_NET_CONFIG_PATH", "/net.json"},
                                                  {"FLANNELD_LEASE_SOURCE", "file:/nodes.json"}});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->options.public_ip, "1.1.1.1");
  EXPECT_TRUE(line->options.ip_masq);
  EXPECT_EQ(line->options.net_config_path, "/net.json");
  EXPECT_EQ(line->options.lease_source, "file:/nodes.json");
}

TEST(FlagEnvironment, AnEmptyVariableIsNone) {
  EXPECT_EQ(Parse("", {{"FLANNELD_SUBNET_FILE", ""}})->options.subnet_file,
            "/run/flannel/subnet.env");
}

TEST(FlagEnvironment, ABadValueIsToldAndTheDefaultStays) {
  const auto line = Parse("", {{"FLANNELD_HEALTHZ_PORT", "http"}, {"FLANNELD_IP_MASQ", "yes"}});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->options.healthz_port, 0);
  EXPECT_FALSE(line->options.ip_masq);
  EXPECT_THAT(line->warnings,
              testing::UnorderedElementsAre(HasSubstr("FLANNELD_HEALTHZ_PORT is ignored"),
                                            HasSubstr("FLANNELD_IP_MASQ is ignored")));
}

TEST(FlagEnvironment, AListIsOneElement) {
  EXPECT_THAT(Parse("", {{"FLANNELD_IFACE", "eth0,eth1"}})->options.iface,
              ElementsAre("eth0,eth1"));
  EXPECT_THAT(Parse("--iface=a --iface=b", {{"FLANNELD_IFACE", "c"}})->options.iface,
              ElementsAre("a", "b"));
}

TEST(FlagEnvironment, VersionIsAFlagOnly) {
  EXPECT_FALSE(Parse("", {{"FLANNELD_VERSION", "true"}})->options.version);
  EXPECT_TRUE(Parse("--version")->options.version);
}

// ---- the log's first line

TEST(DescribeOptions, ShowsWhatDiffersAndNoSecret) {
  EXPECT_EQ(Describe(Options()), "");
  const auto line = Parse(
      "--iface=eth0 --iface=eth1 --ip-masq --v=2 --etcd-password=hunter2 --public-ip=1.1.1.1");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(
      Describe(line->options),
      "--iface=eth0 --iface=eth1 --public-ip=1.1.1.1 --ip-masq=true --v=2 --etcd-password=...");
}

// ---- --help

TEST(Usage, IsTheGolden) {
  std::ifstream in(WEFT_SOURCE_DIR "/tests/control/daemon/golden/help.txt", std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(Usage(), golden)
      << "if the new text is right: flanneld --help > tests/control/daemon/golden/help.txt";
}

TEST(Usage, NamesEveryFlagInAHundredColumns) {
  const std::string usage = Usage();
  for (const FlagRow& row : FlagTable())
    EXPECT_THAT(usage, HasSubstr(absl::StrCat("--", row.name)));
  for (std::string_view line : absl::StrSplit(usage, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace weft::daemon
