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
  going_.clear();
  own_seen_ = false;
  listener_->OnSnapshotBegin();
}

void NodeTeller::Tell(NodeChange change, const DecodedNode& node) {
  ++position_;
  const lease::NodeKey& key = node.lease.node;
  if (change == NodeChange::kDeleted) {
    if (node.own) own_seen_ = false;
    // The one of that name may be another by now.
    if (!in_snapshot_ && node.own && own_ && *own_ && (*own_)->node == node.own->node)
      TellOwn(std::nullopt);
    TellGone(key);
    return;
  }
  if (node.own) {
    own_seen_ = true;
    TellOwn(node.own);
  }
  switch (node.kind) {
    case DecodedNode::Kind::kLease:
      going_.erase(key);
      listener_->OnUpsert(node.lease);
      break;
    case DecodedNode::Kind::kRefused:
      going_.erase(key);
      listener_->OnRefused(
          {key.name.empty() ? absl::StrCat("#", position_) : key.name, node.refusal});
      break;
    case DecodedNode::Kind::kNotManaged:
      if (!in_snapshot_ || change == NodeChange::kModified) TellGone(key);
      break;
  }
}

void NodeTeller::EndSnapshot() {
  for (const lease::NodeKey& node : going_) listener_->OnDelete(node);
  going_.clear();
  if (has_own_name_ && !own_seen_) TellOwn(std::nullopt);
  in_snapshot_ = false;
  listener_->OnSnapshotEnd();
}

void NodeTeller::TellGone(const lease::NodeKey& node) {
  if (node.name.empty()) return;
  if (in_snapshot_) {
    going_.insert(node);
  } else {
    listener_->OnDelete(node);
  }
}

void NodeTeller::TellOwn(const std::optional<lease::OwnNode>& node) {
  if (own_ && *own_ == node) return;
  own_ = node;
  listener_->OnOwnNode(node);
}

}  // namespace weft::kube
