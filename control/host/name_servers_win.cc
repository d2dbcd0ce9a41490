// SPDX-License-Identifier: Apache-2.0
#include "control/host/name_servers_win.h"

#include <cstddef>

namespace weft::host {

absl::StatusOr<std::vector<IpAddress>> ReadNameServers(const IpHelper& helper) {
  constexpr ULONG kFlags = GAA_FLAG_SKIP_UNICAST | GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST |
                           GAA_FLAG_SKIP_FRIENDLY_NAME;
  ULONG size = 16 * 1024;
  // The list may grow between the call for its size and the call that reads it.
  for (int attempt = 0; attempt < 4; ++attempt) {
    std::vector<std::byte> buffer(size);
    auto* const first = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data());
    const ULONG code = helper.adapters_addresses(AF_UNSPEC, kFlags, nullptr, first, &size);
    std::vector<IpAddress> servers;
    if (code == ERROR_NO_DATA) return servers;
    if (code == ERROR_BUFFER_OVERFLOW) continue;
    if (code != NO_ERROR) return Failure("list the name servers", code);
    for (const auto* row = first; row; row = row->Next) {
      for (const auto* entry = row->FirstDnsServerAddress; entry; entry = entry->Next) {
        const auto address =
            AddressOf(*reinterpret_cast<const SOCKADDR_INET*>(entry->Address.lpSockaddr));
        if (address) servers.push_back(*address);
      }
    }
    return servers;
  }
  return absl::UnavailableError(
      "the name servers changed each of the 4 times they were listed; try again");
}

}  // namespace weft::host
