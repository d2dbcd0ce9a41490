// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/backend/userspace/pod_device.h"
#include "control/host/kernel_device_linux.h"
#include "control/log.h"
#include "dataplane/ports/tun_port.h"

namespace weft::backend {
namespace {

// /proc/net/snmp: a line of names, then a line of values, each beginning with the protocol.
// /proc/net/snmp6: a line for each, "Udp6InCsumErrors 0".
std::optional<std::uint64_t> UdpValue(IpFamily family, std::string_view name) {
  std::string names, values;
  if (family == IpFamily::kV6) {
    std::ifstream in("/proc/self/net/snmp6");
    std::uint64_t number = 0;
    while (in >> names >> number)
      if (names == absl::StrCat("Udp6", name)) return number;
    return std::nullopt;
  }
  std::ifstream in("/proc/self/net/snmp");
  while (std::getline(in, names) && std::getline(in, values)) {
    if (!absl::StartsWith(names, "Udp:")) continue;
    const std::vector<std::string_view> keys = absl::StrSplit(names, ' ');
    const std::vector<std::string_view> numbers = absl::StrSplit(values, ' ');
    for (std::size_t i = 0; i < keys.size() && i < numbers.size(); ++i) {
      std::uint64_t number = 0;
      if (keys[i] == name && absl::SimpleAtoi(numbers[i], &number)) return number;
    }
  }
  return std::nullopt;
}

// proc(5), /proc/net/dev: "name: bytes packets errs drop ..." received, then eight columns likewise
// transmitted; seen from the kernel, which transmits to us. Unlike /sys it is always the one of our
// own network namespace.
std::vector<dataplane::NamedCount> DeviceCounts(const std::string& name) {
  std::vector<dataplane::NamedCount> counts;
  std::ifstream in("/proc/self/net/dev");
  for (std::string line; std::getline(in, line);) {
    std::string_view rest = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&rest, name) || !absl::ConsumePrefix(&rest, ":")) continue;
    const std::vector<std::string_view> columns = absl::StrSplit(rest, ' ', absl::SkipEmpty());
    constexpr std::pair<std::size_t, std::string_view> kColumns[] = {{2, "device-rx-errors"},
                                                                     {3, "device-rx-dropped"},
                                                                     {10, "device-tx-errors"},
                                                                     {11, "device-tx-dropped"}};
    for (const auto& [column, label] : kColumns) {
      std::uint64_t value = 0;
      if (column < columns.size() && absl::SimpleAtoi(columns[column], &value)) {
        counts.push_back({std::string(label), value});
      }
    }
  }
  return counts;
}

}  // namespace

absl::StatusOr<bool> ClearName(const std::string& name, Vni vni, bool replace) {
  const absl::StatusOr<std::vector<host::KernelDevice>> devices = host::KernelDevices();
  if (!devices.ok()) return devices.status();
  const auto device = std::find_if(devices->begin(), devices->end(),
                                   [&](const auto& each) { return each.name == name; });
  // A tun device is another flanneld's: the UDP port reports it.
  if (device == devices->end() || device->kind == "tun") return false;
  const std::string remedy = absl::StrCat(
      "delete it once the program that created it has stopped (ip link delete ", name, ")");
  if (device->kind != "vxlan") {
    return absl::UnavailableError(
        absl::StrCat("device ", name, " is foreign (",
                     device->kind.empty() ? "hardware" : absl::StrCat("kind ", device->kind),
                     ") and has the name of this node's tunnel: rename it, or ", remedy));
  }
  if (device->vni != vni.value()) {
    return absl::UnavailableError(
        absl::StrCat("device ", name, " is a vxlan device of the kernel with VNI ", device->vni,
                     ", not ", vni.value(), ", and has the name of this node's tunnel: ", remedy));
  }
  if (!replace) {
    return absl::UnavailableError(absl::StrCat(
        "device ", name, " is a vxlan device of the kernel (VNI ", device->vni, ", UDP port ",
        device->port, "), as upstream flannel leaves it, and has the name of this node's tunnel: ",
        remedy, ", or start flanneld with --replace-kernel-device"));
  }
  if (absl::Status status = host::DeleteKernelDevice(*device); !status.ok()) return status;
  return true;
}

std::string PortHolders(std::uint16_t port) {
  const absl::StatusOr<std::vector<host::KernelDevice>> devices = host::KernelDevices();
  std::string holders;
  if (!devices.ok()) return holders;
  for (const host::KernelDevice& device : *devices) {
    if (device.kind != "vxlan" || device.port != port) continue;
    absl::StrAppend(&holders, holders.empty() ? "" : ", ", "device ", device.name,
                    " of the kernel (VNI ", device.vni, ")");
  }
  return holders;
}

absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> OpenTapDevice(const std::string& name) {
  return dataplane::TapPort::Open({.name = name});
}

absl::StatusOr<PodPorts> OpenTunDevice(const std::string& name, int workers) {
  auto ports = dataplane::TunPort::OpenAll({.name = name}, static_cast<std::size_t>(workers));
  if (!ports.ok()) return ports.status();
  if (!ports->front()->steers_by_source()) {
    control::LogWarning(absl::StrCat(
        name,
        ": the kernel refuses BPF (CAP_BPF), so queues are chosen by flow, and a pod with many "
        "flows can starve the other pods; grant flanneld CAP_BPF"));
  }
  return PodPorts(std::move_iterator(ports->begin()), std::move_iterator(ports->end()));
}

std::vector<dataplane::NamedCount> KernelCounts(const std::string& name, IpFamily family) {
  std::vector<dataplane::NamedCount> counts = DeviceCounts(name);
  if (const auto errors = UdpValue(family, "InCsumErrors"))
    counts.push_back({"udp-checksum-errors", *errors});
  return counts;
}

std::optional<std::uint64_t> HostOverflows(IpFamily family) {
  const auto full = UdpValue(family, "RcvbufErrors"), memory = UdpValue(family, "MemErrors");
  return full ? std::optional(*full + memory.value_or(0)) : std::nullopt;
}

}  // namespace weft::backend
