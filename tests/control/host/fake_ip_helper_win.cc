// SPDX-License-Identifier: Apache-2.0
#include "tests/control/host/fake_ip_helper_win.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"

namespace weft::host {
namespace {

// IP Helper's functions have no argument to find it by.
FakeIpHelper* the_fake = nullptr;

constexpr UCHAR kNoSitePrefix = 255;  // "commonly used to represent an illegal value"
constexpr ULONG kNoMetric = ~ULONG{0};

NET_LUID LuidOf(NET_IFINDEX index) {
  NET_LUID luid{};
  luid.Value = ULONG64{IF_TYPE_ETHERNET_CSMACD} << 48 | ULONG64{index} << 24;
  return luid;
}

bool SameAddress(const SOCKADDR_INET& a, const SOCKADDR_INET& b) {
  return AddressOf(a) == AddressOf(b);
}

IpPrefix PrefixOf(const MIB_IPFORWARD_ROW2& row) {
  return *IpPrefix::From(*AddressOf(row.DestinationPrefix.Prefix),
                         row.DestinationPrefix.PrefixLength);
}

// The routes of an address have no gateway and the protocol LOCAL.
MIB_IPFORWARD_ROW2 LocalRow(const IpPrefix& destination, NET_IFINDEX index) {
  MIB_IPFORWARD_ROW2 row = FakeRow(destination, std::nullopt, index, MIB_IPPROTO_LOCAL, 256);
  row.Origin = NlroWellKnown;
  return row;
}

// Consecutive pieces of one buffer; without a buffer they are only counted.
class Pieces {
 public:
  Pieces(PVOID buffer, ULONG size) : buffer_(static_cast<std::byte*>(buffer)), size_(size) {}
  template <typename T>
  T* Take(std::size_t count = 1) {
    const std::size_t from = used_;
    used_ += (sizeof(T) * count + 15) / 16 * 16;
    if (!buffer_ || used_ > size_) return nullptr;
    std::memset(buffer_ + from, 0, sizeof(T) * count);
    return reinterpret_cast<T*>(reinterpret_cast<void*>(buffer_ + from));
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* buffer_;
  std::size_t size_;
  std::size_t used_ = 0;
};

void ListAdapter(const FakeIpHelper::Adapter& adapter, ULONG flags, Pieces& pieces,
                 IP_ADAPTER_ADDRESSES**& next) {
  auto* const out = pieces.Take<IP_ADAPTER_ADDRESSES>();
  auto* const name = pieces.Take<wchar_t>(adapter.name.size() + 1);
  if (out) {
    *next = out;
    next = &out->Next;
    out->Length = sizeof *out;
    out->IfIndex = adapter.has_v4 ? adapter.index : 0;
    out->Ipv6IfIndex = adapter.has_v6 ? adapter.index : 0;
    out->Mtu = adapter.mtu;
    out->IfType = adapter.type;
    out->OperStatus = adapter.up ? IfOperStatusUp : IfOperStatusDown;
    out->PhysicalAddressLength = static_cast<ULONG>(adapter.mac.size());
    std::copy(adapter.mac.begin(), adapter.mac.end(), out->PhysicalAddress);
    out->Ipv4Metric = adapter.metric_v4;
    out->Ipv6Metric = adapter.metric_v6;
    out->Luid = LuidOf(adapter.index);
  }
  const std::string guid = GuidText(adapter.guid);
  auto* const guid_text = pieces.Take<char>(guid.size() + 1);
  if (guid_text) std::copy(guid.begin(), guid.end(), guid_text);
  if (out) out->AdapterName = guid_text;
  if (name) std::copy(adapter.name.begin(), adapter.name.end(), name);
  if (out && name && !adapter.name.empty()) out->FriendlyName = name;
  IP_ADAPTER_UNICAST_ADDRESS** next_address = out ? &out->FirstUnicastAddress : nullptr;
  for (const FakeIpHelper::Address& address : adapter.addresses) {
    auto* const entry = pieces.Take<IP_ADAPTER_UNICAST_ADDRESS>();
    auto* const socket_address = pieces.Take<SOCKADDR_INET>();
    if (!entry || !socket_address) continue;
    *socket_address = SocketAddressOf(address.address);
    entry->Length = sizeof *entry;
    entry->Address.lpSockaddr = reinterpret_cast<SOCKADDR*>(socket_address);
    entry->Address.iSockaddrLength = sizeof *socket_address;
    entry->DadState = address.dad;
    entry->SuffixOrigin = address.suffix;
    entry->PrefixOrigin = address.prefix;
    entry->OnLinkPrefixLength = static_cast<UINT8>(address.prefix_length);
    *next_address = entry;
    next_address = &entry->Next;
  }
  if (flags & GAA_FLAG_SKIP_DNS_SERVER) return;
  IP_ADAPTER_DNS_SERVER_ADDRESS** next_server = out ? &out->FirstDnsServerAddress : nullptr;
  for (const IpAddress& server : adapter.name_servers) {
    auto* const entry = pieces.Take<IP_ADAPTER_DNS_SERVER_ADDRESS>();
    auto* const socket_address = pieces.Take<SOCKADDR_INET>();
    if (!entry || !socket_address) continue;
    *socket_address = SocketAddressOf(server);
    entry->Length = sizeof *entry;
    entry->Address.lpSockaddr = reinterpret_cast<SOCKADDR*>(socket_address);
    entry->Address.iSockaddrLength = sizeof *socket_address;
    *next_server = entry;
    next_server = &entry->Next;
  }
}

}  // namespace

std::string GuidText(const GUID& guid) {
  std::string text = absl::StrFormat("{%08X-%04X-%04X-", guid.Data1, guid.Data2, guid.Data3);
  for (std::size_t i = 0; i < sizeof guid.Data4; ++i)
    absl::StrAppendFormat(&text, "%s%02X", i == 2 ? "-" : "", guid.Data4[i]);
  return text + "}";
}

MIB_IPFORWARD_ROW2 FakeRow(const IpPrefix& destination, const std::optional<IpAddress>& gateway,
                           NET_IFINDEX index, int protocol, ULONG metric) {
  MIB_IPFORWARD_ROW2 row{};
  row.InterfaceLuid = LuidOf(index);
  row.InterfaceIndex = index;
  row.DestinationPrefix.Prefix = SocketAddressOf(destination.base());
  row.DestinationPrefix.PrefixLength = static_cast<UINT8>(destination.length());
  row.NextHop.si_family = row.DestinationPrefix.Prefix.si_family;
  if (gateway) row.NextHop = SocketAddressOf(*gateway);
  row.ValidLifetime = row.PreferredLifetime = ~ULONG{0};
  row.Metric = metric;
  row.Protocol = static_cast<NL_ROUTE_PROTOCOL>(protocol);
  row.Immortal = TRUE;
  return row;
}

FakeIpHelper::FakeIpHelper() {
  EXPECT_EQ(the_fake, nullptr) << "one at a time";
  the_fake = this;
}

FakeIpHelper::~FakeIpHelper() {
  EXPECT_EQ(tables_.size(), 0u) << "tables that were not freed";
  EXPECT_EQ(registrations_.size(), 0u) << "notifications that were not cancelled";
  for (const PVOID table : tables_) std::free(table);
  the_fake = nullptr;
}

IpHelper FakeIpHelper::functions() const {
  IpHelper helper;
  helper.adapters_addresses = &AdaptersAddresses;
  helper.forward_table = &ForwardTable;
  helper.free_table = &FreeTable;
  helper.best_route = &BestRoute;
  helper.initialize_route = &InitializeRoute;
  helper.create_route = &CreateRoute;
  helper.delete_route = &DeleteRoute;
  helper.get_route = &GetRoute;
  helper.set_route = &SetRoute;
  helper.initialize_interface = &InitializeInterface;
  helper.get_interface = &GetInterface;
  helper.set_interface = &SetInterface;
  helper.initialize_address = &InitializeAddress;
  helper.create_address = &CreateAddress;
  helper.luid_to_guid = &LuidToGuid;
  helper.set_dns = &SetDns;
  helper.notify_interface = &NotifyInterface;
  helper.notify_address = &NotifyAddress;
  helper.notify_route = &NotifyRoute;
  helper.cancel_notify = &CancelNotify;
  return helper;
}

// ---- Changes by other programs

void FakeIpHelper::AddAdapter(const Adapter& adapter) {
  {
    const std::lock_guard lock(mutex_);
    Entry entry;
    entry.adapter = adapter;
    for (MIB_IPINTERFACE_ROW* row : {&entry.v4, &entry.v6}) {
      row->Family = row == &entry.v4 ? AF_INET : AF_INET6;
      row->InterfaceLuid = LuidOf(adapter.index);
      row->InterfaceIndex = adapter.index;
      row->SitePrefixLength = 64;  // of IPv4 too, and there not to be set
      row->Metric = row->Family == AF_INET ? adapter.metric_v4 : adapter.metric_v6;
      row->NlMtu = adapter.mtu;
      row->DadTransmits = 3;
      row->UseAutomaticMetric = adapter.automatic_metric;
    }
    entries_.push_back(entry);
  }
  EmitInterface(adapter.index, AF_INET);
}

void FakeIpHelper::SetUp(NET_IFINDEX index, bool up) {
  {
    const std::lock_guard lock(mutex_);
    Find({}, index)->adapter.up = up;
  }
  EmitInterface(index, AF_INET);
  EmitInterface(index, AF_INET6);
}

void FakeIpHelper::GiveAddress(NET_IFINDEX index, const Address& address) {
  {
    const std::lock_guard lock(mutex_);
    Find({}, index)->adapter.addresses.push_back(address);
  }
  EmitAddress(index, address, MibAddInstance);
}

void FakeIpHelper::TakeAddress(NET_IFINDEX index, const IpAddress& address) {
  Address gone;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Address>& addresses = Find({}, index)->adapter.addresses;
    const auto found = std::find_if(addresses.begin(), addresses.end(),
                                    [&](const Address& each) { return each.address == address; });
    gone = *found;
    addresses.erase(found);
  }
  EmitAddress(index, gone, MibDeleteInstance);
}

void FakeIpHelper::PutRow(const MIB_IPFORWARD_ROW2& row) {
  {
    const std::lock_guard lock(mutex_);
    rows_.push_back(row);
  }
  EmitRoute(row, MibAddInstance);
}

std::vector<MIB_IPFORWARD_ROW2> FakeIpHelper::rows() {
  const std::lock_guard lock(mutex_);
  return {rows_.begin(), rows_.end()};
}

MIB_IPINTERFACE_ROW FakeIpHelper::interface_row(NET_IFINDEX index, ADDRESS_FAMILY family) {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = Find({}, index);
  return family == AF_INET ? entry->v4 : entry->v6;
}

std::wstring FakeIpHelper::dns_servers(NET_IFINDEX index) {
  const std::lock_guard lock(mutex_);
  return Find({}, index)->dns_servers;
}

void FakeIpHelper::Fail(const std::string& function, DWORD code, int times) {
  const std::lock_guard lock(mutex_);
  failures_[function] = {code, times};
}

int FakeIpHelper::calls(const std::string& function) {
  const std::lock_guard lock(mutex_);
  return calls_[function];
}

std::size_t FakeIpHelper::registrations() {
  const std::lock_guard lock(mutex_);
  return registrations_.size();
}

bool FakeIpHelper::cancel_waits() {
  const std::lock_guard lock(mutex_);
  return cancel_waits_;
}

// ---- Inside

DWORD FakeIpHelper::Enter(const std::string& function) {
  ++calls_[function];
  if (function == rows_vanish_at) rows_.clear();
  const auto due = failures_.find(function);
  if (due == failures_.end() || due->second.times == 0) return NO_ERROR;
  if (due->second.times > 0) --due->second.times;
  return due->second.code;
}

// "The fields are used in the order listed": the LUID, and where it is zero the index.
FakeIpHelper::Entry* FakeIpHelper::Find(NET_LUID luid, NET_IFINDEX index) {
  for (Entry& entry : entries_) {
    const NET_IFINDEX own = entry.adapter.index;
    if (luid.Value != 0 ? luid.Value == LuidOf(own).Value : index == own) return &entry;
  }
  return nullptr;
}

// ERROR_FILE_NOT_FOUND: no such interface; ERROR_NOT_FOUND: not of this family.
MIB_IPINTERFACE_ROW* FakeIpHelper::FindRow(const MIB_IPINTERFACE_ROW& row, DWORD& code) {
  code = ERROR_INVALID_PARAMETER;
  if (row.Family != AF_INET && row.Family != AF_INET6) return nullptr;
  if (row.InterfaceLuid.Value == 0 && row.InterfaceIndex == 0) return nullptr;
  code = ERROR_FILE_NOT_FOUND;
  Entry* const entry = Find(row.InterfaceLuid, row.InterfaceIndex);
  if (!entry) return nullptr;
  code = ERROR_NOT_FOUND;
  const bool v4 = row.Family == AF_INET;
  if (v4 ? !entry->adapter.has_v4 : !entry->adapter.has_v6) return nullptr;
  code = NO_ERROR;
  return v4 ? &entry->v4 : &entry->v6;
}

DWORD FakeIpHelper::CheckRoute(const MIB_IPFORWARD_ROW2& row) {
  const ADDRESS_FAMILY family = row.DestinationPrefix.Prefix.si_family;
  if (family != AF_INET && family != AF_INET6) return ERROR_INVALID_PARAMETER;
  if (row.NextHop.si_family != family) return ERROR_INVALID_PARAMETER;
  if (row.InterfaceLuid.Value == 0 && row.InterfaceIndex == 0) return ERROR_INVALID_PARAMETER;
  return NO_ERROR;
}

MIB_IPFORWARD_ROW2* FakeIpHelper::FindRoute(const MIB_IPFORWARD_ROW2& row, DWORD& code) {
  code = CheckRoute(row);
  if (code != NO_ERROR) return nullptr;
  code = ERROR_NOT_FOUND;
  const Entry* const entry = Find(row.InterfaceLuid, row.InterfaceIndex);
  if (!entry) return nullptr;
  for (MIB_IPFORWARD_ROW2& each : rows_) {
    if (each.InterfaceIndex == entry->adapter.index && PrefixOf(each) == PrefixOf(row) &&
        SameAddress(each.NextHop, row.NextHop)) {
      code = NO_ERROR;
      return &each;
    }
  }
  return nullptr;
}

bool FakeIpHelper::Covers(const Entry& entry, const IpAddress& address) const {
  return std::any_of(entry.adapter.addresses.begin(), entry.adapter.addresses.end(),
                     [&](const Address& each) {
                       return IpPrefix::From(each.address, each.prefix_length)->Contains(address);
                     });
}

std::vector<MIB_IPFORWARD_ROW2> FakeIpHelper::AllRows(ADDRESS_FAMILY family) const {
  std::vector<MIB_IPFORWARD_ROW2> all(rows_.begin(), rows_.end());
  for (const Entry& entry : entries_) {
    const Adapter& adapter = entry.adapter;
    for (const Address& each : adapter.up ? adapter.addresses : std::vector<Address>()) {
      const bool v4 = each.address.is_v4();
      for (const IpPrefix& prefix :
           {*IpPrefix::From(each.address, each.prefix_length),
            *IpPrefix::From(each.address, each.address.bits()),
            *IpPrefix::From(*IpAddress::Parse(v4 ? "224.0.0.0" : "ff00::"), v4 ? 4 : 8)})
        all.push_back(LocalRow(prefix, adapter.index));
    }
  }
  if (family != AF_UNSPEC)
    std::erase_if(all, [&](const auto& row) { return row.NextHop.si_family != family; });
  return all;
}

DWORD FakeIpHelper::Register(const std::string& function, const Registration& registration,
                             BOOLEAN initial, HANDLE* handle) {
  {
    const std::lock_guard lock(mutex_);
    *handle = nullptr;  // "If an error occurs, NULL is returned"
    if (const DWORD code = Enter(function)) return code;
    if (registration.family != AF_INET && registration.family != AF_INET6 &&
        registration.family != AF_UNSPEC)
      return ERROR_INVALID_PARAMETER;
    *handle = reinterpret_cast<HANDLE>(next_handle_++);
    registrations_[*handle] = registration;
  }
  if (!initial) return NO_ERROR;
  const std::lock_guard notifying(notifying_);
  std::thread([&] {
    if (registration.on_interface)
      registration.on_interface(registration.context, nullptr, MibInitialNotification);
    if (registration.on_address)
      registration.on_address(registration.context, nullptr, MibInitialNotification);
    if (registration.on_route)
      registration.on_route(registration.context, nullptr, MibInitialNotification);
  }).join();
  return NO_ERROR;
}

template <typename Call>
void FakeIpHelper::Emit(ADDRESS_FAMILY family, const Call& call) {
  const std::lock_guard notifying(notifying_);  // "the invocation is serialized"
  std::vector<Registration> to;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, each] : registrations_) {
      if (each.family == AF_UNSPEC || each.family == family) to.push_back(each);
    }
  }
  std::thread([&] {
    for (const Registration& each : to) call(each);
  }).join();
}

