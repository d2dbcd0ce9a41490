// SPDX-License-Identifier: Apache-2.0
#include "control/host/static_ip_win.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "vxlan/text/utf16_win.h"

namespace weft::host {
namespace {

std::string What(std::string_view verb, const IP_ADAPTER_ADDRESSES& row) {
  return absl::StrCat(verb, " adapter ", Utf8(row.FriendlyName));
}

std::wstring KeyOf(const IP_ADAPTER_ADDRESSES& row) {
  return std::wstring(kAdaptersKey) + L"\\" + Utf16(row.AdapterName);
}

// Separated by commas, as Windows writes them, or blanks, as people do. What is no IPv4 address is
// left out.
absl::StatusOr<std::vector<IpAddress>> ReadNameServer(const IP_ADAPTER_ADDRESSES& row) {
  const std::wstring key = KeyOf(row);
  std::wstring text(1024, L'\0');
  auto size = static_cast<DWORD>(text.size() * sizeof(wchar_t));
  const LSTATUS code = ::RegGetValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"NameServer", RRF_RT_REG_SZ,
                                      nullptr, text.data(), &size);
  std::vector<IpAddress> servers;
  if (code == ERROR_FILE_NOT_FOUND) return servers;
  if (code != ERROR_SUCCESS)
    return Failure(What("read the DNS servers of", row), static_cast<DWORD>(code));
  const std::string list = Utf8(text.c_str());
  for (const std::string_view part : absl::StrSplit(list, absl::ByAnyChar(", "))) {
    if (const auto address = IpAddress::Parse(part); address && address->is_v4())
      servers.push_back(*address);
  }
  return servers;
}

// A key that is not there is not made: it would be of no adapter.
DWORD WriteNameServer(const IP_ADAPTER_ADDRESSES& row, const std::wstring& servers) {
  HKEY key = nullptr;
  LSTATUS code = ::RegOpenKeyExW(HKEY_LOCAL_MACHINE, KeyOf(row).c_str(), 0, KEY_SET_VALUE, &key);
  if (code != ERROR_SUCCESS) return static_cast<DWORD>(code);
  code = ::RegSetValueExW(key, L"NameServer", 0, REG_SZ,
                          reinterpret_cast<const BYTE*>(servers.c_str()),
                          static_cast<DWORD>((servers.size() + 1) * sizeof(wchar_t)));
  ::RegCloseKey(key);
  return static_cast<DWORD>(code);
}

// Windows 10 19041 and Server 2022 have the function. On Server 2019 the registry, which the DNS
// client reads when the adapter changes next: unproven.
absl::Status PutNameServers(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row,
                            const std::vector<IpAddress>& servers) {
  std::wstring text = Utf16(absl::StrJoin(servers, ",", [](std::string* out, const auto& each) {
    absl::StrAppend(out, each.ToString());
  }));
  DWORD code = NO_ERROR;
  NET_LUID luid = row.Luid;
  GUID guid{};
  if (helper.set_dns && helper.luid_to_guid && helper.luid_to_guid(&luid, &guid) == NO_ERROR) {
    DnsInterfaceSettings settings{};
    settings.version = DnsInterfaceSettings::kVersion;
    settings.flags = DnsInterfaceSettings::kNameServer;
    settings.name_server = text.data();
    code = helper.set_dns(guid, &settings);
  } else {
    code = WriteNameServer(row, text);
  }
  return code == NO_ERROR ? absl::OkStatus() : Failure(What("set the DNS servers of", row), code);
}

absl::Status AddOne(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row,
                    const AssignedAddress& address) {
  const std::string what = What(absl::StrCat("add ", address.ToString(), " to"), row);
  if (!helper.initialize_address || !helper.create_address) return NotHere(what);
  MIB_UNICASTIPADDRESS_ROW entry{};
  helper.initialize_address(&entry);  // for ever
  entry.InterfaceLuid = row.Luid;
  entry.Address = SocketAddressOf(address.address);
  entry.OnLinkPrefixLength = static_cast<UINT8>(address.prefix_length);
  const DWORD code = helper.create_address(&entry);
  return code == NO_ERROR || code == ERROR_OBJECT_ALREADY_EXISTS ? absl::OkStatus()
                                                                 : Failure(what, code);
}

MIB_IPINTERFACE_ROW InterfaceOf(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row) {
  MIB_IPINTERFACE_ROW out{};
  helper.initialize_interface(&out);
  out.Family = AF_INET;
  out.InterfaceLuid = row.Luid;
  return out;
}

absl::Status PutMetric(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row,
                       std::uint32_t metric) {
  const std::string what = What("set the metric of", row);
  if (!helper.can_write_interfaces()) return NotHere(what);
  MIB_IPINTERFACE_ROW entry = InterfaceOf(helper, row);
  DWORD code = helper.get_interface(&entry);
  if (code != NO_ERROR) return Failure(what, code);
  entry.UseAutomaticMetric = FALSE;
  entry.Metric = metric;
  entry.SitePrefixLength = 0;  // Get fills this in for IPv4, and Set refuses it
  code = helper.set_interface(&entry);
  return code == NO_ERROR ? absl::OkStatus() : Failure(what, code);
}

}  // namespace

absl::StatusOr<StaticIp> ReadStaticIp(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row) {
  StaticIp settings;
  for (const auto* entry = row.FirstUnicastAddress; entry; entry = entry->Next) {
    const auto address =
        AddressOf(*reinterpret_cast<const SOCKADDR_INET*>(entry->Address.lpSockaddr));
    if (address && address->is_v4() && entry->PrefixOrigin == IpPrefixOriginManual)
      settings.addresses.push_back({*address, entry->OnLinkPrefixLength});
  }
  absl::StatusOr<std::vector<IpAddress>> servers = ReadNameServer(row);
  if (!servers.ok()) return servers.status();
  settings.name_servers = *std::move(servers);
  if (!helper.can_write_interfaces()) return settings;
  MIB_IPINTERFACE_ROW entry = InterfaceOf(helper, row);
  const DWORD code = helper.get_interface(&entry);
  if (code == ERROR_NOT_FOUND) return settings;  // without IPv4
  if (code != NO_ERROR) return Failure(What("read the metric of", row), code);
  if (entry.UseAutomaticMetric == FALSE) settings.metric = entry.Metric;
  return settings;
}

absl::Status PutStaticIp(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row,
                         const StaticIp& settings) {
  for (const AssignedAddress& address : settings.addresses) {
    if (absl::Status status = AddOne(helper, row, address); !status.ok()) return status;
  }
  if (!settings.name_servers.empty()) {
    if (absl::Status status = PutNameServers(helper, row, settings.name_servers); !status.ok())
      return status;
  }
  return settings.metric ? PutMetric(helper, row, *settings.metric) : absl::OkStatus();
}

}  // namespace weft::host
