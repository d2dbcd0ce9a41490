// SPDX-License-Identifier: Apache-2.0
// The ledger of --state-dir while flanneld runs: records what is made on this node, for `flannelctl
// reset`.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/file_io.h"
#include "control/host/carried_routes.h"
#include "control/ledger/ledger.h"
#include "control/process_lock.h"
#include "control/sinks/route_ledger.h"
#include "hns/object_ledger.h"

namespace weft::ledger {

// Any thread; calls are serialised, because a keeper thread that was left behind may return next to
// its successor. Holds the folder's lock from its first use on, or as soon as the lock is free;
// entries made before that, and entries that cannot be written, are kept and written later. Errors
// are reported as a condition: a node without a ledger is better than one without a network.
class NodeLedger final : public hns::ObjectLedger, public control::RouteLedger {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Empty: control::DefaultStateFolder(). `boot`: control::BootId().
  explicit NodeLedger(std::string state_dir, std::string boot = control::BootId());
  // Merges all entries into ledger.json.
  ~NodeLedger() override;
  NodeLedger(const NodeLedger&) = delete;
  NodeLedger& operator=(const NodeLedger&) = delete;

  // Takes the lock now, so that `flannelctl reset` knows that this process runs.
  void Open();
  // The result of a write; empty: there was nothing to write.
  using Written = std::optional<absl::Status>;
  // Calls `use` with the ledger; if it is not open, with the entries made so far.
  void Use(const std::function<Written(Ledger&)>& use);
  // Retries what failed, at growing intervals of up to a minute. Call it every second.
  void Retry(TimePoint now);

  const std::string& folder() const { return folder_; }
  // Why the ledger may be incomplete; empty: it is complete.
  std::string condition() const;

  // HNS objects.
  void Intend(const hns::LedgerObject& object) override;
  void Forget(const hns::LedgerObject& object) override;
  void Confirm(const hns::LedgerObject& object, const hns::Guid& id) override;
  void Forget(hns::Kind kind, const std::string& name) override;
  std::vector<hns::KnownObject> Objects(hns::Kind kind) override;

  // Routes to peers: one write for a batch.
  control::RouteKeys Owned(const IpPrefix& network) override;
  void Intend(const control::RouteKeys& routes) override;
  void IntendTakeover(const std::vector<control::FormerRoute>& routes) override;
  void Forget(const control::RouteKeys& routes) override;

  // The static routes of the node's links, so that a route that was lost to a vSwitch while no
  // flanneld ran is put back by the next one. Returns what an earlier process saved, except routes
  // that a file must not put on the host: a default route or nearly one, a destination or gateway
  // that is not unicast. Routes of an earlier boot are dropped, because Windows itself restores the
  // persistent ones, and the others are meant to be lost. But with a vSwitch that outlives the boot
  // (`keeps_switch`) all are returned, because persistent routes of the NIC are not restored on the
  // switch's adapter.
  host::CarriedRoutes::Memory RecallStaticRoutes(bool keeps_switch);
  void RememberStaticRoutes(const host::CarriedRoutes::Memory& routes);
  // The same for static IP settings. Of an earlier boot the adapter's index is zero.
  std::vector<StaticIp> RecallStaticIps(bool keeps_switch);
  void RememberStaticIps(const std::vector<StaticIp>& all);

 private:
  bool IsOpen(bool again);
  absl::Status SetAside(const absl::StatusOr<std::string>& aside);

  const std::string folder_, boot_;
  mutable std::mutex mutex_;  // guards all members below
  std::optional<control::ProcessLock> lock_;
  bool is_later_ = false;  // the ledger's version
  Ledger ledger_;
  // By key: the entry of an object before it was intended.
  std::map<std::string, std::optional<HnsObject>> before_;
  // A ledger that was not parsed or not trusted; foreign files that were set aside. Never cleared.
  std::string lost_, foreign_;
  std::string condition_;
  bool used_ = false;
  std::optional<TimePoint> retry_at_;
  std::chrono::seconds delay_{1};
};

}  // namespace weft::ledger
