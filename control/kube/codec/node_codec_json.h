// SPDX-License-Identifier: Apache-2.0
// Reads leases from a file of Kubernetes Nodes in JSON. Any broken text is refused without other
// effects.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/node_reader.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"
#include "control/lease/source.h"

namespace weft::kube {

struct DecodedNodes {
  std::vector<lease::Lease> leases;  // in the list's order
  std::vector<lease::RefusedNode> refused;
  std::size_t not_managed = 0;
  std::vector<lease::NotJoinedNode> not_joined;  // those
  std::optional<lease::OwnNode> own;
};

// A value; any thread, one at a time.
class NodeJsonCodec {
 public:
  // `own_node_name` empty: no Node is ours.
  explicit NodeJsonCodec(AnnotationKeys keys = {}, std::string own_node_name = {});

  // Reads the output of `kubectl get nodes -o json`: an object with "items"; also a bare array of
  // Nodes, or one Node. An error, with the position if it is known, if the text is none of these or
  // not JSON; a Node that cannot be read is refused by name, and the others are read. Of two Nodes
  // with one name the last is used, and the name is also reported as refused. At most 4 GiB.
  absl::StatusOr<DecodedNodes> DecodeNodeList(std::string_view text) const;

 private:
  NodeReader reader_;
};

}  // namespace weft::kube
