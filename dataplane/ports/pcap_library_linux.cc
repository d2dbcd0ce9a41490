// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <net/if.h>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/pcap_library.h"

namespace weft::dataplane {

absl::StatusOr<PcapLibrary> OpenPcapLibrary() {
  // Debian's name, and that of the systems that follow libpcap's own version.
  void* library = nullptr;
  for (const char* const name : {"libpcap.so.0.8", "libpcap.so.1"}) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // never unloaded
    if (library) break;
  }
  if (!library) {
    return absl::UnavailableError(
        "libpcap is not installed on this machine; install it (Debian: apt-get install libpcap0.8, "
        "Fedora: dnf install libpcap)");
  }
  absl::StatusOr<PcapLibrary> functions =
      PcapLibrary::From([library](const char* name) { return ::dlsym(library, name); });
  if (functions.ok()) return functions;
  return absl::UnavailableError(
      absl::StrCat("this machine's libpcap cannot be used: ", functions.status().message()));
}

void MakeSendNonblocking(const PcapLibrary& library, PcapHandle* handle) {
  const int descriptor = library.get_selectable_fd ? library.get_selectable_fd(handle) : -1;
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

absl::StatusOr<std::string> PcapNameOf(const std::string& adapter) {
  if (::if_nametoindex(adapter.c_str()) != 0) return adapter;
  std::string names;
  if (struct if_nameindex* const all = ::if_nameindex()) {
    for (const auto* each = all; each->if_index != 0; ++each)
      absl::StrAppend(&names, names.empty() ? "" : ", ", each->if_name);
    ::if_freenameindex(all);
  }
  return absl::NotFoundError(
      absl::StrCat("adapter ", adapter, " does not exist; this host has ", names));
}

}  // namespace weft::dataplane