void FakeIpHelper::EmitInterface(NET_IFINDEX index, ADDRESS_FAMILY family) {
  // "contains incomplete data": enough to ask for the rest.
  MIB_IPINTERFACE_ROW row{};
  row.Family = family;
  row.InterfaceLuid = LuidOf(index);
  row.InterfaceIndex = index;
  Emit(family, [&](const Registration& to) {
    if (to.on_interface) to.on_interface(to.context, &row, MibParameterNotification);
  });
}

void FakeIpHelper::EmitAddress(NET_IFINDEX index, const Address& address,
                               MIB_NOTIFICATION_TYPE type) {
  MIB_UNICASTIPADDRESS_ROW row{};
  row.Address = SocketAddressOf(address.address);
  row.InterfaceLuid = LuidOf(index);
  row.InterfaceIndex = index;
  Emit(row.Address.si_family, [&](const Registration& to) {
    if (to.on_address) to.on_address(to.context, &row, type);
  });
}

void FakeIpHelper::EmitRoute(MIB_IPFORWARD_ROW2 row, MIB_NOTIFICATION_TYPE type) {
  Emit(row.NextHop.si_family, [&](const Registration& to) {
    if (to.on_route) to.on_route(to.context, &row, type);
  });
}

// ---- The functions

ULONG WINAPI FakeIpHelper::AdaptersAddresses(ULONG, ULONG flags, PVOID, PIP_ADAPTER_ADDRESSES out,
                                             PULONG size) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  if (const DWORD code = self.Enter("GetAdaptersAddresses")) return code;
  if (self.entries_.empty()) return ERROR_NO_DATA;
  Pieces needed(nullptr, 0), pieces(out, *size);
  IP_ADAPTER_ADDRESSES* unused = nullptr;
  IP_ADAPTER_ADDRESSES** next = &unused;
  for (const Entry& each : self.entries_) ListAdapter(each.adapter, flags, needed, next);
  const auto room = static_cast<ULONG>(needed.used());
  if (*size < room || self.listing_grows_by != 0) {
    *size = std::max(room, *size) + self.listing_grows_by;
    return ERROR_BUFFER_OVERFLOW;
  }
  for (const Entry& each : self.entries_) ListAdapter(each.adapter, flags, pieces, next);
  return NO_ERROR;
}

