// SPDX-License-Identifier: Apache-2.0
// Reads the answers of list_watch: passes their Nodes to a lease::SourceListener at once, and keeps
// what else they contain until the next answer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/list_watch_request.h"
#include "control/lease/own_node.h"
#include "control/lease/source.h"

namespace weft::kube {

// One thread. A snapshot may have several answers; its end removes the leases of Nodes that flannel
// no longer manages.
class NodeEmitter final : AnswerListener {
 public:
  // `own_node_name` empty: no Node is ours. `listener` outlives the emitter.
  NodeEmitter(AnnotationKeys keys, std::string own_node_name, lease::SourceListener& listener);
  NodeEmitter(const NodeEmitter&) = delete;  // the reader of its answer refers to it
  NodeEmitter& operator=(const NodeEmitter&) = delete;

  // ---- the answer, with status 200

  // `begins`: the first answer of a snapshot, which then begins with the first item read.
  void Open(RequestKind request, bool begins, Encoding encoding);
  void Close() { answer_.reset(); }
  bool open() const { return answer_.has_value(); }
  // As AnswerReader's.
  absl::Status Read(std::string_view bytes);
  absl::Status Finish() { return answer_->reader->Finish(); }

  // The end of a list.
  struct ListEnd {
    std::string version, continue_token;
  };
  struct Answer {
    Encoding encoding;
    AnswerKind kind;
    bool begins;
    bool initial;                   // a streamed list whose end mark has not come yet
    bool emitted_anything = false;  // at least one item could be read
    bool added = false;             // the last piece had ADDED events
    bool bookmark = false;          // the last piece had one, after the end mark
    // In a watch, or in a streamed list after its end mark: there were events or bookmarks.
    bool watched_anything = false;
    std::string version = {};                   // to continue the watch from; empty: none yet
    std::optional<ApiStatus> error_event = {};  // it ended the stream
    std::optional<ListEnd> list_end = {};
    std::unique_ptr<AnswerReader> reader = {};
  };
  // While open().
  const Answer& answer() const { return *answer_; }

  // ---- the snapshot

  void BeginSnapshot();
  void Emit(NodeChange change, const DecodedNode& node);
  void EndSnapshot();
  // A snapshot has begun and emitted Nodes, but has not ended.
  bool in_mid_snapshot() const { return in_snapshot_ && position_ > 0; }

 private:
  void OnNode(NodeChange change, const DecodedNode& node,
              std::string_view resource_version) override;
  void OnBookmark(std::string_view resource_version, bool initial_events_end) override;
  void OnErrorEvent(const ApiStatus& status) override;
  void OnListEnd(std::string_view resource_version, std::string_view continue_token) override;
  void BeginOnce();
  // Records the version of an event or bookmark in a watch.
  void Watched(std::string_view resource_version);
  void EmitOwn(const std::optional<lease::OwnNode>& node);

  const AnnotationKeys keys_;
  const std::string own_node_name_;
  lease::SourceListener& listener_;
  std::optional<Answer> answer_;
  bool in_snapshot_ = false;
  std::size_t position_ = 0;  // Nodes since the snapshot's begin: a name for those without one
  bool own_seen_ = false;     // in this snapshot
  // Our own Node as last emitted; empty: not emitted yet.
  std::optional<std::optional<lease::OwnNode>> own_;
};

}  // namespace weft::kube
