// SPDX-License-Identifier: Apache-2.0
// One answer of 200 as it is read: Nodes go on to the teller at once, the rest is kept for
// list_watch to ask for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/list_watch_request.h"
#include "control/kube/list_watch_teller.h"

namespace weft::kube {

// One thread.
class NodesAnswer final : AnswerListener {
 public:
  // `begins`: it is the first answer of a snapshot, which then begins with the first thing told.
  // All outlive it.
  NodesAnswer(Question question, bool begins, Encoding encoding, const AnnotationKeys& keys,
              std::string_view own_node_name, NodeTeller& teller);

  // As AnswerReader's.
  absl::Status Read(std::string_view octets);
  absl::Status Finish();

  Encoding encoding() const { return encoding_; }
  // Anything at all could be read.
  bool told_anything() const { return told_anything_; }
  // Of a streamed list: the end mark has not come yet. The teller's snapshot ends with it.
  bool initial() const { return initial_; }
  // There were ADDED in the last piece.
  bool added() const { return added_; }
  // Of a watch, or of a streamed list from its mark on: there were events or bookmarks.
  bool watched_anything() const { return watched_anything_; }
  // The same: to watch on from; empty before the first.
  const std::string& version() const { return version_; }
  // An ERROR event has ended the stream.
  const std::optional<ApiStatus>& error_event() const { return error_event_; }

  // Of a list: it has been read to its end.
  struct ListEnd {
    std::string version, continue_token;
  };
  const std::optional<ListEnd>& list_end() const { return list_end_; }

 private:
  void OnNode(NodeChange change, const DecodedNode& node,
              std::string_view resource_version) override;
  void OnBookmark(std::string_view resource_version, bool initial_events_end) override;
  void OnErrorEvent(const ApiStatus& status) override;
  void OnListEnd(std::string_view resource_version, std::string_view continue_token) override;
  void BeginOnce();
  // Of an event or bookmark in a watch.
  void Watched(std::string_view resource_version);

  NodeTeller& teller_;
  const Encoding encoding_;
  const AnswerKind kind_;
  bool begins_;
  bool initial_;
  bool told_anything_ = false;
  bool added_ = false;
  bool watched_anything_ = false;
  std::string version_;
  std::optional<ApiStatus> error_event_;
  std::optional<ListEnd> list_end_;
  std::unique_ptr<AnswerReader> reader_;
};

}  // namespace weft::kube
