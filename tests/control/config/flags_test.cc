// SPDX-License-Identifier: Apache-2.0
#include "control/config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "control/admin/endpoint.h"
#include "control/config/flag_table.h"
#include "control/config/options.h"
#include "control/own_files.h"
#include "tests/control/admin/golden.h"

namespace weft::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
    EXPECT_EQ(line->values.public_ip, "10.0.0.1") << words;
    EXPECT_THAT(line->warnings, IsEmpty());
  }
}

TEST(FlagGrammar, ABooleanAloneIsTrue) {
  EXPECT_TRUE(Parse("--ip-masq")->values.ip_masq);
  EXPECT_TRUE(Parse("--ip-masq=1")->values.ip_masq);
  EXPECT_FALSE(Parse("--ip-masq --ip-masq=F")->values.ip_masq);
  EXPECT_FALSE(Parse("--udp-checksum=false")->values.udp_checksum);
}

// Upstream ignores --kube-subnet-mgr here silently.
TEST(FlagGrammar, ABooleanTakesNoWordSoParsingStopsThereAndReportsIt) {
  const auto line = Parse("--ip-masq true --kube-subnet-mgr");
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->values.ip_masq);
  EXPECT_FALSE(line->values.kube_subnet_mgr);
  EXPECT_THAT(line->warnings,
              ElementsAre(AllOf(HasSubstr("IGNORED"), HasSubstr("\"true\" \"--kube-subnet-mgr\""),
                                HasSubstr("--ip-masq=true"))));
}

TEST(FlagGrammar, ALoneDashStopsParsing) {
  const auto line = Parse("- --ip-masq");
  ASSERT_TRUE(line.ok());
  EXPECT_FALSE(line->values.ip_masq);
  EXPECT_THAT(line->warnings, ElementsAre(HasSubstr("\"-\" \"--ip-masq\"")));
}

TEST(FlagGrammar, TwoDashesStopParsingAndTheRestIsNamed) {
  const auto line = Parse("--ip-masq -- --kube-subnet-mgr");
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->values.ip_masq);
  EXPECT_FALSE(line->values.kube_subnet_mgr);
  EXPECT_THAT(line->warnings, ElementsAre(HasSubstr("\"--kube-subnet-mgr\"")));
  EXPECT_THAT(Parse("--ip-masq --")->warnings, IsEmpty());
}

TEST(FlagGrammar, APasswordAmongIgnoredWordsIsNotShown) {
  const auto line = Parse("stray --etcd-password=hunter2 --etcd-password hunter3");
  ASSERT_TRUE(line.ok());
  EXPECT_THAT(line->warnings, ElementsAre(::testing::Not(HasSubstr("hunter"))));
  // The word after "--flag=value" is no password.
  EXPECT_THAT(Parse("stray --etcd-password=hunter2 next")->warnings,
              ElementsAre(HasSubstr("\"--etcd-password\" \"next\"")));
}

TEST(FlagGrammar, TheNextWordIsTheValueInAnyForm) {
  EXPECT_EQ(Parse("--public-ip --ip-masq")->values.public_ip, "--ip-masq");
  EXPECT_EQ(Parse("--subnet-file=")->values.subnet_file, "");
  EXPECT_EQ(Parse("--iface=a=b")->values.iface, std::vector<std::string>{"a=b"});
}

TEST(FlagGrammar, TheLastOfTwoWinsButListsGrow) {
  const auto line = Parse(
      "--public-ip=1.1.1.1 --public-ip=2.2.2.2 --iface=eth0 --iface=eth1 --iface-regex=a "
      "--iface-regex=b");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->values.public_ip, "2.2.2.2");
  EXPECT_THAT(line->values.iface, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(line->values.iface_regex, ElementsAre("a", "b"));
}

TEST(FlagGrammar, IntegersTakeGosBases) {
  EXPECT_EQ(Parse("--healthz-port=0x1F91")->values.healthz_port, 8081);
  EXPECT_EQ(Parse("--healthz-port 8_081")->values.healthz_port, 8081);
  EXPECT_EQ(Parse("-v 4")->values.verbosity, 4);
  EXPECT_EQ(Parse("--healthz-port=-1")->values.healthz_port, -1);
  EXPECT_EQ(Parse("--iptables-resync=65536")->values.iptables_resync, 65536);
}

struct ErrorRow {
  const char* words;
  const char* message;
};

TEST(FlagErrors, MatchTheMessagesOfGo) {
  const ErrorRow rows[] = {
      {"--healthz-port=http", "invalid value \"http\" for flag -healthz-port: parse error"},
      {"--healthz-port=", "invalid value \"\" for flag -healthz-port: parse error"},
      {"--healthz-port=65536",
       "invalid value \"65536\" for flag -healthz-port: value out of range"},
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
    EXPECT_THAT(std::string(line.status().message()), ::testing::StartsWith(row.message))
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
    EXPECT_THAT(std::string(line.status().message()), ::testing::EndsWith(row.message));
  }
  EXPECT_THAT(std::string(Parse("--use-multi-cluster-cidr").status().message()),
              ::testing::Not(HasSubstr("mean")));
}