NETIO_STATUS WINAPI FakeIpHelper::ForwardTable(ADDRESS_FAMILY family,
                                               PMIB_IPFORWARD_TABLE2* table) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  if (const DWORD code = self.Enter("GetIpForwardTable2")) return code;
  if (!table || (family != AF_INET && family != AF_INET6 && family != AF_UNSPEC))
    return ERROR_INVALID_PARAMETER;
  const std::vector<MIB_IPFORWARD_ROW2> all = self.AllRows(family);
  if (all.empty()) return ERROR_NOT_FOUND;  // "No IP route entries as specified"
  void* const memory =
      std::calloc(1, sizeof(MIB_IPFORWARD_TABLE2) + all.size() * sizeof(MIB_IPFORWARD_ROW2));
  *table = static_cast<PMIB_IPFORWARD_TABLE2>(memory);
  (*table)->NumEntries = static_cast<ULONG>(all.size());
  std::copy(all.begin(), all.end(), &(*table)->Table[0]);
  self.tables_.push_back(memory);
  return NO_ERROR;
}

void WINAPI FakeIpHelper::FreeTable(PVOID table) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  EXPECT_EQ(std::erase(self.tables_, table), 1u) << "a table that IP Helper did not make";
  std::free(table);
}

// Longest prefix, then the smallest sum of the route's and its interface's metric.
NETIO_STATUS WINAPI FakeIpHelper::BestRoute(NET_LUID*, NET_IFINDEX, const SOCKADDR_INET*,
                                            const SOCKADDR_INET* to, ULONG,
                                            PMIB_IPFORWARD_ROW2 best, SOCKADDR_INET* source) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  if (const DWORD code = self.Enter("GetBestRoute2")) return code;
  const std::optional<IpAddress> target = to ? AddressOf(*to) : std::nullopt;
  if (!target || !best || !source) return ERROR_INVALID_PARAMETER;
  bool found = false;
  std::pair<int, ULONG> rank;
  for (const MIB_IPFORWARD_ROW2& row : self.AllRows(to->si_family)) {
    const Entry* const entry = self.Find({}, row.InterfaceIndex);
    if (!entry || !entry->adapter.up || !PrefixOf(row).Contains(*target)) continue;
    const std::pair own(
        -static_cast<int>(row.DestinationPrefix.PrefixLength),
        row.Metric + (target->is_v4() ? entry->adapter.metric_v4 : entry->adapter.metric_v6));
    if (found && own >= rank) continue;
    found = true;
    rank = own;
    *best = row;
  }
  if (!found) return ERROR_NETWORK_UNREACHABLE;  // assumed: documented as "Other"
  const Entry& entry = *self.Find({}, best->InterfaceIndex);
  const std::optional<IpAddress> gateway = AddressOf(best->NextHop);
  const IpAddress via = gateway->IsUnspecified() ? *target : *gateway;
  for (const bool covering : {false, true}) {  // one whose prefix covers the next hop comes last
    for (const Address& each : entry.adapter.addresses) {
      if (each.address.family() == target->family() &&
          (!covering || IpPrefix::From(each.address, each.prefix_length)->Contains(via)))
        *source = SocketAddressOf(each.address);
    }
  }
  return NO_ERROR;
}

