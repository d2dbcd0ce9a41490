// SPDX-License-Identifier: Apache-2.0
// IP Helper's functions, resolved at run time so that the program starts where one is missing
// (Wine), and conversions of its values.
#pragma once

#include <winsock2.h>
#include <ws2tcpip.h>

#include <windows.h>

#include <iphlpapi.h>

#include <netioapi.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/ip_address.h"

namespace weft::host {

// "cannot WHAT: the system's text (CODE)", and for a missing right the next step.
absl::Status Failure(std::string_view what, DWORD code);

ADDRESS_FAMILY FamilyNumber(IpFamily family);
std::optional<IpAddress> AddressOf(const SOCKADDR_INET& address);
SOCKADDR_INET SocketAddressOf(const IpAddress& address);

// DNS_INTERFACE_SETTINGS of netioapi.h, which mingw-w64 lacks.
struct DnsInterfaceSettings {
  static constexpr ULONG kVersion = 1;         // DNS_INTERFACE_SETTINGS_VERSION1
  static constexpr ULONG64 kNameServer = 0x2;  // DNS_SETTING_NAMESERVER
  ULONG version;
  ULONG64 flags;
  PWSTR domain;
  PWSTR name_server;  // separated by commas
  PWSTR search_list;
  ULONG registration_enabled, register_adapter_name, enable_llmnr, query_adapter_name;
  PWSTR profile_name_server;
};
using SetInterfaceDnsSettingsFunction = DWORD(WINAPI*)(GUID adapter,
                                                       const DnsInterfaceSettings* settings);

// Null where the system lacks a function; the first three always exist.
struct IpHelper {
  decltype(&::GetAdaptersAddresses) adapters_addresses = nullptr;
  decltype(&::GetIpForwardTable2) forward_table = nullptr;
  decltype(&::FreeMibTable) free_table = nullptr;
  decltype(&::GetBestRoute2) best_route = nullptr;
  decltype(&::InitializeIpForwardEntry) initialize_route = nullptr;
  decltype(&::CreateIpForwardEntry2) create_route = nullptr;
  decltype(&::DeleteIpForwardEntry2) delete_route = nullptr;
  decltype(&::GetIpForwardEntry2) get_route = nullptr;
  decltype(&::SetIpForwardEntry2) set_route = nullptr;
  decltype(&::InitializeIpInterfaceEntry) initialize_interface = nullptr;
  decltype(&::GetIpInterfaceEntry) get_interface = nullptr;
  decltype(&::SetIpInterfaceEntry) set_interface = nullptr;
  decltype(&::InitializeUnicastIpAddressEntry) initialize_address = nullptr;
  decltype(&::CreateUnicastIpAddressEntry) create_address = nullptr;
  decltype(&::ConvertInterfaceLuidToGuid) luid_to_guid = nullptr;
  SetInterfaceDnsSettingsFunction set_dns = nullptr;  // from build 19041
  decltype(&::NotifyIpInterfaceChange) notify_interface = nullptr;
  decltype(&::NotifyUnicastIpAddressChange) notify_address = nullptr;
  decltype(&::NotifyRouteChange2) notify_route = nullptr;
  decltype(&::CancelMibChangeNotify2) cancel_notify = nullptr;

  // Loads the library from the system's folder only; it stays loaded.
  static absl::StatusOr<IpHelper> Load();

  bool can_write_routes() const {
    return initialize_route && create_route && delete_route && get_route && set_route;
  }
  bool can_write_interfaces() const {
    return initialize_interface && get_interface && set_interface;
  }
};

// The error where the functions for `what` are missing.
absl::Status NotHere(std::string_view what);

}  // namespace weft::host
