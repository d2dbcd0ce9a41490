// SPDX-License-Identifier: Apache-2.0
// The program as a whole: help texts, usage errors, the manual page.
#include "control/cli/flannelctl.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <streambuf>

#include "control/cli/verbs.h"
#include "control/config/flags.h"
#include "control/lease/peer_state.h"
#include "dataplane/verdict.h"
#include "gmock/gmock.h"
#include "tests/control/admin/golden.h"
#include "tests/control/cli/call.h"
#include "tests/support/source_dir.h"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::size_t LongestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(HelpTest, OfTheProgram) {
  const Outcome help = Call({"help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.err, IsEmpty());
  EXPECT_TRUE(MatchesGolden(help.out, "help/flannelctl.txt"));
  EXPECT_EQ(Call({"--help"}).out, help.out);
  EXPECT_EQ(Call({"-h"}).out, help.out);
}

TEST(HelpTest, OfEachVerb) {
  for (const Verb& verb : kVerbs) {
    const std::string name(verb.name);
    SCOPED_TRACE(name);
    const Outcome help = Call({"help", name});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.err, IsEmpty());
    EXPECT_TRUE(MatchesGolden(help.out, "help/" + name + ".txt"));
    EXPECT_THAT(help.out, HasSubstr("\nExamples:\n  "));
    EXPECT_LE(LongestLine(help.out), 80u);
    EXPECT_EQ(Call({name, "--help"}).out, help.out);
    EXPECT_EQ(Call({name, "-h"}).out, help.out);
  }
}

TEST(HelpTest, NamesEveryVerbOnce) {
  std::set<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    EXPECT_THAT(Call({"help"}).out, HasSubstr("\n  " + std::string(verb.name) + " "));
  }
  EXPECT_FALSE(names.contains("help"));
}

