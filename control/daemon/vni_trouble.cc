// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/vni_trouble.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace weft::daemon {

std::string VniTrouble(const control::NetConf& conf, const lease::LeaseTable& table, bool in_sync) {
  if (conf.type != control::BackendType::kVxlan || !in_sync) return "";
  // Most clusters agree, and the rows of a large one are not to be copied for nothing.
  std::size_t mismatches = 0;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const lease::StateCounts counts = table.Counts(family);
    if (counts[static_cast<std::size_t>(lease::PeerState::kUsable)] != 0) return "";
    mismatches += counts[static_cast<std::size_t>(lease::PeerState::kVniMismatch)];
  }
  if (mismatches == 0) return "";
  std::size_t nodes = 0;
  std::string example;
  std::uint32_t theirs = 0;
  std::string last;
  for (const lease::LeaseRow& row : table.Rows()) {
    if (row.state == lease::PeerState::kSelf || !row.lease.vni) continue;
    if (*row.lease.vni == conf.vni.value()) return "";
    if (row.node.name == last) continue;  // its other family
    last = row.node.name;
    if (nodes++ != 0) continue;
    example = row.node.name;
    theirs = *row.lease.vni;
  }
  return absl::StrCat("our VNI ", conf.vni.value(), " is used by none of the ", nodes,
                      nodes == 1 ? " other node" : " other nodes", " (", example, " publishes ",
                      theirs, "), so none is reached: write the same Backend.VNI and Backend.Port ",
                      "in net-conf.json for all nodes");
}

}  // namespace weft::daemon
