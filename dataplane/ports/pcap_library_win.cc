// SPDX-License-Identifier: Apache-2.0
#include <windows.h>
#include <winsock2.h>

#include <iphlpapi.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/pcap_library.h"
#include "vxlan/text/utf16_win.h"

namespace weft::dataplane {
namespace {

std::wstring SystemFolder() {
  std::wstring folder(MAX_PATH, L'\0');
  folder.resize(::GetSystemDirectoryW(folder.data(), static_cast<UINT>(folder.size())));
  return folder;
}

}  // namespace

absl::StatusOr<PcapLibrary> OpenPcapLibrary() {
  // Npcap's own folder, whose Packet.dll must be found too; system32 where Npcap was installed to
  // stand in for WinPcap.
  HMODULE library =
      ::LoadLibraryExW((SystemFolder() + L"\\Npcap\\wpcap.dll").c_str(), nullptr,
                       LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
  if (!library) library = ::LoadLibraryExW(L"wpcap.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
  if (!library) {
    return absl::UnavailableError(
        "Npcap is not installed on this machine (there is no wpcap.dll); install it from "
        "https://npcap.com");
  }
  absl::StatusOr<PcapLibrary> functions = PcapLibrary::From([library](const char* name) {
    return reinterpret_cast<void*>(::GetProcAddress(library, name));
  });
  if (functions.ok()) return functions;
  return absl::UnavailableError(
      absl::StrCat("this machine's wpcap.dll cannot be used: ", functions.status().message()));
}

void MakeSendNonblocking(const PcapLibrary&, PcapHandle*) {}

absl::StatusOr<std::string> PcapNameOf(const std::string& adapter) {
  constexpr ULONG kFlags = GAA_FLAG_SKIP_UNICAST | GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST |
                           GAA_FLAG_SKIP_DNS_SERVER;
  std::vector<std::byte> buffer(64 * 1024);
  auto size = static_cast<ULONG>(buffer.size());
  auto* row = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data());
  ULONG code = ::GetAdaptersAddresses(AF_UNSPEC, kFlags, nullptr, row, &size);
  if (code == ERROR_BUFFER_OVERFLOW) {
    buffer.resize(2 * size);  // it may have grown
    size = static_cast<ULONG>(buffer.size());
    row = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data());
    code = ::GetAdaptersAddresses(AF_UNSPEC, kFlags, nullptr, row, &size);
  }
  if (code != NO_ERROR)
    return absl::UnavailableError(absl::StrCat("cannot list the adapters: error ", code));
  std::string names;
  for (; row; row = row->Next) {
    const std::string name = Utf8(row->FriendlyName);
    if (name == adapter) return absl::StrCat("\\Device\\NPF_", row->AdapterName);
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  }
  return absl::NotFoundError(
      absl::StrCat("adapter ", adapter, " does not exist; this host has ", names));
}

}  // namespace weft::dataplane