TEST(UsageTest, WithoutArgumentsTheHelpGoesToStderr) {
  const Outcome outcome = Call({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, Call({"help"}).out);
}

struct UsageError {
  std::vector<std::string> arguments;
  const char* message;
};

TEST(UsageTest, ErrorsNameTheObjectAndTheNextStep) {
  const UsageError rows[] = {
      {{"stauts"}, "no verb \"stauts\"; did you mean \"status\"?"},
      {{"lease"}, "did you mean \"leases\"?"},
      {{"frobnicate"}, "no verb \"frobnicate\"; \"flannelctl help\" lists them"},
      {{"help", "stauts"}, "did you mean \"status\"?"},
      {{"status", "--nothing"}, "--nothing; see \"flannelctl help status\""},
      {{"status", "-o", "xml"}, "xml is not one of text, json, yaml"},
      {{"leases", "worker-2"}, "unexpected \"worker-2\": leases takes no node name"},
      {{"leases", "--frm", "x"}, "no option --frm, did you mean --from?; see"},
      {{"hns", "list", "-o", "json"}, "flannelctl hns list: there is no option -o; see"},
      {{"leases", "--vni", "1"}, "--vni requires --from"},
      {{"leases", "--from", "a", "--admin", "b"}, "excludes"},
      {{"leases", "--from", "x", "--vni", "many"}, "--vni many is not a number"},
      {{"leases", "--from", "x", "--vni", "16777216"}, "--vni 16777216 does not fit into 24 bits"},
      {{"leases", "--from", "x", "--kube-annotation-prefix", "!"}, "prefix"},
      {{"explain"}, "give one frame"},
      {{"explain", "45", "--capture", "x"}, "give one frame"},
      {{"explain", "45", "--mtu", "9"}, "--mtu 9 is not the MTU of a link"},
      {{"explain", "45", "--mtu", "65536"}, "--mtu 65536 is not the MTU of a link; try 1500"},
      {{"explain", "45", "--mtu", "137"}, "--mtu 137 is not the MTU of a link"},
      {{"explain", "45", "--frame", "-1"}, "--frame: -1 is less than zero; see"},
      {{"explain", "45", "--mtu", "-1"}, "--mtu: -1 is less than zero"},
      {{"explain", "45", "--frame", "first"}, "--frame"},
      {{"explain", "45", "--peer-check", "none"}, "none is not one of strict, lease, off"},
      {{"explain", "45", "--start", "middle"}, "middle is not one of guess"},
      {{"status", "extra"}, "unexpected \"extra\"; see \"flannelctl help status\""},
      {{"status", "-"}, "unexpected \"-\"; see"},
      {{"leases", "list", "more"}, "more"},
      {{"leases", "-o"}, "--output: a value is required"},
      {{"leases", "-o", "text"}, "text is not one of table, wide, json, yaml, name"},
      {{"leases", "--node-name", "a"}, "--node-name requires --from"},
      {{"reset", "--subnet-file", "a"}, "--subnet-file requires --all"},
      {{"reset", "--source-vip-store", "a"}, "--source-vip-store requires --all"},
      {{"reset", "--source-vip-file", "a"}, "--source-vip-file requires --all"},
      {{"reset", "--network", "a"}, "--network requires --all"},
      {{"leases", "--kube-annotation-prefix", "a.b"}, "--kube-annotation-prefix requires --from"},
      {{"leases", "--from", "x", "--vni", "-1"}, "--vni: -1 is less than zero"},
      {{"leases", "--from", "x", "--vni", "4294967296"}, "--vni"},
      {{"version", "-o", "table"}, "table is not one of text, json, yaml"},
      {{"completion", "bash", "zsh"}, "zsh"},
      {{"-x"}, "no verb \"-x\""},
      {{""}, "no verb \"\""},
      {{"completion"}, "required"},
      {{"hns", "--hn"}, "flannelctl hns: there is no option --hn; see"},
      {{"hns", "--admin=x", "drift"},
       "hns drift: write --admin after \"flannelctl hns drift\"; see"},
      {{"hns", "-o", "json", "drift"}, "hns drift: write -o after \"flannelctl hns drift\"; see"},
      {{"hns"}, "flannelctl hns: a verb is required: list, show, "},
      {{"hns", "imitate"}, "flannelctl hns: there is no verb \"imitate\"; \"flannelctl help hns\""},
      {{"hns", "lst"}, "flannelctl hns: there is no verb \"lst\"; did you mean \"list\"?"},
      {{"hns", "endpoint", "ad"}, "flannelctl hns endpoint: there is no verb \"ad\"; did you mean"},
      {{"hns", "endpoint"},
       "a verb is required: add, list, delete; see \"flannelctl help hns endpoint\""},
      {{"hns", "list", "-o"}, "flannelctl hns list: "},
      {{"hns", "list", "--json"}, "--json; see \"flannelctl help hns list\""},
      {{"help", "hns", "endpoint", "ad"}, "there is no verb \"ad\""},
      {{"hns", "control", "nowhere", "dump"}, "no HNS emulator answers at nowhere"},
      {{"hns", "control", "nowhere", "fault", "code"}, "\"code\" must be KEY=VALUE"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--adapter", "eth0=here"},
       "\"eth0=here\" is no adapter"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--adapter", "x"},
       "\"x\" is no adapter; write NAME=ADDRESS/LENGTH,..."},
      {{"hns", "emulate", "--listen", "no/such/folder", "--fault", "function=Foo"},
       "\"Foo\", which HNS does not have"},
      {{"hns", "control", "nowhere", "fault", "=7"}, "\"=7\" must be KEY=VALUE"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--adapter", "=10.0.0.1"},
       "\"=10.0.0.1\" is no adapter"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--adapter", "eth0=here", "--state",
        "/no/such/hns.json"},
       "\"eth0=here\" is no adapter"},
      {{"hns", "emulate", "--adapter", "LAN=10.0.0.1/8", "--listen", "/no/such/folder/s"},
       "/no/such/folder"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--gateway", "10.9.9.9"},
       "no --adapter is on its link"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--gateway", "here"},
       "--gateway here: not an IP address"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--set", "weather"},
       "\"weather\" must be KEY=VALUE"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--set", "weather=fine"}, "weather"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--fault", "code"},
       "\"code\" must be KEY=VALUE"},
      {{"hns", "list", "--hns=emulator:"}, "write emulator:PATH"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--version", "old"}, "version"},
      {{"hns", "emulate", "--listen", "no/such/folder", "--fault", "code=0x803B000D"},
       "\"function\" is missing"},
      {{"completion", "tcsh"}, "tcsh is not one of bash"},
  };
  for (const UsageError& row : rows) {
    SCOPED_TRACE(::testing::PrintToString(row.arguments));
    const Outcome outcome = Call(row.arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("flannelctl"));
    EXPECT_THAT(outcome.err, HasSubstr(row.message));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

// A pipe whose reader closed, or a full disk.
class ClosedOutput : public std::streambuf {
 protected:
  int_type overflow(int_type) override { return traits_type::eof(); }
};

TEST(UsageTest, OutputThatCannotBeWrittenIsAnError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"version"}, {"version", "-o", "json"}, {"completion", "bash"}}) {
    ClosedOutput closed;
    std::istringstream in;
    std::ostream out(&closed);
    std::ostringstream err;
    Io io{in, out, err};
    EXPECT_EQ(RunFlannelctl(arguments, io), ExitCode::kUnusable);
    EXPECT_EQ(err.str(), "flannelctl " + arguments[0] +
                             ": cannot write to standard output; is the disk full?\n");
  }
}