TEST(FlagErrors, HelpEndsParsingBeforeLaterErrors) {
  for (const char* words : {"-h", "--h", "-help", "--help", "--ip-masq --help --nonsense"}) {
    const auto line = Parse(words);
    ASSERT_TRUE(line.ok()) << words;
    EXPECT_TRUE(line->help) << words;
  }
}

// ---- the table (1.2)

// The type as upstream's usage would call it.
std::string KindOf(const FlagRow& row) {
  if (std::holds_alternative<bool FlagValues::*>(row.place)) return "bool";
  if (std::holds_alternative<std::int64_t FlagValues::*>(row.place)) return "int";
  return std::holds_alternative<std::string FlagValues::*>(row.place) ? "string" : "list";
}

TEST(FlagTable, HasEveryUpstreamFlagWithItsTypeAndDefault) {
  const struct {
    const char *name, *kind, *value;
  } rows[] = {
      {"etcd-endpoints", "string", "http://127.0.0.1:4001,http://127.0.0.1:2379"},
      {"etcd-prefix", "string", "/coreos.com/network"},
      {"etcd-keyfile", "string", ""},
      {"etcd-certfile", "string", ""},
      {"etcd-cafile", "string", ""},
      {"etcd-username", "string", ""},
      {"etcd-password", "string", ""},
      {"kube-subnet-mgr", "bool", "false"},
      {"kubeconfig-file", "string", ""},
      {"kube-api-url", "list", ""},
      {"kube-annotation-prefix", "string", "flannel.alpha.coreos.com"},
      {"net-config-path", "string", "/etc/kube-flannel/net-conf.json"},
      {"set-node-network-unavailable", "bool", "true"},
      {"iface", "list", ""},
      {"iface-regex", "list", ""},
      {"iface-can-reach", "string", ""},
      {"public-ip", "string", ""},
      {"public-ipv6", "string", ""},
      {"subnet-file", "string", "/run/flannel/subnet.env"},
      {"subnet-lease-renew-margin", "int", "60"},
      {"ip-masq", "bool", "false"},
      {"ip-masq-fully-random-disable", "bool", "false"},
      {"iptables-resync", "int", "5"},
      {"iptables-forward-rules", "bool", "true"},
      {"ip-blackhole-route", "bool", "false"},
      {"healthz-ip", "string", "0.0.0.0"},
      {"healthz-port", "int", "0"},
      {"version", "bool", "false"},
      {"v", "int", "0"},
      {"vmodule", "string", ""},
      {"log_backtrace_at", "string", ""},
  };
  for (const auto& row : rows) {
    const FlagRow* flag = FindFlag(row.name);
    ASSERT_NE(flag, nullptr) << row.name;
    EXPECT_EQ(KindOf(*flag), row.kind) << row.name;
    EXPECT_EQ(DefaultOf(*flag), row.value) << row.name;
  }
}

TEST(FlagTable, NoOtherFlagOfKlogAndNoneOfOldVersions) {
  for (const char* name : {"logtostderr", "alsologtostderr", "log_dir", "stderrthreshold",
                           "use-multi-cluster-cidr", "Iface", "kube_subnet_mgr"}) {
    EXPECT_EQ(FindFlag(name), nullptr) << name;
  }
}

// The table's defaults for this system are the program's.
TEST(FlagTable, DefaultsOfTheSystemAreTheProgramsOwn) {
  const bool windows = DefaultDataPlane() == DataPlane::kHns;
  const auto stated = [&](std::string_view name) {
    const FlagRow& row = *FindFlag(name);
    EXPECT_EQ(DefaultOf(row), "");
    EXPECT_THAT(Usage(), HasSubstr(DefaultText(row).substr(0, 10)));
    return windows ? row.windows_default : row.linux_default;
  };
  EXPECT_EQ(stated("dataplane"), Name(DefaultDataPlane()));
  EXPECT_EQ(stated("admin"), admin::DefaultEndpoint());
  std::string state_dir(stated("state-dir"));
  state_dir = absl::StrReplaceAll(state_dir.substr(0, state_dir.find(' ')), {{"\\", "/"}});
  EXPECT_THAT(control::DefaultStateFolder(), ::testing::EndsWith(state_dir));
}

// Our defaults are upstream's behaviour where possible.
TEST(FlagTable, OurOwnDefaults) {
  const FlagValues options = Parse("")->values;
  EXPECT_TRUE(options.udp_checksum);
  EXPECT_EQ(options.peer_check, "lease");
  EXPECT_FALSE(options.replace_kernel_device);
  EXPECT_EQ(options.log_format, "klog");
}

