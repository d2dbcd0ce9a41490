// SPDX-License-Identifier: Apache-2.0
// One Node's JSON object read field by field, for node_codec_json.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/annotation_keys.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"
#include "simdjson.h"

namespace weft::kube {

// Views into the parser's document: it outlives the reader.
class NodeReader {
 public:
  // Reads name, UID and annotations; an error names field and value. `name` is set whenever the
  // Node has one that can be shown.
  static absl::StatusOr<NodeReader> Of(simdjson::dom::element node, const AnnotationKeys& keys,
                                       std::string& name);

  const lease::NodeKey& node() const { return key_; }
  // kube-subnet-manager is "true", the only value that upstream takes.
  bool managed() const { return Annotation(keys_->subnet_manager) == "true"; }
  // Refuses the whole Node for one unreadable field of a family that it has a podCIDR of.
  absl::StatusOr<lease::Lease> ReadLease() const;
  // Never fails: what cannot be read is absent and among `problems`.
  lease::OwnNode ReadOwn() const;

 private:
  struct PodCidrs {
    std::optional<IpPrefix> v4, v6;
  };
  struct FamilyKeys {
    const std::string& data;
    const std::string& public_ip;
    const std::string& node_public_ip;
    const std::string& overwrite;
  };

  NodeReader(const AnnotationKeys& keys, simdjson::dom::object node) : keys_(&keys), node_(node) {}
  std::string_view Annotation(const std::string& key) const;
  FamilyKeys KeysOf(IpFamily family) const;
  absl::StatusOr<PodCidrs> ReadPodCidrs() const;
  absl::StatusOr<std::int64_t> ReadCreated() const;
  absl::StatusOr<std::optional<IpAddress>> ReadPublicIp(IpFamily family) const;
  absl::StatusOr<lease::FamilyLease> ReadFamily(const IpPrefix& subnet) const;
  lease::OwnNodeFamily ReadOwnFamily(IpFamily family, std::vector<std::string>& problems) const;

  const AnnotationKeys* keys_;
  simdjson::dom::object node_;
  simdjson::dom::object metadata_;
  lease::NodeKey key_;
  absl::flat_hash_map<std::string_view, std::string_view> annotations_;
};

}  // namespace weft::kube
