// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/net_conf_trouble.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/sources/file_stamp.h"

namespace weft::daemon {

std::string NetConfTrouble(const std::string& path, const control::NetConf& running) {
  constexpr std::string_view kStays = "; the configuration read at start stays in force";
  // First, because opening a FIFO would wait for its writer.
  const auto stamp = control::StampOf(control::PathOf(path));
  if (!stamp.ok())
    return absl::StrCat("net-conf ", path, " ", stamp.status().message(), kStays,
                        "; put the file back");
  absl::StatusOr<control::NetConf> now = control::LoadNetConf(path, running.defaults);
  if (!now.ok()) return absl::StrCat(now.status().message(), kStays);
  if (running.ipv6_left_out) control::LeaveOutIPv6(*now);
  now->notes = running.notes;  // a key that is not used changes nothing
  if (*now == running) return "";
  return absl::StrCat("net-conf ", path, " differs from the running configuration", kStays,
                      "; restart flanneld to apply it");
}

}  // namespace weft::daemon
