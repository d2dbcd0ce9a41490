// SPDX-License-Identifier: Apache-2.0
// Answers of an API server to lists and watches of Nodes, in either encoding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/kube/codec/answer_reader.h"
#include "tests/support/node_facts.h"
#include "tests/support/node_json.h"
#include "tests/support/node_protobuf.h"

namespace weft::testing {

class Answers {
 public:
  explicit Answers(kube::Encoding encoding) : protobuf_(encoding == kube::Encoding::kProtobuf) {}

  // Whole bodies.
  std::string List(const std::vector<NodeFacts>& nodes, std::string_view version,
                   std::string_view token = "") const {
    return protobuf_ ? NodeListProtobuf(nodes, version, token)
                     : NodeListJson(nodes, version, token);
  }
  std::string Status(const StatusFacts& status) const {
    return protobuf_ ? StatusProtobuf(status) : StatusJson(status);
  }
  std::string_view content_type() const {
    return protobuf_ ? "application/vnd.kubernetes.protobuf" : "application/json";
  }
  std::string_view watch_content_type() const {
    return protobuf_ ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json";
  }

  // Consecutive events of a watch.
  std::string Event(std::string_view type, const NodeFacts& node) const {
    return protobuf_ ? NodeEventProtobuf(type, node) : NodeEventJson(type, node);
  }
  std::string Bookmark(std::string_view version, bool initial_events_end = false) const {
    return protobuf_ ? BookmarkProtobuf(version, initial_events_end)
                     : BookmarkJson(version, initial_events_end);
  }
  std::string ErrorEvent(const StatusFacts& status) const {
    return protobuf_ ? ErrorEventProtobuf(status) : ErrorEventJson(status);
  }

 private:
  bool protobuf_;
};

}  // namespace weft::testing
