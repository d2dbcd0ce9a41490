// SPDX-License-Identifier: Apache-2.0
// The names of flannel's Node annotations with a configurable prefix, formed as in upstream
// v0.28.9.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::kube {

inline constexpr std::string_view kDefaultAnnotationPrefix = "flannel.alpha.coreos.com";

// Whole keys: "flannel.alpha.coreos.com/backend-data".
struct AnnotationKeys {
  // `prefix` as the --kube-annotation-prefix flag gives it: a DNS name of at least two labels,
  // optionally with one "/" and a word, lower case. Refuses what upstream refuses.
  static absl::StatusOr<AnnotationKeys> Of(std::string_view prefix);
  // The keys with kDefaultAnnotationPrefix.
  AnnotationKeys();

  std::string subnet_manager;
  std::string backend_type;
  std::string backend_data;
  std::string backend_v6_data;
  std::string public_ip;
  std::string public_ipv6;
  std::string node_public_ip;
  std::string node_public_ipv6;
  std::string public_ip_overwrite;
  std::string public_ipv6_overwrite;

 private:
  // `full` ends in "/" or "-".
  explicit AnnotationKeys(const std::string& full);
};

// One annotation: its member, its name after the prefix, and its meaning, without a full stop.
struct AnnotationRow {
  std::string AnnotationKeys::*key;
  std::string_view name;
  std::string_view help;
};
std::span<const AnnotationRow> AnnotationTable();

}  // namespace weft::kube
