// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/net_conf_check.h"

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/log.h"
#include "control/sources/file_stamp.h"

namespace weft::daemon {

std::string NetConfFile::Read() {
  constexpr std::string_view kStays = "; the configuration read at start stays in force";
  // First, because opening a FIFO would wait for its writer.
  const auto stamp = control::StampOf(control::PathOf(path_));
  if (!stamp.ok())
    return absl::StrCat("net-conf ", path_, " ", stamp.status().message(), kStays,
                        "; put the file back");
  absl::StatusOr<control::NetConf> now = control::LoadNetConf(path_, running_.defaults);
  if (!now.ok()) return absl::StrCat(now.status().message(), kStays);
  if (now->network) v4_ = now->network;
  if (now->ipv6_network) v6_ = now->ipv6_network;
  if (running_.ipv6_left_out) control::LeaveOutIPv6(*now);
  now->notes = running_.notes;  // a key that is not used changes nothing
  if (*now == running_) return "";
  return absl::StrCat("net-conf ", path_, " differs from the running configuration", kStays,
                      "; restart flanneld to apply it");
}

void NetConfFile::Poll() {
  const bool differed = !condition_.text().empty();
  condition_.Set(Read());
  if (differed && condition_.text().empty())
    control::LogInfo(absl::StrCat("net-conf ", path_, " matches the running configuration again"));
}

std::string VniCondition(const control::NetConf& conf, const lease::LeaseTable& table,
                         bool in_sync) {
  if (conf.type != control::BackendType::kVxlan || !in_sync) return "";
  // In most clusters the VNIs agree, and copying the rows of a large one is expensive.
  std::size_t mismatches = 0;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const lease::StateCounts counts = table.Counts(family);
    if (counts[static_cast<std::size_t>(lease::PeerState::kUsable)] != 0) return "";
    mismatches += counts[static_cast<std::size_t>(lease::PeerState::kVniMismatch)];
  }
  if (mismatches == 0) return "";
  std::size_t nodes = 0;
  std::string example;
  std::uint32_t other_vni = 0;
  std::string last;
  for (const lease::LeaseRow& row : table.Rows()) {
    if (row.state == lease::PeerState::kSelf || !row.lease.vni) continue;
    if (*row.lease.vni == conf.vni.value()) return "";
    if (row.node.name == last) continue;  // its other family
    last = row.node.name;
    if (nodes++ != 0) continue;
    example = row.node.name;
    other_vni = *row.lease.vni;
  }
  return absl::StrCat("our VNI ", conf.vni.value(), " is used by none of the ", nodes,
                      nodes == 1 ? " other node" : " other nodes", " (", example, " publishes ",
                      other_vni,
                      "), so none is reached: write the same Backend.VNI and Backend.Port ",
                      "in net-conf.json for all nodes");
}

}  // namespace weft::daemon