void WINAPI FakeIpHelper::InitializeRoute(PMIB_IPFORWARD_ROW2 row) {
  *row = {};
  row->ValidLifetime = row->PreferredLifetime = ~ULONG{0};
  row->Loopback = row->AutoconfigureAddress = row->Publish = row->Immortal = TRUE;
  row->SitePrefixLength = kNoSitePrefix;
  row->Metric = kNoMetric;
  row->Protocol = static_cast<NL_ROUTE_PROTOCOL>(0);
}

// Assumed: an illegal site prefix is ignored; callers that do not set it (as wireguard-windows) get
// their routes.
NETIO_STATUS WINAPI FakeIpHelper::CreateRoute(const MIB_IPFORWARD_ROW2* row) {
  FakeIpHelper& self = *the_fake;
  MIB_IPFORWARD_ROW2 made{};
  {
    const std::lock_guard lock(self.mutex_);
    if (const DWORD code = self.Enter("CreateIpForwardEntry2")) return code;
    DWORD code = ERROR_INVALID_PARAMETER;
    if (!row || row->PreferredLifetime > row->ValidLifetime) return code;
    if (row->SitePrefixLength != kNoSitePrefix &&
        row->SitePrefixLength > row->DestinationPrefix.PrefixLength)
      return code;
    if (self.FindRoute(*row, code)) return ERROR_OBJECT_ALREADY_EXISTS;
    const Entry* const entry = self.Find(row->InterfaceLuid, row->InterfaceIndex);
    if (!entry || code != ERROR_NOT_FOUND) return code;
    const std::optional<IpAddress> gateway = AddressOf(row->NextHop);
    if (self.refuses_far_gateways && !gateway->IsUnspecified() && !self.Covers(*entry, *gateway))
      return ERROR_BAD_ARGUMENTS;
    made = *row;
    made.InterfaceIndex = entry->adapter.index;
    made.InterfaceLuid = LuidOf(made.InterfaceIndex);
    made.Age = 0;
    made.Origin = NlroManual;
    if (made.ValidLifetime == 0) return NO_ERROR;  // its time is over
    self.rows_.push_back(made);
  }
  self.EmitRoute(made, MibAddInstance);
  return NO_ERROR;
}

