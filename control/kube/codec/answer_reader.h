// SPDX-License-Identifier: Apache-2.0
// The body of a list or watch of Nodes, read as its octets arrive: single Nodes are cut out of the
// stream and decoded one by one; nothing else of it is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/codec/api_status.h"
#include "control/kube/codec/decoded_node.h"

namespace weft::kube {

enum class Encoding : std::uint8_t { kProtobuf, kJson };
enum class AnswerKind : std::uint8_t { kList, kWatch };

enum class NodeChange : std::uint8_t { kListed, kAdded, kModified, kDeleted };

// What an answer says, in its order. Arguments live until the call returns, and so does the reader.
// A bookmark or a list without a version is an error of the reader's: nothing could go on from it.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  // `resource_version` of this Node; may be empty for a Node that is refused.
  virtual void OnNode(NodeChange change, const DecodedNode& node,
                      std::string_view resource_version) = 0;
  // `initial_events_end`: the mark that ends the first part of a streaming list.
  virtual void OnBookmark(std::string_view resource_version, bool initial_events_end) = 0;
  // An ERROR event. The stream is of no more use.
  virtual void OnErrorEvent(const ApiStatus& status) = 0;
  // The list's own metadata, once all of it has been read.
  virtual void OnListEnd(std::string_view resource_version, std::string_view continue_token) = 0;
};

// One answer; one thread. A Node is at most kMaxObject octets.
class AnswerReader {
 public:
  static constexpr std::size_t kMaxObject = std::size_t{16} << 20;  // etcd takes 1.5 MiB

  virtual ~AnswerReader() = default;
  // Cut anywhere. Tells `listener` what became complete. An error, which says where the stream is
  // broken, ends it: what was told before stays true.
  virtual absl::Status Read(std::string_view octets) = 0;
  // The body has ended: an error when that was amid an object, or before a list's end.
  virtual absl::Status Finish() = 0;
};

// `keys` and `listener` outlive the reader. `own_node_name` empty: no Node is ours.
std::unique_ptr<AnswerReader> MakeAnswerReader(Encoding encoding, AnswerKind kind,
                                               const AnnotationKeys& keys,
                                               std::string_view own_node_name,
                                               AnswerListener& listener);

}  // namespace weft::kube
