// SPDX-License-Identifier: Apache-2.0
// Interprets a Node's fields as a lease (upstream v0.28.9), independent of the encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/node_fields.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"

namespace weft::kube {

struct DecodedNode {
  enum class Kind : std::uint8_t {
    kLease,
    kNotManaged,  // no kube-subnet-manager "true": no lease, and not an error
    kRefused,
  };
  Kind kind = Kind::kNotManaged;
  lease::Lease lease;   // kLease: complete; otherwise only `node`, its name empty if unreadable
  std::string refusal;  // kRefused, lease.unread: the reason; kNotManaged: what is missing
  std::optional<lease::OwnNode> own;  // if it is our own Node, whatever `kind` is
};

// A value. Its results depend on its arguments only.
class NodeReader {
 public:
  // `own_node_name` empty: no Node is ours.
  NodeReader(AnnotationKeys keys, std::string own_node_name);

  const AnnotationKeys& keys() const { return keys_; }
  const std::string& own_node_name() const { return own_node_name_; }
  // Overwrites `node`, keeping the memory of its strings. An unreadable field of a family that has
  // a podCIDR refuses that half, and the Node if it has no other one; the reason names field and
  // value.
  void Read(const NodeFields& fields, DecodedNode& node) const;

 private:
  struct PodCidrs {
    std::optional<IpPrefix> v4, v6;
  };
  // One family's annotations: values, and the keys for messages.
  struct Half;

  Half HalfOf(const NodeFields& fields, IpFamily family) const;
  absl::Status ReadName(const NodeFields& fields, lease::NodeKey& key) const;
  // An error with `lease.unread` set is that half's alone.
  absl::Status ReadLease(const NodeFields& fields, lease::Lease& lease) const;
  // Never fails: an unreadable field is absent and among the problems.
  lease::OwnNode ReadOwn(const NodeFields& fields, const lease::NodeKey& key) const;
  static absl::StatusOr<PodCidrs> ReadPodCidrs(const NodeFields& fields);
  static absl::StatusOr<std::optional<IpAddress>> ReadPublicIp(const Half& half, IpFamily family);
  absl::Status ReadFamily(const NodeFields& fields, const IpPrefix& subnet,
                          std::optional<lease::FamilyLease>& into) const;
  lease::OwnNodeFamily ReadOwnFamily(const NodeFields& fields, IpFamily family,
                                     std::vector<std::string>& problems) const;

  AnnotationKeys keys_;
  std::string own_node_name_;
};

}  // namespace weft::kube