TEST(FlagTable, FlagsWithoutEffectAreLoggedInOneLineWithoutValues) {
  const auto line = Parse("--etcd-password=hunter2 --etcd-prefix=/x --ip-blackhole-route");
  ASSERT_TRUE(line.ok());
  EXPECT_THAT(line->warnings,
              ElementsAre(AllOf(HasSubstr("--etcd-password, --etcd-prefix, --ip-blackhole-route"),
                                ::testing::Not(HasSubstr("hunter2")))));
}

TEST(FlagTable, FlagsWithEffectAreNotLogged) {
  EXPECT_THAT(
      Parse("--kube-subnet-mgr --kubeconfig-file=x --kube-api-url=https://x "
            "--kube-annotation-prefix=org.com --net-config-path=x --set-node-network-unavailable "
            "--iface=a --iface-regex=a --iface-can-reach=10.0.0.1 --public-ip=10.0.0.1 "
            "--public-ipv6=fd00::1 --subnet-file=x --ip-masq --healthz-ip=127.0.0.1 "
            "--healthz-port=1 --v=1 --ip-masq-fully-random-disable --iptables-resync=7 "
            "--iptables-forward-rules=false --replace-kernel-device")
          ->warnings,
      IsEmpty());
}

// ---- no secret is shown

TEST(Secrets, UserAndPasswordOfAUrlAreNotShown) {
  const std::pair<const char*, const char*> rows[] = {
      {"https://admin:hunter2@10.0.0.1:6443", "https://...@10.0.0.1:6443"},
      {"https://hunter2@h", "https://...@h"},
      {"admin:hunter2@h", "...@h"},
      {"--kube-api-url=admin:hunter2@h", "--kube-api-url=...@h"},
      {"https://a:hunter2@h,https://b:hunter2,@i", "https://...@i"},
      {"https://a:hun@ter2@h/p", "https://...@h/p"},
      {"https://10.0.0.1:6443", "https://10.0.0.1:6443"},
      {"file:/etc/nodes.json", "file:/etc/nodes.json"},
      {"me@h", "me@h"},
      {"", ""},
  };
  for (const auto& [word, shown] : rows) EXPECT_EQ(Shown(word), shown);
}

// Every way in which a word of the command line or a variable is logged.
TEST(Secrets, NoLogLineShowsOne) {
  const std::string url = "https://admin:hunter2@10.0.0.1";
  const auto clean = [](const std::string& text) {
    EXPECT_THAT(text, ::testing::Not(HasSubstr("hunter2")));
    return !text.empty();
  };
  for (const char* flag : {"--kube-api-url=", "--etcd-endpoints=", "--kubeconfig-file="})
    EXPECT_TRUE(clean(Describe(Parse(flag + url)->values)));
  EXPECT_TRUE(clean(Parse("word " + url)->warnings.at(0)));
  EXPECT_TRUE(clean(Parse("word --kube-api-url=" + url)->warnings.at(0)));
  EXPECT_TRUE(clean(std::string(Parse("--healthz-port=" + url).status().message())));
  EXPECT_TRUE(clean(std::string(Parse("--ip-masq=" + url).status().message())));
  EXPECT_TRUE(clean(std::string(Parse("---" + url).status().message())));
}

// ---- environment (1.3)

TEST(FlagEnvironment, EveryFlagButVersionIsReadFromItsVariable) {
  for (const FlagRow& row : FlagTable()) {
    if (row.name == "version") continue;
    const std::string kind = KindOf(row);
    // Closed lists have their last choice, everything else some text.
    const std::string value = kind == "bool" ? DefaultOf(row) == "true" ? "false" : "true"
                              : kind == "int"
                                  ? "61"
                                  : std::string(row.value.substr(row.value.rfind('|') + 1));
    const auto line = Parse("", {{VariableOf(row.name), value}});
    ASSERT_TRUE(line.ok()) << row.name;
    EXPECT_THAT(Describe(line->values), ::testing::StartsWith(absl::StrCat("--", row.name, "=")));
  }
}

TEST(FlagEnvironment, AutomaticSuperframesAreNoted) {
  EXPECT_THAT(Parse("--superframes=auto")->warnings,
              ElementsAre(HasSubstr("--superframes=auto means cut")));
  EXPECT_THAT(Parse("", {{"FLANNELD_SUPERFRAMES", "auto"}})->warnings, ::testing::SizeIs(1));
  EXPECT_THAT(Parse("--superframes=cut")->warnings, IsEmpty());
}

