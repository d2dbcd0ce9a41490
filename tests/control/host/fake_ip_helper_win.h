// SPDX-License-Identifier: Apache-2.0
// IP Helper over tables in memory, as learn.microsoft.com/windows/win32/api/netioapi describes each
// function; assumptions beyond that are marked. One at a time.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/host/ip_helper_win.h"
#include "vxlan/ip_prefix.h"

namespace weft::host {

class FakeIpHelper {
 public:
  struct Address {
    IpAddress address;
    int prefix_length = 0;
    NL_DAD_STATE dad = IpDadStatePreferred;
    NL_SUFFIX_ORIGIN suffix = IpSuffixOriginManual;
    NL_PREFIX_ORIGIN prefix = IpPrefixOriginManual;
  };
  struct Adapter {
    NET_IFINDEX index = 0;
    std::wstring name;
    ULONG mtu = 1500;
    bool up = true;
    IFTYPE type = IF_TYPE_ETHERNET_CSMACD;
    std::vector<BYTE> mac;
    std::vector<Address> addresses;
    std::vector<IpAddress> name_servers;
    ULONG metric_v4 = 0, metric_v6 = 0;  // of its interfaces
    bool has_v4 = true, has_v6 = true;
    bool automatic_metric = true;
    GUID guid{};
  };

  FakeIpHelper();
  // Fails the test where a table was not freed or a notification not cancelled.
  ~FakeIpHelper();
  FakeIpHelper(const FakeIpHelper&) = delete;
  FakeIpHelper& operator=(const FakeIpHelper&) = delete;

  IpHelper functions() const;

  // ---- Changes by other programs, with their notifications: on another thread, one after
  // another, and delivered when these functions return.
  void AddAdapter(const Adapter& adapter);
  void SetUp(NET_IFINDEX index, bool up);
  void GiveAddress(NET_IFINDEX index, const Address& address);
  void TakeAddress(NET_IFINDEX index, const IpAddress& address);
  void PutRow(const MIB_IPFORWARD_ROW2& row);

  // ---- The content of the tables
  std::vector<MIB_IPFORWARD_ROW2> rows();  // without those of addresses
  MIB_IPINTERFACE_ROW interface_row(NET_IFINDEX index, ADDRESS_FAMILY family);
  // What SetInterfaceDnsSettings was called with: empty where it was not.
  std::wstring dns_servers(NET_IFINDEX index);

  // The next `times` calls of `function` ("SetIpForwardEntry2") fail so, or all (-1).
  void Fail(const std::string& function, DWORD code, int times = -1);
  void Heal() { failures_.clear(); }
  int calls(const std::string& function);
  // Registered for changes now.
  std::size_t registrations();
  // A CancelMibChangeNotify2 waits for a notification in progress.
  bool cancel_waits();

  // A gateway that no address of the adapter covers is refused. Assumed, as route.exe has it.
  bool refuses_far_gateways = false;
  // Another program removes all rows just before this function is called.
  std::string rows_vanish_at;
  // The listing of adapters needs this much more room than the last call had.
  ULONG listing_grows_by = 0;

 private:
  struct Entry {
    Adapter adapter;
    MIB_IPINTERFACE_ROW v4{}, v6{};
    std::wstring dns_servers;
  };
  struct Registration {
    ADDRESS_FAMILY family = AF_UNSPEC;
    PVOID context = nullptr;
    PIPINTERFACE_CHANGE_CALLBACK on_interface = nullptr;
    PUNICAST_IPADDRESS_CHANGE_CALLBACK on_address = nullptr;
    PIPFORWARD_CHANGE_CALLBACK on_route = nullptr;
  };
  struct Failure {
    DWORD code = NO_ERROR;
    int times = 0;
  };

  // Counts the call and returns the failure that is due.
  DWORD Enter(const std::string& function);
  Entry* Find(NET_LUID luid, NET_IFINDEX index);
  MIB_IPINTERFACE_ROW* FindRow(const MIB_IPINTERFACE_ROW& row, DWORD& code);
  // The row of the same destination, next hop and interface, or why there is none.
  MIB_IPFORWARD_ROW2* FindRoute(const MIB_IPFORWARD_ROW2& row, DWORD& code);
  static DWORD CheckRoute(const MIB_IPFORWARD_ROW2& row);
  bool Covers(const Entry& entry, const IpAddress& address) const;
  // With the routes of addresses.
  std::vector<MIB_IPFORWARD_ROW2> AllRows(ADDRESS_FAMILY family) const;
  DWORD Register(const std::string& function, const Registration& registration, BOOLEAN initial,
                 HANDLE* handle);
  void EmitInterface(NET_IFINDEX index, ADDRESS_FAMILY family);
  void EmitAddress(NET_IFINDEX index, const Address& address, MIB_NOTIFICATION_TYPE type);
  void EmitRoute(MIB_IPFORWARD_ROW2 row, MIB_NOTIFICATION_TYPE type);
  template <typename Call>
  void Emit(ADDRESS_FAMILY family, const Call& call);

