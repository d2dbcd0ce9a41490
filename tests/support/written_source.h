// SPDX-License-Identifier: Apache-2.0
// A listener that records the reports of a source, a line for each call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "control/lease/source.h"

namespace weft::testing {

class WrittenSource final : public lease::SourceListener {
 public:
  void OnSnapshotBegin() override { lines.push_back("begin"); }
  void OnSnapshotEnd() override { lines.push_back("end"); }
  void OnUpsert(const lease::Lease& lease) override {
    std::string line = "upsert " + Text(lease.node);
    for (const auto* half : {&lease.v4, &lease.v6}) {
      if (*half) line += " " + (*half)->subnet.ToString();
    }
    lines.push_back(std::move(line));
  }
  void OnDelete(const lease::NodeKey& node) override { lines.push_back("delete " + Text(node)); }
  void OnRefused(const lease::RefusedNode& node) override {
    lines.push_back("refused " + node.name);
  }
  void OnCondition(const absl::Status& status) override {
    condition = status;
    lines.push_back(status.ok() ? "well again" : "condition");
  }
  void OnOwnNode(const std::optional<lease::OwnNode>& node) override {
    lines.push_back(node ? "own " + Text(node->node) : "own none");
  }

  // The lines since the last call.
  std::vector<std::string> Take() { return std::exchange(lines, {}); }

  std::vector<std::string> lines;
  absl::Status condition;  // the last

 private:
  static std::string Text(const lease::NodeKey& node) { return node.name + "/" + node.uid; }
};

}  // namespace weft::testing
