// SPDX-License-Identifier: Apache-2.0
// Reads what is needed of Pods, of the annotations of one object, and of a bearer token.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::kube {

// metadata.annotations of an object in JSON, all of them; none if it has none. An error names what
// is wrong.
absl::StatusOr<std::map<std::string, std::string>> DecodeAnnotations(std::string_view text);

// spec.nodeName of a Pod in JSON. An error names what is wrong; kNotFound: the pod is not scheduled
// to a node yet.
absl::StatusOr<std::string> DecodePodNodeName(std::string_view pod);

// What a drain needs to know of a Pod.
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

// The claim `exp` of a JSON Web Token (RFC 7519), as service account tokens are, in Unix seconds.
// The signature is not verified: for messages. Empty: another token, or no such claim.
std::optional<std::int64_t> DecodeTokenExpiry(std::string_view token);

}  // namespace weft::kube
