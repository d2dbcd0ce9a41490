// SPDX-License-Identifier: Apache-2.0
// The ledger of the HNS objects that the keepers create, so that `flannelctl reset` can delete them
// (control/ledger/node_ledger.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hns/api/api.h"
#include "hns/document/guid.h"
#include "hns/document/network.h"

namespace weft::hns {

// An object that a keeper creates or uses.
struct LedgerObject {
  Kind kind = Kind::kNetwork;
  std::string name;
  // Distinguishes an object whose id is not known from a foreign one of the same name: "Overlay
  // 10.244.1.0/24 VSID 4096"; an endpoint's address.
  std::string shape;
};

// An object that the ledger lists.
struct KnownObject {
  std::string name;
  std::optional<Guid> id;  // empty: intended; the result of its create is not known
  bool made = false;       // created by weft
  std::string shape{};
  bool this_boot = false;  // created since the system started
};

// Shape of one of weft's own networks: type, first subnet with its VSID, and the UDP port unless it
// is 4789.
std::string ShapeOf(const Network& network);
// Fills in the VSID and UDP port that HNS does not show, for a network created in `shape`.
void FillFromShape(std::string_view shape, Network& network);

// Keepers enter an object here before they create it. Called on a keeper's thread; a call returns
// once the ledger is on disk. The ledger reports its own errors: a node without a ledger is better
// than one without a network. The base class stores nothing.
class ObjectLedger {
 public:
  virtual ~ObjectLedger() = default;
  // Before the create, so that a process that restarts during it recognizes its own object.
  virtual void Intend(const LedgerObject& /*object*/) {}
  // HNS refused the create: restores the entry that this name had before Intend.
  virtual void Forget(const LedgerObject& /*object*/) {}
  // The object exists and is in sync, whether created just now, known before or found.
  virtual void Confirm(const LedgerObject& /*object*/, const Guid& /*id*/) {}
  // No object of this name exists any more.
  virtual void Forget(Kind /*kind*/, const std::string& /*name*/) {}
  // All objects of this kind that are intended or confirmed, also by earlier processes.
  virtual std::vector<KnownObject> Objects(Kind /*kind*/) { return {}; }

  // Whether weft created an object of that name and shape since the system started.
  bool MadeThisBoot(const LedgerObject& object);
};

// Appended to the reason for replacing a network that MadeThisBoot: why it is kept, and the next
// step for an operator.
inline constexpr std::string_view kNotReplacedAgain =
    "; it was made for this net-conf since this node started and is not replaced again: drain this "
    "node and reboot it";

// `ledger`, or if null one that stores nothing.
inline std::shared_ptr<ObjectLedger> OrNone(std::shared_ptr<ObjectLedger> ledger) {
  return ledger ? std::move(ledger) : std::make_shared<ObjectLedger>();
}

}  // namespace weft::hns
