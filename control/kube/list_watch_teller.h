// SPDX-License-Identifier: Apache-2.0
// The Nodes of an answer, as a lease::SourceListener is to hear of them.
#pragma once

#include <cstddef>
#include <optional>

#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/decoded_node.h"
#include "control/lease/own_node.h"
#include "control/lease/source.h"

namespace weft::kube {

// One thread. What leases the nodes of a snapshot had that no flannel manages now, its end sweeps
// away.
class NodeTeller {
 public:
  // `has_own_name`: there is a Node to look out for. `listener` outlives the teller.
  NodeTeller(bool has_own_name, lease::SourceListener& listener);

  // The first answer of a snapshot begins.
  void BeginSnapshot();
  void Tell(NodeChange change, const DecodedNode& node);
  void EndSnapshot();

  // A snapshot has begun, told of Nodes, and not ended.
  bool half_told() const { return in_snapshot_ && position_ > 0; }

 private:
  void TellOwn(const std::optional<lease::OwnNode>& node);

  lease::SourceListener* listener_;
  bool has_own_name_;
  bool in_snapshot_ = false;
  std::size_t position_ = 0;  // Nodes since the snapshot's begin: names those without a name
  bool own_seen_ = false;     // in this snapshot
  // What was told last, if anything was.
  std::optional<std::optional<lease::OwnNode>> own_;
};

}  // namespace weft::kube
