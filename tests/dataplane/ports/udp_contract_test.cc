// SPDX-License-Identifier: Apache-2.0
// The contract, for UDP sockets that talk to themselves: it runs everywhere. Two sockets, and IPv6,
// are in kernel_contract_test.cc.
#include "tests/contract/packet_port_contract.h"
#include "tests/dataplane/ports/udp_harness.h"
#include "tests/support/packet_builder.h"

namespace weft::dataplane {
namespace {

std::unique_ptr<PortHarness> Open(bool checksum) {
  return UdpHarness::Make(Ip("127.0.0.1"), Ip("127.0.0.1"), checksum);
}

const PortCase kItself[] = {{"udp_v4", [] { return Open(true); }},
                            {"udp_v4_without_checksum", [] { return Open(false); }}};

INSTANTIATE_TEST_SUITE_P(Itself, PacketPortContract, ::testing::ValuesIn(kItself), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Itself, LivePortContract, ::testing::ValuesIn(kItself), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Itself, PollablePortContract, ::testing::ValuesIn(kItself), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Itself, BoundedPortContract, ::testing::ValuesIn(kItself), PortCaseName);

// The rest of it, in the words of Linux, is in udp_port_test.cc.
TEST(UdpPortOpen, RefusesWhatItCannotHave) {
  UdpOptions options{
      .family = IpFamily::kV4, .bind_address = Ip("127.0.0.1"), .port = 0, .sending_sockets = 1};
  const auto first = UdpPort::Open(options);
  ASSERT_TRUE(first.ok()) << first.status();
  UdpOptions taken = options;
  taken.port = (*first)->port();
  EXPECT_EQ(UdpPort::Open(taken).status().code(), absl::StatusCode::kAlreadyExists);
  UdpOptions other_family = options;
  other_family.bind_address = Ip("::1");
  EXPECT_EQ(UdpPort::Open(other_family).status().code(), absl::StatusCode::kInvalidArgument);
  for (const int sockets : {0, 4097}) {
    UdpOptions wrong = options;
    wrong.sending_sockets = sockets;
    EXPECT_EQ(UdpPort::Open(wrong).status().code(), absl::StatusCode::kInvalidArgument) << sockets;
  }
}

// Each of the most sockets has four source ports.
TEST(UdpPortOpen, SourcePortsThatAreAllTakenAreNamed) {
  UdpOptions options{
      .family = IpFamily::kV4, .bind_address = Ip("127.0.0.7"), .port = 0, .sending_sockets = 1};
  std::vector<std::unique_ptr<UdpPort>> others;
  for (int i = 0; i < 4; ++i) {
    auto other = UdpPort::Open(options);
    ASSERT_TRUE(other.ok()) << other.status();
    others.push_back(*std::move(other));
  }
  options.sending_sockets = 4096;
  const absl::Status status = UdpPort::Open(options).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), ::testing::MatchesRegex("UDP socket 127.0.0.7.*49152: .* taken.*"));
}

}  // namespace
}  // namespace weft::dataplane
