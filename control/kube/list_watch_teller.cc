// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_teller.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace weft::kube {

NodeTeller::NodeTeller(bool has_own_name, lease::SourceListener& listener)
    : listener_(&listener), has_own_name_(has_own_name) {}

void NodeTeller::BeginSnapshot() {
  in_snapshot_ = true;
  position_ = 0;
  own_seen_ = false;
  listener_->OnSnapshotBegin();
}

void NodeTeller::Tell(NodeChange change, const DecodedNode& node) {
  ++position_;
  const lease::NodeKey& key = node.lease.node;
  if (change == NodeChange::kDeleted) {
    // Our name may be another Node's by now.
    if (node.own && own_ && *own_ && (*own_)->node == node.own->node) {
      own_seen_ = false;
      TellOwn(std::nullopt);
    }
    if (!key.name.empty()) listener_->OnDelete(key);
    return;
  }
  if (node.own) {
    own_seen_ = true;
    TellOwn(node.own);
  }
  switch (node.kind) {
    case DecodedNode::Kind::kLease:
      listener_->OnUpsert(node.lease);
      break;
    case DecodedNode::Kind::kRefused:
      listener_->OnRefused(
          {key.name.empty() ? absl::StrCat("#", position_) : key.name, node.refusal, key.uid});
      break;
    case DecodedNode::Kind::kNotManaged:
      // It may have been one, unless the snapshot names it for the first time.
      if (!in_snapshot_ || change == NodeChange::kModified) listener_->OnDelete(key);
      listener_->OnNotJoined({key, node.refusal});
      break;
  }
}

void NodeTeller::EndSnapshot() {
  if (has_own_name_ && !own_seen_) TellOwn(std::nullopt);
  in_snapshot_ = false;
  listener_->OnSnapshotEnd();
}

void NodeTeller::TellOwn(const std::optional<lease::OwnNode>& node) {
  if (own_ && *own_ == node) return;
  own_ = node;
  listener_->OnOwnNode(node);
}

}  // namespace weft::kube