NETIO_STATUS WINAPI FakeIpHelper::DeleteRoute(const MIB_IPFORWARD_ROW2* row) {
  FakeIpHelper& self = *the_fake;
  MIB_IPFORWARD_ROW2 gone{};
  {
    const std::lock_guard lock(self.mutex_);
    if (const DWORD code = self.Enter("DeleteIpForwardEntry2")) return code;
    DWORD code = NO_ERROR;
    const MIB_IPFORWARD_ROW2* const found = self.FindRoute(*row, code);
    if (!found) return code;
    gone = *found;
    self.rows_.remove_if([&](const MIB_IPFORWARD_ROW2& each) { return &each == found; });
  }
  self.EmitRoute(gone, MibDeleteInstance);
  return NO_ERROR;
}

NETIO_STATUS WINAPI FakeIpHelper::GetRoute(PMIB_IPFORWARD_ROW2 row) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  if (const DWORD code = self.Enter("GetIpForwardEntry2")) return code;
  DWORD code = NO_ERROR;
  if (const MIB_IPFORWARD_ROW2* const found = self.FindRoute(*row, code)) *row = *found;
  return code;
}

// "Age and Origin are ignored."
NETIO_STATUS WINAPI FakeIpHelper::SetRoute(const MIB_IPFORWARD_ROW2* row) {
  FakeIpHelper& self = *the_fake;
  MIB_IPFORWARD_ROW2 changed{};
  {
    const std::lock_guard lock(self.mutex_);
    if (const DWORD code = self.Enter("SetIpForwardEntry2")) return code;
    DWORD code = NO_ERROR;
    MIB_IPFORWARD_ROW2* const found = self.FindRoute(*row, code);
    if (!found) return code;
    const NL_ROUTE_ORIGIN origin = found->Origin;
    *found = *row;
    found->Origin = origin;
    changed = *found;
  }
  self.EmitRoute(changed, MibParameterNotification);
  return NO_ERROR;
}

