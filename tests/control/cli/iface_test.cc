// SPDX-License-Identifier: Apache-2.0
// flannelctl iface explain, on this host, of which only the loopback interface is known. The choice
// itself: tests/control/underlay.
#include "gmock/gmock.h"
#include "tests/control/cli/call.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(IfaceTest, ShowsWhatIsTakenAndByWhichFlag) {
  const Outcome outcome = Call(
      {"iface", "explain", "--iface=192.0.2.77", "--iface=127.0.0.1", "--public-ip=192.0.2.78"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(ContainsRegex("INTERFACE +STATE +MTU +DEFAULT-ROUTE +ADDRESSES +NOTE\n"),
                    ContainsRegex("127\\.0\\.0\\.1/8.* taken\n"),
                    HasSubstr("\nby these flags alone; not read: the Node, "),
                    HasSubstr("\nrejected: --iface=192.0.2.77: no adapter has that address\n"),
                    HasSubstr(", by --iface=127.0.0.1; packets to peers come from 127.0.0.1, "
                              "published as 192.0.2.78\n")));
}

TEST(IfaceTest, APublicIpv6RequiresIpv6) {
  const Outcome outcome =
      Call({"iface", "explain", "--iface=192.0.2.77", "--public-ipv6=2001:db8::77"});
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  const Outcome wrong = Call({"iface", "explain", "--public-ipv6=192.0.2.77"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("\"192.0.2.77\" is not an IPv6 address"));
}

TEST(IfaceTest, NothingThatFitsIsAFinding) {
  const Outcome outcome = Call({"iface", "explain", "--iface=not here"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("\nrejected: --iface=not here: no adapter has that name\n"),
            HasSubstr("\nno interface is taken; flanneld would wait. Name one with --iface")));
}

TEST(IfaceTest, WrongFlags) {
  for (const std::string flag : {"--node-ip=x", "--iface-regex=(", "--iface-can-reach=x"}) {
    const Outcome outcome = Call({"iface", "explain", flag});
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("flannelctl iface explain: " + flag));
  }
}

}  // namespace
}  // namespace weft::cli
