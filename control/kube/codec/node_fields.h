// SPDX-License-Identifier: Apache-2.0
// The parts of a Node that a lease can depend on, as encoded: filled by a codec, interpreted by
// NodeReader. The rest of a Node is skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/kube/codec/annotation_keys.h"

namespace weft::kube {

// Views of the bytes that the codec decoded. Empty if absent.
struct NodeFields {
  std::string_view kind;
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
  std::int64_t created = 0;  // metadata.creationTimestamp, Unix seconds; zero if absent

  std::string_view pod_cidr;
  std::array<std::string_view, 2> pod_cidrs;  // the first ones
  std::size_t pod_cidr_count = 0;             // of podCIDRs, however many

  // The first entries of status.addresses that are IP addresses.
  struct Address {
    std::string_view text;
    bool internal = false;  // of the type InternalIP
  };
  std::array<Address, 16> addresses;
  std::size_t address_count = 0;
  // The condition Ready: "True", "False" or "Unknown", and lastTransitionTime, Unix seconds.
  std::string_view ready;
  std::int64_t ready_since = 0;

  // Annotations, by the names of AnnotationKeys.
  std::string_view subnet_manager;
  std::string_view backend_type;
  std::string_view backend_data;
  std::string_view backend_v6_data;
  std::string_view public_ip;
  std::string_view public_ipv6;
  std::string_view node_public_ip;
  std::string_view node_public_ipv6;
  std::string_view public_ip_overwrite;
  std::string_view public_ipv6_overwrite;

  // A sentence about a value of the wrong type; the field is then empty above.
  std::string problem;  // with the Node as a whole
  std::string created_problem;
  std::string pod_cidr_problem;

  void Clear();
  // Stores the annotation if a lease can depend on it. Of two with one key the last counts.
  void SetAnnotation(const AnnotationKeys& keys, std::string_view key, std::string_view value);
  // Stores an entry of status.addresses if it is an IP address.
  void AddAddress(std::string_view type, std::string_view address);
};

}  // namespace weft::kube
