// SPDX-License-Identifier: Apache-2.0
#include "control/host/ip_helper_win.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

template <typename Function>
void Resolve(HMODULE library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(reinterpret_cast<void*>(::GetProcAddress(library, name)));
}

}  // namespace

absl::Status Failure(std::string_view what, DWORD code) {
  const std::string message =
      absl::StrCat("cannot ", what, ": ", std::system_category().message(static_cast<int>(code)),
                   " (", code, ")", code == ERROR_ACCESS_DENIED ? "; run as administrator" : "");
  if (code == ERROR_ACCESS_DENIED) return absl::PermissionDeniedError(message);
  return code == ERROR_NOT_FOUND ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

absl::Status NotHere(std::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("cannot ", what,
                   ": this system's iphlpapi.dll lacks the functions for it, as Wine's does; "
                   "Windows has them since Server 2008"));
}

ADDRESS_FAMILY FamilyNumber(IpFamily family) {
  return family == IpFamily::kV4 ? AF_INET : AF_INET6;
}

std::optional<IpAddress> AddressOf(const SOCKADDR_INET& address) {
  if (address.si_family == AF_INET) {
    return IpAddress::FromBytes(IpFamily::kV4,
                                reinterpret_cast<const std::byte*>(&address.Ipv4.sin_addr));
  }
  if (address.si_family == AF_INET6) {
    return IpAddress::FromBytes(IpFamily::kV6,
                                reinterpret_cast<const std::byte*>(&address.Ipv6.sin6_addr));
  }
  return std::nullopt;
}

SOCKADDR_INET SocketAddressOf(const IpAddress& address) {
  SOCKADDR_INET out{};
  out.si_family = FamilyNumber(address.family());
  const Bytes bytes = address.bytes();
  std::copy(bytes.begin(), bytes.end(),
            address.is_v4() ? reinterpret_cast<std::byte*>(&out.Ipv4.sin_addr)
                            : reinterpret_cast<std::byte*>(&out.Ipv6.sin6_addr));
  return out;
}

absl::StatusOr<IpHelper> IpHelper::Load() {
  const HMODULE library = ::LoadLibraryExW(L"iphlpapi.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
  if (!library) return Failure("load iphlpapi.dll", ::GetLastError());
  IpHelper helper;
  Resolve(library, "GetAdaptersAddresses", helper.adapters_addresses);
  Resolve(library, "GetIpForwardTable2", helper.forward_table);
  Resolve(library, "FreeMibTable", helper.free_table);
  Resolve(library, "GetBestRoute2", helper.best_route);
  Resolve(library, "InitializeIpForwardEntry", helper.initialize_route);
  Resolve(library, "CreateIpForwardEntry2", helper.create_route);
  Resolve(library, "DeleteIpForwardEntry2", helper.delete_route);
  Resolve(library, "GetIpForwardEntry2", helper.get_route);
  Resolve(library, "SetIpForwardEntry2", helper.set_route);
  Resolve(library, "InitializeIpInterfaceEntry", helper.initialize_interface);
  Resolve(library, "GetIpInterfaceEntry", helper.get_interface);
  Resolve(library, "SetIpInterfaceEntry", helper.set_interface);
  Resolve(library, "InitializeUnicastIpAddressEntry", helper.initialize_address);
  Resolve(library, "CreateUnicastIpAddressEntry", helper.create_address);
  Resolve(library, "ConvertInterfaceLuidToGuid", helper.luid_to_guid);
  Resolve(library, "SetInterfaceDnsSettings", helper.set_dns);
  Resolve(library, "NotifyIpInterfaceChange", helper.notify_interface);
  Resolve(library, "NotifyUnicastIpAddressChange", helper.notify_address);
  Resolve(library, "NotifyRouteChange2", helper.notify_route);
  Resolve(library, "CancelMibChangeNotify2", helper.cancel_notify);
  if (!helper.adapters_addresses || !helper.forward_table || !helper.free_table) {
    return absl::UnimplementedError(
        "iphlpapi.dll lacks GetIpForwardTable2; Windows Server 2019 or newer is needed");
  }
  return helper;
}

}  // namespace weft::host