TEST(HelpTest, HelpTakesPrecedenceOverEveryVerb) {
  EXPECT_EQ(Call({"help", "help"}).out, Call({"help"}).out);
  const Outcome nested = Call({"help", "hns", "endpoint", "add"});
  EXPECT_THAT(nested.out, HasSubstr("Usage: flannelctl hns endpoint add [OPTION...]\n"));
  EXPECT_EQ(Call({"hns", "endpoint", "add", "--help"}).out, nested.out);
  EXPECT_EQ(Call({"help", "--help"}).out, Call({"help"}).out);
  const Outcome help = Call({"leases", "--from", "/no/such/file", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.out, Call({"help", "leases"}).out);
}

TEST(VersionTest, InEachForm) {
  EXPECT_TRUE(std::regex_match(Call({"version"}).out,
                               std::regex(R"(flannelctl \d+\.\d+\.\d+ \(weft/v2\)\n)")));
  EXPECT_EQ(Call({"--version"}).out, Call({"version"}).out);
  EXPECT_THAT(Call({"version", "-o", "json"}).out, HasSubstr("\"kind\": \"Version\""));
  EXPECT_THAT(Call({"version", "-o", "yaml"}).out, HasSubstr("kind: Version\n"));
}

// The manual, with its escapes of '-' undone.
std::string Manual() {
  std::ifstream file(std::string(weft::testing::kSourceDir) + "/control/cli/flannelctl.8",
                     std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return std::regex_replace(text, std::regex(R"(\\-)"), "-");
}

TEST(ManualTest, NamesEveryVerbAndFlagOfTheHelp) {
  const std::string manual = Manual();
  const std::regex flag(R"(--[a-z][a-z-]*)");
  for (const Verb& verb : kVerbs) {
    EXPECT_THAT(manual, HasSubstr("\n.SS " + std::string(verb.name) + "\n")) << verb.name;
    const std::string help = Call({"help", std::string(verb.name)}).out;
    for (std::sregex_iterator it(help.begin(), help.end(), flag); it != std::sregex_iterator();
         ++it) {
      EXPECT_THAT(manual, HasSubstr(it->str())) << verb.name;
    }
  }
}

TEST(ManualTest, NamesNoFlagThatDoesNotExist) {
  const std::string manual = Manual();
  std::string helps = config::Usage();  // a state or a drop may name a flag of flanneld
  for (const Verb& verb : kVerbs) helps += Call({"help", std::string(verb.name)}).out;
  for (const char* verb : {"list", "show", "drift", "repair", "emulate", "control"})
    helps += Call({"hns", verb, "--help"}).out;
  for (const char* verb : {"add", "list", "delete"})
    helps += Call({"hns", "endpoint", verb, "--help"}).out;
  for (const char* verb : {"render", "install", "validate", "explain"})
    helps += Call({"cni", verb, "--help"}).out;
  helps += Call({"iface", "explain", "--help"}).out;
  helps += Call({"node", "leave", "--help"}).out;
  const std::regex flag(R"(--[a-z][a-z-]*)");
  for (std::sregex_iterator it(manual.begin(), manual.end(), flag); it != std::sregex_iterator();
       ++it) {
    EXPECT_THAT(helps, HasSubstr(it->str()));
  }
}

TEST(ManualTest, NamesEveryStateAndEveryDrop) {
  const std::string manual = Manual();
  for (std::size_t i = 0; i < lease::kPeerStates; ++i) {
    EXPECT_THAT(manual, HasSubstr(std::string(Name(static_cast<lease::PeerState>(i)))));
  }
  for (std::size_t i = 1; i < dataplane::kVerdictCount; ++i) {
    EXPECT_THAT(manual, HasSubstr(std::string(Name(static_cast<dataplane::Verdict>(i)))));
  }
}

TEST(CompletionTest, InEachShell) {
  for (const char* shell : {"bash", "zsh", "fish", "powershell"}) {
    const Outcome outcome = Call({"completion", shell});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(MatchesGolden(outcome.out, std::string("completion/") + shell + ".txt"));
  }
}

}  // namespace
}  // namespace weft::cli