void WINAPI FakeIpHelper::InitializeInterface(PMIB_IPINTERFACE_ROW row) { *row = {}; }

NETIO_STATUS WINAPI FakeIpHelper::GetInterface(PMIB_IPINTERFACE_ROW row) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  if (const DWORD code = self.Enter("GetIpInterfaceEntry")) return code;
  DWORD code = NO_ERROR;
  if (const MIB_IPINTERFACE_ROW* const found = self.FindRow(*row, code)) *row = *found;
  return code;
}

// "For IPv4, the SitePrefixLength member must be set to 0."
NETIO_STATUS WINAPI FakeIpHelper::SetInterface(PMIB_IPINTERFACE_ROW row) {
  FakeIpHelper& self = *the_fake;
  {
    const std::lock_guard lock(self.mutex_);
    if (const DWORD code = self.Enter("SetIpInterfaceEntry")) return code;
    DWORD code = NO_ERROR;
    MIB_IPINTERFACE_ROW* const found = self.FindRow(*row, code);
    if (!found) return code;
    if (row->Family == AF_INET && row->SitePrefixLength != 0) return ERROR_INVALID_PARAMETER;
    const ULONG site = row->Family == AF_INET ? found->SitePrefixLength : row->SitePrefixLength;
    *found = *row;
    found->SitePrefixLength = site;
  }
  self.EmitInterface(row->InterfaceIndex, row->Family);
  return NO_ERROR;
}

