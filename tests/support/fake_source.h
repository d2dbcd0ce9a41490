// SPDX-License-Identifier: Apache-2.0
// A source that reports what the test puts into it: a little cluster, not a script of calls.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/lease/source.h"

namespace weft::testing {

// Before Sync (or Begin) nothing is reported; Sync reports the whole truth, every later change is
// an event.
class FakeSource final : public lease::Source {
 public:
  void Start(lease::SourceListener& listener) override { listener_ = &listener; }
  std::string Describe() const override { return "fake"; }

  void Sync() {
    Begin();
    for (const auto& [key, lease] : leases_) listener_->OnUpsert(lease);
    for (const lease::RefusedNode& node : refused_) listener_->OnRefused(node);
    End();
  }
  // A snapshot by hand: every Put, Refuse and Delete from here to End is reported within it.
  void Begin() {
    synced_ = true;
    listener_->OnSnapshotBegin();
  }
  void End() { listener_->OnSnapshotEnd(); }
  void Put(const lease::Lease& lease) {
    leases_.insert_or_assign(lease.node, lease);
    if (synced_) listener_->OnUpsert(lease);
  }
  void Delete(const lease::NodeKey& node) {
    leases_.erase(node);
    if (synced_) listener_->OnDelete(node);
  }
  // The node's lease is not taken back: it is what the source last could read.
  void Refuse(const lease::RefusedNode& node) {
    refused_.push_back(node);
    if (synced_) listener_->OnRefused(node);
  }
  // Events are lost until Recover, which relists.
  void Break(const absl::Status& why) {
    synced_ = false;
    listener_->OnCondition(why);
  }
  void Recover() {
    Sync();
    listener_->OnCondition(absl::OkStatus());
  }
  void SetOwnNode(const std::optional<lease::OwnNode>& node) { listener_->OnOwnNode(node); }

 private:
  lease::SourceListener* listener_ = nullptr;
  bool synced_ = false;
  std::map<lease::NodeKey, lease::Lease> leases_;
  std::vector<lease::RefusedNode> refused_;
};

}  // namespace weft::testing
