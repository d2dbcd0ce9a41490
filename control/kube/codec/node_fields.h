// SPDX-License-Identifier: Apache-2.0
// What of a Node a lease can depend on, as its encoding wrote it: filled by a codec, understood by
// NodeReader. All else of a Node is stepped over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/kube/codec/annotation_keys.h"

namespace weft::kube {

// Views into what the codec decoded. Empty where absent.
struct NodeFields {
  std::string_view kind;
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
  std::int64_t created = 0;  // metadata.creationTimestamp, Unix seconds; zero if absent

  std::string_view pod_cidr;
  std::array<std::string_view, 2> pod_cidrs;  // the first ones
  std::size_t pod_cidr_count = 0;             // of podCIDRs, however many

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

  // What was of the wrong type, as a sentence; the field is then empty above.
  std::string problem;  // with the Node as a whole
  std::string created_problem;
  std::string pod_cidr_problem;

  void Clear();
  // Takes the annotation if a lease can depend on it. Of two with one key the last counts.
  void SetAnnotation(const AnnotationKeys& keys, std::string_view key, std::string_view value);
};

}  // namespace weft::kube
