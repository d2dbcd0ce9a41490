// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/node_fields.h"

#include <utility>

namespace weft::kube {
namespace {

// The most frequent ones first.
constexpr std::pair<std::string AnnotationKeys::*, std::string_view NodeFields::*> kAnnotations[] =
    {
        {&AnnotationKeys::subnet_manager, &NodeFields::subnet_manager},
        {&AnnotationKeys::backend_type, &NodeFields::backend_type},
        {&AnnotationKeys::backend_data, &NodeFields::backend_data},
        {&AnnotationKeys::backend_v6_data, &NodeFields::backend_v6_data},
        {&AnnotationKeys::public_ip, &NodeFields::public_ip},
        {&AnnotationKeys::public_ipv6, &NodeFields::public_ipv6},
        {&AnnotationKeys::node_public_ip, &NodeFields::node_public_ip},
        {&AnnotationKeys::node_public_ipv6, &NodeFields::node_public_ipv6},
        {&AnnotationKeys::public_ip_overwrite, &NodeFields::public_ip_overwrite},
        {&AnnotationKeys::public_ipv6_overwrite, &NodeFields::public_ipv6_overwrite},
};

}  // namespace

// The strings keep their memory.
void NodeFields::Clear() {
  kind = name = uid = resource_version = pod_cidr = ready = {};
  created = ready_since = 0;
  pod_cidrs = {};
  pod_cidr_count = address_count = 0;
  for (const auto& [key, value] : kAnnotations) this->*value = {};
  problem.clear();
  created_problem.clear();
  pod_cidr_problem.clear();
}

void NodeFields::SetAnnotation(const AnnotationKeys& keys, std::string_view key,
                               std::string_view value) {
  for (const auto& [desired, field] : kAnnotations) {
    if (key == keys.*desired) {
      this->*field = value;
      return;
    }
  }
}

void NodeFields::AddAddress(std::string_view type, std::string_view address) {
  const bool internal = type == "InternalIP";
  if ((internal || type == "ExternalIP") && address_count < addresses.size())
    addresses[address_count++] = {address, internal};
}

}  // namespace weft::kube
