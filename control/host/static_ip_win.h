// SPDX-License-Identifier: Apache-2.0
// An adapter's static IPv4 settings: addresses and metric through IP Helper, name servers through
// the registry, and to change them through SetInterfaceDnsSettings where the system has it.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

// HKEY_LOCAL_MACHINE's key with a key for each adapter, by its GUID. The value NameServer lists
// what was set by hand; DHCP's is DhcpNameServer.
inline constexpr wchar_t kAdaptersKey[] =
    L"SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\\Interfaces";

// `row` lists the adapter's unicast addresses.
absl::StatusOr<StaticIp> ReadStaticIp(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row);
// Host's PutStaticIp.
absl::Status PutStaticIp(const IpHelper& helper, const IP_ADAPTER_ADDRESSES& row,
                         const StaticIp& settings);

}  // namespace weft::host