// "The PrefixOrigin, SuffixOrigin, ... ValidLifetime ... members are set": to for ever, unchanged.
void WINAPI FakeIpHelper::InitializeAddress(PMIB_UNICASTIPADDRESS_ROW row) {
  *row = {};
  row->PrefixOrigin = IpPrefixOriginUnchanged;
  row->SuffixOrigin = IpSuffixOriginUnchanged;
  row->ValidLifetime = row->PreferredLifetime = ~ULONG{0};
  row->OnLinkPrefixLength = 255;
}

NETIO_STATUS WINAPI FakeIpHelper::CreateAddress(const MIB_UNICASTIPADDRESS_ROW* row) {
  FakeIpHelper& self = *the_fake;
  Address added;
  NET_IFINDEX index = 0;
  {
    const std::lock_guard lock(self.mutex_);
    if (const DWORD code = self.Enter("CreateUnicastIpAddressEntry")) return code;
    Entry* const entry = self.Find(row->InterfaceLuid, row->InterfaceIndex);
    const auto address = AddressOf(row->Address);
    if (!entry) return ERROR_NOT_FOUND;
    if (!address || row->ValidLifetime == 0) return ERROR_INVALID_PARAMETER;
    for (const Address& each : entry->adapter.addresses)
      if (each.address == *address) return ERROR_OBJECT_ALREADY_EXISTS;
    added = {*address, row->OnLinkPrefixLength == 255 ? address->bits() : row->OnLinkPrefixLength};
    entry->adapter.addresses.push_back(added);
    index = entry->adapter.index;
  }
  self.EmitAddress(index, added, MibAddInstance);
  return NO_ERROR;
}

