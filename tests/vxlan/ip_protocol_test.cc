// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_protocol.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace weft {
namespace {

// Keywords of IANA's registry of protocol numbers, as far as `flannelctl explain` names them.
TEST(IpProtocol, Names) {
  const std::map<unsigned, std::string> names = {
      {0, "HOPOPT"},     {1, "ICMP"},   {6, "TCP"},        {17, "UDP"},    {43, "IPv6-Route"},
      {44, "IPv6-Frag"}, {50, "ESP"},   {51, "AH"},        {58, "ICMPv6"}, {59, "IPv6-NoNxt"},
      {60, "IPv6-Opts"}, {132, "SCTP"}, {135, "Mobility"}, {139, "HIP"},   {140, "Shim6"},
  };
  for (unsigned number = 0; number < 256; ++number) {
    const auto named = names.find(number);
    EXPECT_EQ(Name(static_cast<IpProtocol>(number)), named == names.end() ? "" : named->second)
        << number;
  }
}

}  // namespace
}  // namespace weft
