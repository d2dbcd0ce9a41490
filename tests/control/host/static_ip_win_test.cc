// SPDX-License-Identifier: Apache-2.0
// Static IP settings of the Windows host, with IP Helper in memory and name servers in the real
// registry, under an adapter that no machine has.
#include "control/host/static_ip_win.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "control/host/host_win.h"
#include "tests/control/host/fake_ip_helper_win.h"
#include "tests/support/lease_makers.h"
#include "vxlan/text/utf16_win.h"

namespace weft::host {
namespace {

using testing::Address;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WindowsStaticIpTest : public ::testing::Test {
 protected:
  WindowsStaticIpTest() {
    FakeIpHelper::Adapter ethernet;
    ethernet.index = 7;
    ethernet.name = L"Ethernet";
    ethernet.guid = {0x5EED0001, 0x0000, 0x4000, {0x80, 0, 0, 0, 0, 0, 0, 7}};
    ethernet.metric_v4 = 25;
    ethernet.addresses = {
        {Address("10.9.0.1"), 24},
        {Address("10.9.0.9"), 24, IpDadStatePreferred, IpSuffixOriginDhcp, IpPrefixOriginDhcp},
        {Address("fd09::1"), 64}};
    key_ = std::wstring(kAdaptersKey) + L"\\" + Utf16(GuidText(ethernet.guid));
    fake_.AddAdapter(ethernet);
    Open();
  }
  ~WindowsStaticIpTest() override { ::RegDeleteTreeW(HKEY_LOCAL_MACHINE, key_.c_str()); }
  void Open(const std::function<void(IpHelper&)>& change = [](IpHelper&) {}) {
    IpHelper helper = fake_.functions();
    change(helper);
    host_ = MakeWindowsHost(helper, FirewallCom::System());
  }
  // As ncpa.cpl writes them.
  void WriteNameServer(const std::wstring& text) {
    ASSERT_EQ(
        ::RegSetKeyValueW(HKEY_LOCAL_MACHINE, key_.c_str(), L"NameServer", REG_SZ, text.c_str(),
                          static_cast<DWORD>((text.size() + 1) * sizeof(wchar_t))),
        ERROR_SUCCESS);
  }
  StaticIp Read() {
    const absl::StatusOr<StaticIp> settings = host_->ReadStaticIp(7);
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.value_or(StaticIp());
  }
  std::string Refusal(const StaticIp& settings) {
    return std::string(host_->PutStaticIp(7, settings).message());
  }

  FakeIpHelper fake_;
  std::unique_ptr<Host> host_;
  std::wstring key_;
};

TEST_F(WindowsStaticIpTest, OnlyWhatWasSetByHandIsRead) {
  EXPECT_EQ(Read(), (StaticIp{{{Address("10.9.0.1"), 24}}, {}, {}}));
  const struct {
    const wchar_t* text;
    std::vector<IpAddress> servers;
  } rows[] = {{L"", {}},
              {L"10.9.0.53", {Address("10.9.0.53")}},
              {L"10.9.0.53,10.9.0.54", {Address("10.9.0.53"), Address("10.9.0.54")}},
              {L"10.9.0.53 10.9.0.54", {Address("10.9.0.53"), Address("10.9.0.54")}},
              {L"fd09::53, nonsense,,10.9.0.54", {Address("10.9.0.54")}}};
  for (const auto& row : rows) {
    WriteNameServer(row.text);
    EXPECT_EQ(Read().name_servers, row.servers) << Utf8(row.text);
  }
  WriteNameServer(std::wstring(5000, L'1'));
  EXPECT_THAT(std::string(host_->ReadStaticIp(7).status().message()),
              StartsWith("cannot read the DNS servers of adapter Ethernet: "));
}

TEST_F(WindowsStaticIpTest, AMetricCountsUnlessItIsAutomatic) {
  MIB_IPINTERFACE_ROW row = fake_.interface_row(7, AF_INET);
  row.UseAutomaticMetric = FALSE;
  row.Metric = 5;
  row.SitePrefixLength = 0;
  ASSERT_EQ(fake_.functions().set_interface(&row), static_cast<NETIO_STATUS>(NO_ERROR));
  EXPECT_EQ(Read().metric, 5u);
  fake_.Fail("GetIpInterfaceEntry", ERROR_NOT_FOUND);  // IPv4 is not bound to it
  EXPECT_EQ(Read().metric, std::nullopt);
  fake_.Fail("GetIpInterfaceEntry", ERROR_ACCESS_DENIED);
  EXPECT_THAT(std::string(host_->ReadStaticIp(7).status().message()),
              StartsWith("cannot read the metric of adapter Ethernet: "));
}

TEST_F(WindowsStaticIpTest, SettingsAreWrittenAndReadBack) {
  const StaticIp settings{
      {{Address("10.9.0.20"), 16}}, {Address("10.9.0.53"), Address("10.9.0.54")}, 5u};
  ASSERT_EQ(host_->PutStaticIp(7, settings), absl::OkStatus());
  EXPECT_EQ(fake_.dns_servers(7), L"10.9.0.53,10.9.0.54");
  const StaticIp read = Read();
  EXPECT_THAT(read.addresses, ::testing::Contains(settings.addresses[0]));
  EXPECT_EQ(read.metric, 5u);
  EXPECT_EQ(fake_.interface_row(7, AF_INET).UseAutomaticMetric, FALSE);
  EXPECT_EQ(host_->PutStaticIp(7, settings), absl::OkStatus()) << "a second time";
}

TEST_F(WindowsStaticIpTest, NothingElseIsChanged) {
  const MIB_IPINTERFACE_ROW before = fake_.interface_row(7, AF_INET);
  ASSERT_EQ(host_->PutStaticIp(7, {}), absl::OkStatus());
  EXPECT_EQ(fake_.calls("SetInterfaceDnsSettings"), 0);
  EXPECT_EQ(fake_.calls("SetIpInterfaceEntry"), 0);
  EXPECT_EQ(fake_.calls("CreateUnicastIpAddressEntry"), 0);
  ASSERT_EQ(host_->PutStaticIp(7, {{}, {}, 5u}), absl::OkStatus());
  EXPECT_EQ(fake_.interface_row(7, AF_INET).DadTransmits, before.DadTransmits);
}

// Server 2019.
TEST_F(WindowsStaticIpTest, WithoutTheDnsFunctionTheRegistryIsWritten) {
  Open([](IpHelper& helper) { helper.set_dns = nullptr; });
  EXPECT_THAT(Refusal({{}, {Address("10.9.0.53")}, {}}),
              StartsWith("cannot set the DNS servers of adapter Ethernet: "))
      << "no key is made for an adapter that has none";
  WriteNameServer(L"");
  ASSERT_EQ(host_->PutStaticIp(7, {{}, {Address("10.9.0.53"), Address("10.9.0.54")}, {}}),
            absl::OkStatus());
  EXPECT_THAT(Read().name_servers,
              ::testing::ElementsAre(Address("10.9.0.53"), Address("10.9.0.54")));
}

TEST_F(WindowsStaticIpTest, ARefusalNamesTheAdapterAndWhatWasRefused) {
  const StaticIp all{{{Address("10.9.0.20"), 16}}, {Address("10.9.0.53")}, 5u};
  fake_.Fail("SetIpInterfaceEntry", ERROR_ACCESS_DENIED);
  EXPECT_THAT(Refusal(all), StartsWith("cannot set the metric of adapter Ethernet: "));
  fake_.Fail("SetInterfaceDnsSettings", ERROR_ACCESS_DENIED);
  EXPECT_THAT(Refusal(all), StartsWith("cannot set the DNS servers of adapter Ethernet: "));
  fake_.Heal();
  fake_.Fail("CreateUnicastIpAddressEntry", ERROR_ACCESS_DENIED);
  EXPECT_THAT(Refusal({{{Address("10.9.0.21"), 16}}, {}, {}}),
              AllOf(StartsWith("cannot add 10.9.0.21/16 to adapter Ethernet: "),
                    HasSubstr("run as administrator")));
  EXPECT_TRUE(absl::IsNotFound(host_->PutStaticIp(99, all)));
  EXPECT_TRUE(absl::IsNotFound(host_->ReadStaticIp(99).status()));
}

TEST_F(WindowsStaticIpTest, AMissingFunctionIsNamed) {
  Open([](IpHelper& helper) { helper.create_address = nullptr, helper.set_interface = nullptr; });
  EXPECT_THAT(Refusal({{{Address("10.9.0.20"), 16}}, {}, {}}), HasSubstr("lacks the functions"));
  EXPECT_THAT(Refusal({{}, {}, 5u}), HasSubstr("lacks the functions"));
  EXPECT_EQ(Read().metric, std::nullopt);
}

}  // namespace
}  // namespace weft::host