TEST(FlagEnvironment, OtherUpstreamVariablesWithoutEffectAreLoggedInTheSameLine) {
  EXPECT_THAT(
      Parse("", {{"EVENT_QUEUE_DEPTH", "10000"}, {"CONT_WHEN_CACHE_NOT_READY", "true"}})->warnings,
      ElementsAre("accepted from upstream, without effect: "
                  "CONT_WHEN_CACHE_NOT_READY, EVENT_QUEUE_DEPTH"));
  // Upstream ends with this one.
  EXPECT_THAT(Parse("--ip-blackhole-route", {{"EVENT_QUEUE_DEPTH", "many"}})->warnings,
              ElementsAre("accepted from upstream, without effect: "
                          "--ip-blackhole-route, EVENT_QUEUE_DEPTH"));
  EXPECT_THAT(Parse("", {{"EVENT_QUEUE_DEPTH", ""}})->warnings, IsEmpty());
}

TEST(FlagEnvironment, EveryFlagHasAVariable) {
  EXPECT_EQ(VariableOf("kube-subnet-mgr"), "FLANNELD_KUBE_SUBNET_MGR");
  EXPECT_EQ(VariableOf("v"), "FLANNELD_V");
  EXPECT_EQ(VariableOf("log_backtrace_at"), "FLANNELD_LOG_BACKTRACE_AT");
  EXPECT_EQ(VariableOf("a.b"), "FLANNELD_A_B");
}

TEST(FlagEnvironment, AVariableIsUsedWhereTheFlagIsNotGiven) {
  const auto line = Parse("--public-ip=1.1.1.1", {{"FLANNELD_PUBLIC_IP", "2.2.2.2"},
                                                  {"FLANNELD_IP_MASQ", "true"},
                                                  {"FLANNELD_NET_CONFIG_PATH", "/net.json"},
                                                  {"FLANNELD_LEASE_SOURCE", "file:/nodes.json"}});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->values.public_ip, "1.1.1.1");
  EXPECT_TRUE(line->values.ip_masq);
  EXPECT_EQ(line->values.net_config_path, "/net.json");
  EXPECT_EQ(line->values.lease_source, "file:/nodes.json");
}

TEST(FlagEnvironment, AnEmptyVariableIsIgnored) {
  EXPECT_EQ(Parse("", {{"FLANNELD_SUBNET_FILE", ""}})->values.subnet_file,
            "/run/flannel/subnet.env");
}

TEST(FlagEnvironment, ABadValueIsReportedAndTheDefaultStays) {
  const auto line = Parse("", {{"FLANNELD_HEALTHZ_PORT", "http"}, {"FLANNELD_IP_MASQ", "yes"}});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->values.healthz_port, 0);
  EXPECT_FALSE(line->values.ip_masq);
  EXPECT_THAT(line->warnings,
              ::testing::UnorderedElementsAre(HasSubstr("FLANNELD_HEALTHZ_PORT is ignored"),
                                              HasSubstr("FLANNELD_IP_MASQ is ignored")));
}

TEST(FlagEnvironment, AListIsOneElement) {
  EXPECT_THAT(Parse("", {{"FLANNELD_IFACE", "eth0,eth1"}})->values.iface, ElementsAre("eth0,eth1"));
  EXPECT_THAT(Parse("--iface=a --iface=b", {{"FLANNELD_IFACE", "c"}})->values.iface,
              ElementsAre("a", "b"));
}

TEST(FlagEnvironment, VersionIsAFlagOnly) {
  EXPECT_FALSE(Parse("", {{"FLANNELD_VERSION", "true"}})->values.version);
  EXPECT_TRUE(Parse("--version")->values.version);
  // It comes before the environment.
  for (const char* words : {"--version", "--help"}) {
    const auto line = Parse(words, {{"FLANNELD_IP_MASQ", "yes"}, {"FLANNELD_V", "2"}});
    ASSERT_TRUE(line.ok()) << words;
    EXPECT_THAT(line->warnings, IsEmpty()) << words;
    EXPECT_EQ(line->values.verbosity, 0) << words;
  }
}

// ---- the log's first line

TEST(DescribeOptions, ShowsWhatDiffersAndNoSecret) {
  EXPECT_EQ(Describe(FlagValues()), "");
  const auto line = Parse(
      "--iface=eth0 --iface=eth1 --ip-masq --v=2 --etcd-password=hunter2 --public-ip=1.1.1.1");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(
      Describe(line->values),
      "--iface=eth0 --iface=eth1 --public-ip=1.1.1.1 --ip-masq=true --v=2 --etcd-password=...");
}

// ---- --help

TEST(Usage, IsTheGolden) { EXPECT_TRUE(MatchesGolden(Usage(), "help/flanneld.txt")); }

TEST(Usage, NamesEveryFlagInAHundredColumns) {
  const std::string usage = Usage();
  for (const FlagRow& row : FlagTable())
    EXPECT_THAT(usage, HasSubstr(absl::StrCat("--", row.name)));
  for (std::string_view line : absl::StrSplit(usage, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace weft::config
