// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_answer.h"

namespace weft::kube {

NodesAnswer::NodesAnswer(Question question, bool begins, Encoding encoding,
                         const AnnotationKeys& keys, std::string_view own_node_name,
                         NodeTeller& teller)
    : teller_(teller),
      encoding_(encoding),
      kind_(KindOf(question)),
      begins_(begins),
      initial_(question == Question::kStream),
      reader_(MakeAnswerReader(encoding, kind_, keys, own_node_name, *this)) {}

absl::Status NodesAnswer::Read(std::string_view octets) {
  added_ = false;
  return reader_->Read(octets);
}

absl::Status NodesAnswer::Finish() { return reader_->Finish(); }

void NodesAnswer::OnNode(NodeChange change, const DecodedNode& node,
                         std::string_view resource_version) {
  if (error_event_) return;
  BeginOnce();
  told_anything_ = true;
  if (change == NodeChange::kAdded) added_ = true;
  teller_.Tell(change, node);
  if (kind_ == AnswerKind::kWatch && !initial_) Watched(resource_version);
}

void NodesAnswer::OnBookmark(std::string_view resource_version, bool initial_events_end) {
  if (error_event_) return;
  told_anything_ = true;
  if (!initial_) return Watched(resource_version);
  // Before the mark versions are in no order, and an ordinary bookmark proves nothing.
  if (!initial_events_end) return;
  initial_ = false;
  version_ = resource_version;
  BeginOnce();
  teller_.EndSnapshot();
}

void NodesAnswer::OnErrorEvent(const ApiStatus& status) {
  if (!error_event_) error_event_ = status;
}

void NodesAnswer::OnListEnd(std::string_view resource_version, std::string_view continue_token) {
  BeginOnce();
  list_end_ = {std::string(resource_version), std::string(continue_token)};
}

void NodesAnswer::BeginOnce() {
  if (begins_) teller_.BeginSnapshot();
  begins_ = false;
}

void NodesAnswer::Watched(std::string_view resource_version) {
  watched_anything_ = true;
  if (!resource_version.empty()) version_ = resource_version;
}

}  // namespace weft::kube