  static ULONG WINAPI AdaptersAddresses(ULONG family, ULONG flags, PVOID reserved,
                                        PIP_ADAPTER_ADDRESSES out, PULONG size);
  static NETIO_STATUS WINAPI ForwardTable(ADDRESS_FAMILY family, PMIB_IPFORWARD_TABLE2* table);
  static void WINAPI FreeTable(PVOID table);
  static NETIO_STATUS WINAPI BestRoute(NET_LUID* luid, NET_IFINDEX index, const SOCKADDR_INET* from,
                                       const SOCKADDR_INET* to, ULONG options,
                                       PMIB_IPFORWARD_ROW2 best, SOCKADDR_INET* source);
  static void WINAPI InitializeRoute(PMIB_IPFORWARD_ROW2 row);
  static NETIO_STATUS WINAPI CreateRoute(const MIB_IPFORWARD_ROW2* row);
  static NETIO_STATUS WINAPI DeleteRoute(const MIB_IPFORWARD_ROW2* row);
  static NETIO_STATUS WINAPI GetRoute(PMIB_IPFORWARD_ROW2 row);
  static NETIO_STATUS WINAPI SetRoute(const MIB_IPFORWARD_ROW2* row);
  static void WINAPI InitializeInterface(PMIB_IPINTERFACE_ROW row);
  static NETIO_STATUS WINAPI GetInterface(PMIB_IPINTERFACE_ROW row);
  static NETIO_STATUS WINAPI SetInterface(PMIB_IPINTERFACE_ROW row);
  static void WINAPI InitializeAddress(PMIB_UNICASTIPADDRESS_ROW row);
  static NETIO_STATUS WINAPI CreateAddress(const MIB_UNICASTIPADDRESS_ROW* row);
  static NETIO_STATUS WINAPI LuidToGuid(const NET_LUID* luid, GUID* guid);
  static DWORD WINAPI SetDns(GUID adapter, const DnsInterfaceSettings* settings);
  static NETIO_STATUS WINAPI NotifyInterface(ADDRESS_FAMILY family,
                                             PIPINTERFACE_CHANGE_CALLBACK callback, PVOID context,
                                             BOOLEAN initial, HANDLE* handle);
  static NETIO_STATUS WINAPI NotifyAddress(ADDRESS_FAMILY family,
                                           PUNICAST_IPADDRESS_CHANGE_CALLBACK callback,
                                           PVOID context, BOOLEAN initial, HANDLE* handle);
  static NETIO_STATUS WINAPI NotifyRoute(ADDRESS_FAMILY family, PIPFORWARD_CHANGE_CALLBACK callback,
                                         PVOID context, BOOLEAN initial, HANDLE* handle);
  static NETIO_STATUS WINAPI CancelNotify(HANDLE handle);

  std::mutex mutex_;      // of all below
  std::mutex notifying_;  // held while a notification runs
  bool cancel_waits_ = false;
  std::vector<Entry> entries_;
  std::list<MIB_IPFORWARD_ROW2> rows_;
  std::vector<PVOID> tables_;
  std::map<HANDLE, Registration> registrations_;
  std::uintptr_t next_handle_ = 1;
  std::map<std::string, Failure> failures_;
  std::map<std::string, int> calls_;
};

// "{0F5B...}", as IP_ADAPTER_ADDRESSES names an adapter.
std::string GuidText(const GUID& guid);

// 10.244.2.0/24 via 10.9.0.2 on adapter 9, as CreateIpForwardEntry2 expects it.
MIB_IPFORWARD_ROW2 FakeRow(const IpPrefix& destination, const std::optional<IpAddress>& gateway,
                           NET_IFINDEX index, int protocol = MIB_IPPROTO_NETMGMT, ULONG metric = 0);

}  // namespace weft::host