NETIO_STATUS WINAPI FakeIpHelper::LuidToGuid(const NET_LUID* luid, GUID* guid) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  const Entry* const entry = self.Find(*luid, 0);
  if (!entry) return ERROR_INVALID_PARAMETER;
  *guid = entry->adapter.guid;
  return NO_ERROR;
}

DWORD WINAPI FakeIpHelper::SetDns(GUID adapter, const DnsInterfaceSettings* settings) {
  FakeIpHelper& self = *the_fake;
  const std::lock_guard lock(self.mutex_);
  if (const DWORD code = self.Enter("SetInterfaceDnsSettings")) return code;
  if (settings->version != DnsInterfaceSettings::kVersion ||
      settings->flags != DnsInterfaceSettings::kNameServer)
    return ERROR_INVALID_PARAMETER;
  for (Entry& entry : self.entries_) {
    if (!::IsEqualGUID(entry.adapter.guid, adapter)) continue;
    entry.dns_servers = settings->name_server;
    return NO_ERROR;
  }
  return ERROR_FILE_NOT_FOUND;
}

NETIO_STATUS WINAPI FakeIpHelper::NotifyInterface(ADDRESS_FAMILY family,
                                                  PIPINTERFACE_CHANGE_CALLBACK callback,
                                                  PVOID context, BOOLEAN initial, HANDLE* handle) {
  return the_fake->Register("NotifyIpInterfaceChange",
                            {.family = family, .context = context, .on_interface = callback},
                            initial, handle);
}

NETIO_STATUS WINAPI FakeIpHelper::NotifyAddress(ADDRESS_FAMILY family,
                                                PUNICAST_IPADDRESS_CHANGE_CALLBACK callback,
                                                PVOID context, BOOLEAN initial, HANDLE* handle) {
  return the_fake->Register("NotifyUnicastIpAddressChange",
                            {.family = family, .context = context, .on_address = callback}, initial,
                            handle);
}

NETIO_STATUS WINAPI FakeIpHelper::NotifyRoute(ADDRESS_FAMILY family,
                                              PIPFORWARD_CHANGE_CALLBACK callback, PVOID context,
                                              BOOLEAN initial, HANDLE* handle) {
  return the_fake->Register("NotifyRouteChange2",
                            {.family = family, .context = context, .on_route = callback}, initial,
                            handle);
}

NETIO_STATUS WINAPI FakeIpHelper::CancelNotify(HANDLE handle) {
  FakeIpHelper& self = *the_fake;
  EXPECT_NE(handle, nullptr) << "ERROR_INVALID_PARAMETER";
  if (!handle) return ERROR_INVALID_PARAMETER;
  {
    const std::lock_guard lock(self.mutex_);
    ++self.calls_["CancelMibChangeNotify2"];
    self.cancel_waits_ = true;
  }
  const std::lock_guard notifying(self.notifying_);
  const std::lock_guard lock(self.mutex_);
  self.cancel_waits_ = false;
  EXPECT_EQ(self.registrations_.erase(handle), 1u) << "a handle that is not registered";
  return NO_ERROR;
}

}  // namespace weft::host
