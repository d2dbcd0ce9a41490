// SPDX-License-Identifier: Apache-2.0
// The ledger of --state-dir while flanneld runs: whatever is made on this node is entered here, for
// `flannelctl reset`.
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

// Any thread, one at a time: a keeper's that was left behind may come back next to its successor.
// Holds the folder's lock from its first use on, or as soon as it is to be had; what is entered
// before, and what cannot be written, is kept and written as soon as that works. What goes wrong is
// reported as trouble: a node without a ledger is better than one without a network.
class NodeLedger final : public hns::ObjectLedger, public control::RouteLedger {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Empty: control::DefaultStateFolder(). `boot`: control::BootId().
  explicit NodeLedger(std::string state_dir, std::string boot = control::BootId());
  // Leaves all in ledger.json.
  ~NodeLedger() override;
  NodeLedger(const NodeLedger&) = delete;
  NodeLedger& operator=(const NodeLedger&) = delete;

  // A process that programs HNS holds the lock from the beginning on.
  void Open();
  // What writing it returned; empty: nothing was to be written.
  using Written = std::optional<absl::Status>;
  // Calls `use` on the ledger; where it is not open, on what is entered meanwhile.
  void Use(const std::function<Written(Ledger&)>& use);
  // Tries again what failed, at growing intervals of up to a minute. To be called each second.
  void Retry(TimePoint now);

  const std::string& folder() const { return folder_; }
  // Why the ledger may lack something, while it lasts; empty: it lacks nothing.
  std::string condition() const;

  // Of HNS.
  void Intend(const hns::LedgerObject& object) override;
  void Forget(const hns::LedgerObject& object) override;
  void Confirm(const hns::LedgerObject& object, const hns::Guid& id) override;
  void Forget(hns::Kind kind, const std::string& name) override;
  std::vector<hns::KnownObject> Objects(hns::Kind kind) override;

  // Of the routes to peers: one write for a batch.
  control::RouteKeys Owned(IpFamily family) override;
  void Intend(const control::RouteKeys& routes) override;
  void IntendTakeover(const std::vector<control::FormerRoute>& routes) override;
  void Forget(const control::RouteKeys& routes) override;

  // The static routes of the node's links: one that a vSwitch swallowed while no flanneld ran is
  // put back by the next. What an earlier process remembered, as far as a file may say what is put
  // on the host: no default route or nearly one, no destination or gateway that is no unicast
  // address. Of an earlier boot nothing, because Windows itself brings back the persistent ones,
  // and the others are gone as they should; but with a vSwitch that outlives the boot
  // (`keeps_switch`) all, because those that are bound to the NIC do not come back on the switch's
  // adapter.
  host::CarriedRoutes::Memory RecallStaticRoutes(bool keeps_switch);
  void RememberStaticRoutes(const host::CarriedRoutes::Memory& routes);

 private:
  bool IsOpen();
  absl::Status SetAside(const absl::StatusOr<std::string>& aside);

  const std::string folder_, boot_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<control::ProcessLock> lock_;
  Ledger ledger_;
  // By key: what the ledger said of an object before it was intended.
  std::map<std::string, std::optional<HnsObject>> before_;
  // A ledger that was not understood or not trusted; what another user put in our place. Stay.
  std::string lost_, foreign_;
  std::string condition_;
  bool used_ = false;
  std::optional<TimePoint> again_;
  std::chrono::seconds delay_{1};
};

}  // namespace weft::ledger
