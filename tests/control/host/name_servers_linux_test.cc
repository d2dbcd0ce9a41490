// SPDX-License-Identifier: Apache-2.0
#include "control/host/name_servers_linux.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::host {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ResolvConf, NamesItsServers) {
  EXPECT_THAT(ParseResolvConf("# nameserver 10.0.0.1\n"
                              "search example.com\n"
                              "nameserver 192.0.2.53\n"
                              "nameserver\t2001:db8::53  \r\n"
                              "nameserver fe80::1%eth0\n"
                              "nameserver\n"
                              "nameserver name.example.com\n"
                              "options ndots:5\n"
                              "nameserver 192.0.2.54"),
              ElementsAre(Address("192.0.2.53"), Address("2001:db8::53"), Address("fe80::1"),
                          Address("192.0.2.54")));
  EXPECT_THAT(ParseResolvConf(""), IsEmpty());
  EXPECT_THAT(ParseResolvConf(std::string(1000, '\0')), IsEmpty());
}

TEST(ResolvConf, TheFileOfThisMachineIsReadOrMissing) { EXPECT_TRUE(ReadNameServers().ok()); }

}  // namespace
}  // namespace weft::host
