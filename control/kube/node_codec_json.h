// SPDX-License-Identifier: Apache-2.0
// Leases out of Kubernetes Nodes in JSON (upstream v0.28.9). No text, however
// broken, does more than be refused.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "control/kube/annotation_keys.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"
#include "control/lease/source.h"

namespace weft::kube {

// A Node without kube-subnet-manager "true": no lease, and nothing wrong with it.
struct NotManaged {
  lease::NodeKey node;
};

struct DecodedNode {
  std::variant<lease::Lease, NotManaged, lease::RefusedNode> node;
  std::optional<lease::OwnNode> own;  // when it is the Node we asked for, whatever `node` is
};

struct DecodedNodes {
  std::vector<lease::Lease> leases;  // in the list's order
  std::vector<lease::RefusedNode> refused;
  std::size_t not_managed = 0;
  std::optional<lease::OwnNode> own;
};

// A value; any thread, one at a time.
class NodeJsonCodec {
 public:
  // `own_node_name` empty: no Node is ours.
  explicit NodeJsonCodec(AnnotationKeys keys = {}, std::string own_node_name = {});

  // What `kubectl get nodes -o json` prints: an object with "items"; also a bare array of Nodes, or
  // one Node. An error (with the position where it can be told) when it is none of these or not
  // JSON; a Node that cannot be read is refused by name and the others live. Of two Nodes with one
  // name the last wins, and the name is refused beside it. At most 4 GiB.
  absl::StatusOr<DecodedNodes> DecodeNodeList(std::string_view text) const;

  // One Node object, cut from a list or watch stream. Never fails: text that is no Node comes back
  // refused.
  DecodedNode DecodeNode(std::string_view text) const;

 private:
  AnnotationKeys keys_;
  std::string own_node_name_;
};

}  // namespace weft::kube
