// SPDX-License-Identifier: Apache-2.0
#include "control/host/kernel_device_linux.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "control/host/netlink_linux.h"

namespace weft::host {
namespace {

template <std::size_t kMax>
NetlinkAttributes<kMax> Nested(const nlattr* nest) {
  return NetlinkAttributes<kMax>(mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest));
}

KernelDevice DeviceOf(const nlmsghdr& message) {
  const auto* link = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
  const NetlinkAttributes<IFLA_LINKINFO> attributes(message, sizeof *link);
  KernelDevice device;
  device.index = static_cast<std::uint32_t>(link->ifi_index);
  if (attributes[IFLA_IFNAME]) device.name = mnl_attr_get_str(attributes[IFLA_IFNAME]);
  if (!attributes[IFLA_LINKINFO]) return device;
  const auto info = Nested<IFLA_INFO_DATA>(attributes[IFLA_LINKINFO]);
  if (info[IFLA_INFO_KIND]) device.kind = mnl_attr_get_str(info[IFLA_INFO_KIND]);
  if (device.kind != "vxlan" || !info[IFLA_INFO_DATA]) return device;
  const auto vxlan = Nested<IFLA_VXLAN_PORT>(info[IFLA_INFO_DATA]);
  device.vni = vxlan.U32(IFLA_VXLAN_ID);
  if (vxlan[IFLA_VXLAN_PORT]) device.port = ntohs(mnl_attr_get_u16(vxlan[IFLA_VXLAN_PORT]));
  return device;
}

}  // namespace

absl::StatusOr<std::vector<KernelDevice>> KernelDevices() {
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open();
  if (!socket.ok()) return socket.status();
  std::vector<KernelDevice> devices;
  NetlinkRequest request(RTM_GETLINK, 0);
  request.Extra<ifinfomsg>();
  const absl::Status status = socket->Dump(
      request, [&] { devices.clear(); },
      [&](const nlmsghdr& message) {
        if (message.nlmsg_type == RTM_NEWLINK) devices.push_back(DeviceOf(message));
      });
  if (!status.ok()) return status;
  return devices;
}

absl::Status DeleteKernelDevice(const KernelDevice& device) {
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open();
  if (!socket.ok()) return socket.status();
  NetlinkRequest request(RTM_DELLINK, 0);
  request.Extra<ifinfomsg>()->ifi_index = static_cast<int>(device.index);
  const NetlinkAnswer answer = socket->Change({&request, 1}).front();
  if (answer.error == ENODEV) return absl::OkStatus();
  return absl::ErrnoToStatus(  // OK for zero
      answer.error,
      absl::StrCat("cannot delete the kernel's device ", device.name,
                   answer.error == EPERM ? "; run as root or with CAP_NET_ADMIN" : ""));
}

}  // namespace weft::host
