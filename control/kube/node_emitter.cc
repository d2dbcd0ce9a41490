// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_emitter.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::kube {

NodeEmitter::NodeEmitter(AnnotationKeys keys, std::string own_node_name,
                         lease::SourceListener& listener)
    : keys_(std::move(keys)), own_node_name_(std::move(own_node_name)), listener_(listener) {}

void NodeEmitter::Open(RequestKind request, bool begins, Encoding encoding) {
  const AnswerKind kind = KindOf(request);
  answer_.emplace(Answer{encoding, kind, begins, request == RequestKind::kStream});
  answer_->reader = MakeAnswerReader(encoding, kind, keys_, own_node_name_, *this);
}

absl::Status NodeEmitter::Read(std::string_view bytes) {
  answer_->added = answer_->bookmark = false;
  return answer_->reader->Read(bytes);
}

void NodeEmitter::OnNode(NodeChange change, const DecodedNode& node,
                         std::string_view resource_version) {
  if (answer_->error_event) return;
  BeginOnce();
  answer_->emitted_anything = true;
  if (change == NodeChange::kAdded) answer_->added = true;
  Emit(change, node);
  if (answer_->kind == AnswerKind::kWatch && !answer_->initial) Watched(resource_version);
}

void NodeEmitter::OnBookmark(std::string_view resource_version, bool initial_events_end) {
  if (answer_->error_event) return;
  answer_->emitted_anything = true;
  if (!answer_->initial) {
    answer_->bookmark = true;
    return Watched(resource_version);
  }
  // Before the end mark versions are in no order, and an ordinary bookmark proves nothing.
  if (!initial_events_end) return;
  answer_->initial = false;
  answer_->version = resource_version;
  BeginOnce();
  EndSnapshot();
}

void NodeEmitter::OnErrorEvent(const ApiStatus& status) {
  if (!answer_->error_event) answer_->error_event = status;
}

void NodeEmitter::OnListEnd(std::string_view resource_version, std::string_view continue_token) {
  BeginOnce();
  answer_->list_end = {std::string(resource_version), std::string(continue_token)};
}

void NodeEmitter::BeginOnce() {
  if (answer_->begins) BeginSnapshot();
  answer_->begins = false;
}

void NodeEmitter::Watched(std::string_view resource_version) {
  answer_->watched_anything = true;
  if (!resource_version.empty()) answer_->version = resource_version;
}

void NodeEmitter::BeginSnapshot() {
  in_snapshot_ = true;
  position_ = 0;
  own_seen_ = false;
  listener_.OnSnapshotBegin();
}

void NodeEmitter::Emit(NodeChange change, const DecodedNode& node) {
  ++position_;
  const lease::NodeKey& key = node.lease.node;
  if (change == NodeChange::kDeleted) {
    // Another Node may have our name by now.
    if (node.own && own_ && *own_ && (*own_)->node == node.own->node) {
      own_seen_ = false;
      EmitOwn(std::nullopt);
    }
    if (!key.name.empty()) listener_.OnDelete(key);
    return;
  }
  if (node.own) {
    own_seen_ = true;
    EmitOwn(node.own);
  }
  switch (node.kind) {
    case DecodedNode::Kind::kLease:
      listener_.OnUpsert(node.lease);
      if (node.lease.unread)
        listener_.OnRefused({key.name, node.refusal, key.uid, node.lease.unread});
      break;
    case DecodedNode::Kind::kRefused:
      listener_.OnRefused(
          {key.name.empty() ? absl::StrCat("#", position_) : key.name, node.refusal, key.uid});
      break;
    case DecodedNode::Kind::kNotManaged:
      // It may have had a lease, unless this is its first report in the snapshot.
      if (!in_snapshot_ || change == NodeChange::kModified) listener_.OnDelete(key);
      listener_.OnNotJoined({key, node.refusal});
      break;
  }
}

void NodeEmitter::EndSnapshot() {
  if (!own_node_name_.empty() && !own_seen_) EmitOwn(std::nullopt);
  in_snapshot_ = false;
  listener_.OnSnapshotEnd();
}

void NodeEmitter::EmitOwn(const std::optional<lease::OwnNode>& node) {
  if (own_ && *own_ == node) return;
  own_ = node;
  listener_.OnOwnNode(node);
}

}  // namespace weft::kube
