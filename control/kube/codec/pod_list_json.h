// SPDX-License-Identifier: Apache-2.0
// Reads what a drain needs to know of a list of Pods.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::kube {

struct ListedPod {
  std::string name;           // "NAMESPACE/NAME"
  bool host_network = false;  // also every HostProcess pod of Windows
  bool daemon_set = false;    // its controller is a DaemonSet
  bool mirror = false;        // of a static pod
  bool terminated = false;    // Succeeded or Failed: its containers have ended
  friend bool operator==(const ListedPod&, const ListedPod&) = default;
};

struct ListedPods {
  std::vector<ListedPod> pods;
  std::string next;  // metadata.continue; empty: the list is complete
};

// A page of a PodList in JSON. A Pod of which a field cannot be read fails the list, because it
// might be one that counts.
absl::StatusOr<ListedPods> DecodePodList(std::string_view list);

}  // namespace weft::kube
