// SPDX-License-Identifier: Apache-2.0
#include "control/host/forwarding_linux.h"

#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "control/host/system_file_linux.h"

namespace weft::host {
namespace {

absl::StatusOr<std::string> PathOf(std::uint32_t adapter_index, IpFamily family) {
  std::array<char, IF_NAMESIZE> name{};
  if (::if_indextoname(adapter_index, name.data()) == nullptr)
    return absl::NotFoundError("there is no such adapter");
  return absl::StrCat("/proc/sys/net/", family == IpFamily::kV4 ? "ipv4" : "ipv6", "/conf/",
                      name.data(), "/forwarding");
}

absl::Status Failed(std::string_view verb, std::uint32_t adapter_index, std::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", verb, " forwarding of adapter ", adapter_index, ": ", why));
}

}  // namespace

absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) {
  const absl::StatusOr<std::string> path = PathOf(adapter_index, family);
  if (!path.ok()) return Failed("set", adapter_index, path.status().message());
  errno = 0;
  std::ofstream file(*path);
  file << (on ? '1' : '0') << std::flush;
  if (file.good()) return absl::OkStatus();
  return Failed(
      "set", adapter_index,
      absl::StrCat(*path, ": ", std::strerror(errno), "; run as root, or set it by sysctl"));
}

absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) {
  const absl::StatusOr<std::string> path = PathOf(adapter_index, family);
  if (!path.ok()) return Failed("read", adapter_index, path.status().message());
  const absl::StatusOr<std::string> text = ReadSystemFile(*path);
  if (!text.ok()) return Failed("read", adapter_index, text.status().message());
  if (text->empty()) return Failed("read", adapter_index, absl::StrCat(*path, " is empty"));
  return text->front() != '0';
}

}  // namespace weft::host
