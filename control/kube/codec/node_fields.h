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

  std::string_view own_name;  // given; empty: of no Node. Clear keeps it
  // status.addresses of the type InternalIP, the first ones, where NeedsAddresses.
  std::array<std::string_view, 8> internal_ips;
  std::size_t internal_ip_count = 0;

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
  // Whether status is read: of our own Node, and of one that has another public IP annotated, to
  // find out whether it is behind NAT. Name and annotations are stored before.
  bool NeedsAddresses() const;
  // Stores an entry of status.addresses if it is an InternalIP.
  void AddAddress(std::string_view type, std::string_view address);
};

}  // namespace weft::kube
